import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from coevo.block import Block
from coevo.engines.checkpoint import read_headers, write_checkpoint
from coevo.engines.precision import PROBE_RUN_KEY, SAMPLE, sample_blocks, survival
from coevo.noise import normals


@pytest.fixture
def stored(tmp_path):
    """Writes arrays as a checkpoint and gives its headers, in the order given."""

    def store(**arrays):
        shapes = {name: array.shape for name, array in arrays.items()}
        write_checkpoint(tmp_path / "model.safetensors", arrays, shapes)
        headers = read_headers(tmp_path)
        return [headers[name] for name in arrays]

    return store


def to_bfloat16(values):
    """Round fp32 to bfloat16, ties to even, stated with integers; the result as fp32."""
    bits = values.view(np.uint32).astype(np.uint64)
    kept, below = bits >> 16, bits & 0xFFFF
    kept += (below > 0x8000) | ((below == 0x8000) & (kept & 1 == 1))
    return (kept << 16).astype(np.uint32).view(np.float32)


def test_survival_is_what_rounding_does_to_the_noise(stored):
    """P17: the shares are those of round(w + σε) against round(w), with the noise of the probe, in plain NumPy."""
    values = np.random.default_rng(3).normal(0, 0.2, (40, 50)).astype(np.float32)
    noise = normals(Block.whole("w", (40, 50)), PROBE_RUN_KEY, 0, 0)
    moved = values + np.float32(1e-3) * noise
    found = survival(stored(w=values), 1e-3)
    for name, rounded in {
        "float32": lambda array: array,
        "bfloat16": to_bfloat16,
        "float16": lambda array: array.astype(np.float16),
    }.items():
        change = rounded(moved).astype(float) - rounded(values).astype(float)
        assert found[name].swallowed == (change == 0).mean()
        assert found[name].realised == pytest.approx(np.sqrt((change**2).mean()) / 1e-3, rel=1e-12)
    assert 0.1 < found["bfloat16"].swallowed < 0.5


def test_norm_weights_lose_nearly_all_of_it_in_bfloat16(stored):
    """P17: around 1 bfloat16 has steps of 1/128 above and 1/256 below; σ = 1e-3 seldom reaches half of one."""
    found = survival(stored(norm=np.ones(4096, np.float32)), 1e-3)["bfloat16"]
    assert 0.95 < found.swallowed < 1.0
    assert found.realised > 0.4  # what does move, moves by a whole step


def test_tensors_weigh_as_many_as_they_have_elements(stored):
    """A share over two tensors is the mean over their elements."""
    large, small = np.zeros((30, 100), np.float32), np.full(1000, 8.0, np.float32)
    tensors = stored(large=large, small=small)
    whole, lost = survival(tensors, 1e-3)["bfloat16"], survival(tensors[1:], 1e-3)["bfloat16"]
    assert survival(tensors[:1], 1e-3)["bfloat16"].swallowed == 0
    assert lost.swallowed == 1.0
    assert whole.swallowed == 0.25


def test_a_weight_beyond_the_type_is_lost_and_breaks_nothing(stored):
    """fp16 ends at 65,504: a larger weight is infinite with noise and without."""
    found = survival(stored(w=np.full(8, 1e6, np.float32)), 1.0)["float16"]
    assert (found.swallowed, found.realised) == (1.0, 0.0)


def test_no_elements_have_no_survival(stored):
    """Nothing is said of nothing."""
    assert survival([], 1e-3) == {}
    assert survival(stored(empty=np.zeros((0, 4), np.float32)), 1e-3) == {}


@given(st.lists(st.integers(1, 200_000), min_size=1, max_size=2))
def test_a_sample_is_small_spread_and_without_repetition(shape):
    """Blocks lie in the tensor, never overlap in rows, hold the sample size at most and reach over all of the rows."""
    blocks = list(sample_blocks("w", tuple(shape)))
    total, size = int(np.prod(shape)), sum(block.size for block in blocks)
    assert size == total if total <= SAMPLE else SAMPLE // 4 < size <= SAMPLE
    ends = [block.row + block.rows for block in blocks]
    assert all(block.row >= end for block, end in zip(blocks[1:], ends, strict=False))
    if len(blocks) > 1:
        assert ends[-1] > blocks[0].shape[0] * 0.9

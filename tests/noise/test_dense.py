import itertools
import math
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from coevo import noise
from coevo.noise import oracle

WORDS = st.integers(0, 2**64 - 1)
SHORT = st.integers(0, 40)
LONG = st.sampled_from([4088, 4095, 4096, 4097, 8193, 12301])
COUNTS = st.one_of(SHORT, LONG)
STARTS = st.one_of(st.integers(0, 70), st.integers(2**35 - 40, 2**35 + 40), st.integers(0, 2**64 - 2**14))
SCALES = st.one_of(st.floats(-1.0, 1.0, width=32), st.sampled_from([0.0, 1e-3, -1e-3, 3.0e4]))


def weights(count, seed=7):
    """Weights of mixed magnitude, so that additions round in many places."""
    rng = np.random.default_rng(seed)
    return (rng.standard_normal(count) * 10.0 ** rng.integers(-6, 3, count)).astype(np.float32)


def perturbed(base, **place):
    """A perturbed copy through the compiled kernel."""
    out = np.full_like(base, np.nan)
    noise.perturb(base, out, **place)
    return out


@given(key=WORDS, tensor=WORDS, start=STARTS, count=COUNTS)
def test_normals_equal_the_oracle(key, tensor, start, count):
    """The kernel and the definition agree bit for bit, for any key, tensor, start and length."""
    found = noise.normals(key, tensor, start, count)
    assert found.dtype == np.float32
    assert found.tobytes() == oracle.normals(key, tensor, start, count).tobytes()


@given(key=WORDS, tensor=WORDS, start=STARTS, count=COUNTS, scale=SCALES)
def test_perturb_equals_the_oracle(key, tensor, start, count, scale):
    """A product rounded once and a sum rounded once: no fused multiply-add anywhere."""
    base = weights(count)
    place = {"key": key, "tensor": tensor, "scale": scale, "start": start}
    assert perturbed(base, **place).tobytes() == oracle.perturbed(base, **place).tobytes()


@given(
    terms=st.lists(st.tuples(WORDS, st.floats(-10.0, 10.0, width=32)), max_size=5),
    tensor=WORDS,
    start=STARTS,
    count=COUNTS,
)
def test_update_equals_the_sequential_sum(terms, tensor, start, count):
    """The update is the fp32 sum in the given order and one addition to the weights."""
    place = {"keys": [key for key, _ in terms], "coefficients": [c for _, c in terms], "tensor": tensor, "start": start}
    moved = weights(count)
    expected = oracle.updated(moved, **place)
    noise.apply_update(moved, **place)
    assert moved.tobytes() == expected.tobytes()


def test_a_fused_multiply_add_would_be_noticed():
    """The values of these tests do tell two roundings from one: an fma gives other bits."""
    base = weights(4096)
    epsilon = noise.normals(1, 2, 0, 4096).astype(np.float64)
    fused = (base + np.float64(np.float32(0.3)) * epsilon).astype(np.float32)
    assert fused.tobytes() != perturbed(base, key=1, tensor=2, scale=0.3).tobytes()


@given(cuts=st.lists(st.integers(0, 9000), max_size=6), start=st.integers(0, 50))
def test_chunks_never_change_a_bit(cuts, start):
    """Any cut of a range gives the bytes of the whole range."""
    count, key, tensor = 9000, 11, 22
    base = weights(count)
    whole = perturbed(base, key=key, tensor=tensor, scale=1e-2, start=start)
    moved, parts = base.copy(), np.empty_like(base)
    noise.apply_update(moved, keys=[3, 4], coefficients=[0.5, -0.25], tensor=tensor, start=start)
    pieces = base.copy()
    edges = sorted({0, count, *cuts})
    for left, right in itertools.pairwise(edges):
        here = start + left
        noise.perturb(base[left:right], parts[left:right], key=key, tensor=tensor, scale=1e-2, start=here)
        noise.apply_update(pieces[left:right], keys=[3, 4], coefficients=[0.5, -0.25], tensor=tensor, start=here)
    assert parts.tobytes() == whole.tobytes()
    assert pieces.tobytes() == moved.tobytes()


@pytest.mark.parametrize("num_threads", [1, 2, 3, 8])
def test_threads_never_change_a_bit(num_threads):
    """Ranges worked on by several threads at once give the bytes of one thread."""
    base = weights(50_001)
    whole, parts = perturbed(base, key=5, tensor=6, scale=1e-3), np.empty_like(base)
    edges = np.linspace(0, len(base), 3 * num_threads + 1).astype(int).tolist()

    def work(left, right):
        noise.perturb(base[left:right], parts[left:right], key=5, tensor=6, scale=1e-3, start=left)

    with ThreadPoolExecutor(num_threads) as pool:
        list(pool.map(work, edges[:-1], edges[1:]))
    assert parts.tobytes() == whole.tobytes()


@given(scale=st.floats(2.0**-20, 1.0, width=32), start=st.integers(0, 20))
def test_the_opposite_scale_mirrors(scale, start):
    """At base 0 the mirrored member is the exact negative; the base itself is never touched."""
    base = np.zeros(500, np.float32)
    plus = perturbed(base, key=8, tensor=9, scale=scale, start=start)
    minus = perturbed(base, key=8, tensor=9, scale=-scale, start=start)
    assert (plus == -minus).all()
    assert not base.any()


def test_scale_zero_gives_the_base():
    """A member of standard deviation 0 is the base."""
    base = weights(777)
    assert perturbed(base, key=8, tensor=9, scale=0.0).tobytes() == base.tobytes()


def test_the_order_of_the_directions_is_part_of_an_update():
    """Fp32 addition is not associative, so another order is another update; the recorded order must be replayed."""
    keys, coefficients = [1, 2, 3, 4], [1.0, 1e-3, -1.0, 0.7]
    forward, backward = np.zeros(4096, np.float32), np.zeros(4096, np.float32)
    noise.apply_update(forward, keys=keys, coefficients=coefficients, tensor=5)
    noise.apply_update(backward, keys=keys[::-1], coefficients=coefficients[::-1], tensor=5)
    assert forward.tobytes() != backward.tobytes()
    np.testing.assert_allclose(forward, backward, atol=1e-5)


def test_an_update_without_directions_changes_nothing():
    """No direction, no movement."""
    moved = weights(100)
    noise.apply_update(moved, keys=[], coefficients=[], tensor=5)
    assert moved.tobytes() == weights(100).tobytes()


def test_ranges_may_be_read_only_and_end_at_the_last_index():
    """A read-only base (a mapped file) is fine, and so is the very last element a 64-bit index can name."""
    base = weights(9)
    base.flags.writeable = False
    place = {"key": 1, "tensor": 2, "scale": 1.0, "start": 2**64 - 9}
    assert perturbed(base, **place).tobytes() == oracle.perturbed(base, **place).tobytes()


def test_normals_look_normal():
    """Mean, spread, kurtosis and the correlation of neighbours of a million numbers are within 4 standard errors."""
    values = noise.normals(noise.direction_key(1, 0, 0), noise.tensor_key("w"), 3, 1_000_000).astype(np.float64)
    bound = 4 / math.sqrt(len(values))
    assert abs(values.mean()) < bound
    assert abs(values.var() - 1.0) < bound * math.sqrt(2)
    assert abs((values**4).mean() - 2.999) < bound * math.sqrt(96)
    for lag in (1, 2, 4, 8, 4096):
        assert abs((values[lag:] * values[:-lag]).mean()) < bound


def test_no_two_tensors_steps_or_directions_share_noise():
    """Streams that differ in one coordinate are uncorrelated and share no run of bytes."""
    count = 40_000
    places = [(run, step, direction) for run in (1, 2) for step in (0, 1) for direction in (0, 1)]
    names = ["model.layers.0.mlp.up_proj.weight", "model.layers.1.mlp.up_proj.weight", "lm_head.weight"]
    streams = np.array(
        [
            noise.normals(noise.direction_key(*place), noise.tensor_key(name), 0, count)
            for place in places
            for name in names
        ]
    )
    correlations = np.corrcoef(streams)[np.triu_indices(len(streams), 1)]
    assert np.abs(correlations).max() < 4 / math.sqrt(count)
    assert (
        len({row[start : start + 8].tobytes() for row in streams for start in range(0, count, 8)}) == streams.size // 8
    )


@pytest.mark.parametrize(
    ("change", "text"),
    [
        ({"base": np.zeros(4)}, "base must be a 1-D contiguous float32 array, got float64"),
        ({"base": np.zeros((2, 2), np.float32)}, r"shape \(2, 2\)"),
        ({"base": np.zeros(8, np.float32)[::2]}, "base must be a 1-D contiguous"),
        ({"out": np.zeros(5, np.float32)}, "same length, got 4 and 5"),
        ({"scale": math.nan}, "scale must be finite"),
        ({"scale": 1e39}, "scale must be finite in fp32"),
        ({"key": -1}, "key must be a whole number"),
        ({"tensor": 2**64}, "tensor must be a whole number"),
        ({"start": 2**64 - 3}, r"at or before index 2\^64"),
    ],
)
def test_perturb_refuses(change, text):
    """Arrays, keys and scales that would corrupt memory or weights are refused with the reason."""
    call = {
        "base": np.zeros(4, np.float32),
        "out": np.zeros(4, np.float32),
        "key": 1,
        "tensor": 2,
        "scale": 0.1,
    } | change
    with pytest.raises(ValueError, match=text):
        noise.perturb(**call)


def test_perturb_refuses_memory_in_common():
    """Noise is never added in place: what cannot be subtracted exactly must not be added."""
    memory = np.zeros(10, np.float32)
    with pytest.raises(ValueError, match="must not share memory"):
        noise.perturb(memory[:6], memory[4:], key=1, tensor=2, scale=0.1)
    with pytest.raises(ValueError, match="must not share memory"):
        noise.perturb(memory, memory, key=1, tensor=2, scale=0.1)


def test_read_only_targets_are_refused():
    """A read-only target is an error of the caller, told before anything is computed."""
    frozen = np.zeros(4, np.float32)
    frozen.flags.writeable = False
    with pytest.raises(ValueError, match="out must be writeable"):
        noise.perturb(np.zeros(4, np.float32), frozen, key=1, tensor=2, scale=0.1)
    with pytest.raises(ValueError, match="weights must be writeable"):
        noise.apply_update(frozen, keys=[1], coefficients=[0.1], tensor=2)


@pytest.mark.parametrize(
    ("keys", "coefficients", "text"),
    [
        ([1, 2], [0.5], "2 keys and 1 coefficients"),
        ([1], [math.inf], "coefficients must be finite"),
        ([2**64], [0.5], "key must be a whole number"),
    ],
)
def test_update_refuses(keys, coefficients, text):
    """A half-specified update never touches the weights."""
    moved = np.ones(4, np.float32)
    with pytest.raises(ValueError, match=text):
        noise.apply_update(moved, keys=keys, coefficients=coefficients, tensor=2)
    assert (moved == 1).all()


def test_normals_refuse_a_negative_count():
    """A negative length is an error, not an empty answer."""
    with pytest.raises(ValueError, match="count must not be negative"):
        noise.normals(1, 2, 0, -1)

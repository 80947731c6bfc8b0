from dataclasses import replace

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from coevo import noise
from coevo.block import Block
from coevo.engines import cells
from coevo.engines.cells import Served, make_cells, whole_cells
from coevo.engines.checkpoint import read_headers, write_checkpoint
from coevo.engines.policy import WeightPolicy
from coevo.engines.storage import BFLOAT16, STORAGE, to_storage
from coevo.engines.weights import Weights
from coevo.errors import ModelError
from coevo.interfaces import Member, Partition, Update
from coevo.noise import normals

MOVES = st.lists(st.one_of(st.none(), st.tuples(st.integers(0, 3), st.sampled_from([1, -1]))), max_size=12)
SHAPES = {"a": (70, 10), "b.weight": (33,), "tiles": (3, 4099)}
MODES = ("copy", "host", "tiles", "mapped")
KEPT_IN = [("float32", "master"), ("bfloat16", "master"), ("bfloat16", "stochastic"), ("float16", "nearest")]
PARTITIONS = (None, Partition(2, "element"), Partition(3, "tile"))


@pytest.fixture(scope="module")
def tensors(tmp_path_factory):
    """The headers of a small fp32 checkpoint."""
    folder, rng = tmp_path_factory.mktemp("weights"), np.random.default_rng(1)
    arrays = {name: rng.normal(0, 0.1, shape).astype(np.float32) for name, shape in SHAPES.items()}
    write_checkpoint(folder / "model.safetensors", arrays, SHAPES)
    return read_headers(folder)


def serve(tensors, dtype="float32", threads=1, **policy):
    """Weights over fresh arrays, and the arrays they are served from."""
    served = {name: np.empty(info.size, STORAGE[dtype]) for name, info in tensors.items()}
    return Weights(whole_cells(served, tensors, WeightPolicy(**policy)), threads), served


def snapshot(arrays):
    """The bits of every tensor."""
    return {name: array.tobytes() for name, array in arrays.items()}


def test_a_member_is_base_plus_scaled_noise(tensors, member):
    """Served weights are base + sign · sigma · ε of the tensor's own name, one rounding each."""
    weights, served = serve(tensors)
    base = {name: array.copy() for name, array in served.items()}
    weights.activate(member(direction=4, sign=-1, sigma=0.25, step=9))
    for name, array in served.items():
        epsilon = normals(Block.whole(name, SHAPES[name]), 77, 9, 4).reshape(-1)
        assert np.array_equal(array, base[name] + np.float32(-0.25) * epsilon)


@settings(max_examples=60)
@given(
    moves=MOVES,
    mode=st.sampled_from(MODES),
    kept=st.sampled_from(KEPT_IN),
    partition=st.sampled_from(PARTITIONS),
    rank=st.sampled_from([0, 0, 2]),
)
def test_any_walk_over_members_ends_in_the_exact_base(tensors, moves, mode, kept, partition, rank):
    """P6, P7: however members follow one another, in every mode, the base comes back to the bit."""
    dtype, rule = kept
    assume(mode != "tiles" or (dtype, rule) != ("bfloat16", "master"))
    scope = "full" if rank == 0 else "^(a|tiles)$"
    weights, served = serve(tensors, dtype, update_rule=rule, restore=mode, scope=scope)
    before = snapshot(served)
    for move in moves:
        chosen = partition if rank == 0 else None
        weights.activate(None if move is None else Member(77, 0, move[0], move[1], 0.3, chosen, 0, rank))
    weights.activate(None)
    assert snapshot(served) == before


@pytest.mark.parametrize("kept", KEPT_IN, ids="-".join)
@pytest.mark.parametrize("partition", PARTITIONS, ids=str)
def test_modes_and_threads_never_change_a_bit(tensors, member, kept, partition, monkeypatch):
    """P16: copy, host, tiles and a mapped file, cut into small pieces or not, give the same members and updates."""
    dtype, rule = kept
    found = {}
    for mode, threads, piece in [("copy", 1, 1 << 20), ("host", 4, 100), ("tiles", 2, 4096), ("mapped", 3, 999)]:
        if mode == "tiles" and (dtype, rule) == ("bfloat16", "master"):
            continue
        monkeypatch.setattr(cells, "PIECE", piece)
        weights, served = serve(tensors, dtype, threads, update_rule=rule, restore=mode)
        weights.activate(replace(member(), partition=partition))
        perturbed = snapshot(served)
        weights.commit(Update(77, 3, (5, 1), (0.5, -0.125), partition, (0, 1) if partition else ()))
        found[mode] = (perturbed, snapshot(served), weights.fingerprint())
    assert len({str(value) for value in found.values()}) == 1


def test_mirrored_members_lie_on_both_sides(tensors, member):
    """The signs of one direction differ from each other and from the base."""
    weights, served = serve(tensors)
    base = served["a"].copy()
    weights.activate(member(sign=1))
    plus = served["a"].copy()
    weights.activate(member(sign=-1))
    assert np.allclose(plus - base, base - served["a"], atol=1e-7)
    assert np.abs(plus - base).min() > 0


def test_an_update_moves_the_base_and_is_served(tensors, member):
    """θ ← θ + Σ c ε, summed in fp32 in the given order, and answers come from the new base."""
    weights, served = serve(tensors)
    before = {name: array.copy() for name, array in served.items()}
    weights.activate(member())
    weights.commit(Update(77, 2, (5, 1), (0.5, -0.125)))
    for name, array in served.items():
        block = Block.whole(name, SHAPES[name])
        first, second = (normals(block, 77, 2, direction).reshape(-1) for direction in (5, 1))
        assert np.array_equal(array, before[name] + (np.float32(0.5) * first + np.float32(-0.125) * second))


def test_masters_keep_what_sixteen_bits_would_lose(tensors):
    """Fifty steps below half a bfloat16 ulp add up in fp32 masters and are mostly lost when rounded to nearest."""
    history = [Update(77, step, (0,), (2e-5,)) for step in range(50)]
    exact, truth = serve(tensors)
    for update in history:
        exact.commit(update)
    expected = to_storage(truth["a"].reshape(1, -1), BFLOAT16).reshape(-1)
    lost = {}
    for rule in ("master", "nearest"):
        weights, served = serve(tensors, "bfloat16", update_rule=rule)
        for update in history:
            weights.commit(update)
        lost[rule] = float((served["a"] != expected).mean())
    assert lost["master"] == 0.0
    assert lost["nearest"] > 0.1


def test_only_the_scope_moves(tensors, member):
    """Tensors outside the scope are served as the checkpoint has them, perturbed or not, updated or not."""
    weights, served = serve(tensors, scope="^b")
    before = snapshot(served)
    weights.activate(member())
    changed = [name for name, bits in snapshot(served).items() if bits != before[name]]
    weights.commit(Update(77, 2, (5,), (0.5,)))
    moved = [name for name, bits in snapshot(served).items() if bits != before[name]]
    assert changed == moved == ["b.weight"]


def test_an_update_is_applied_once(tensors):
    """P8: the same step again, or an earlier one, is refused; another run's is not."""
    weights, _ = serve(tensors)
    weights.commit(Update(77, 4, (0,), (0.1,)))
    for step in (4, 3):
        with pytest.raises(ValueError, match="applied already"):
            weights.commit(Update(77, step, (0,), (0.1,)))
    weights.commit(Update(78, 0, (0,), (0.1,)))


@pytest.mark.parametrize("mode", MODES)
def test_an_interrupted_switch_is_done_again(tensors, member, mode, monkeypatch):
    """P7: a write that fails half-way leaves no state that passes for a member or the base."""
    weights, served = serve(tensors, restore=mode)
    before, honest = snapshot(served), noise.perturb

    def fail(base, out, block, member, **rest):
        if block.tensor == "b.weight":
            raise MemoryError
        honest(base, out, block, member, **rest)

    monkeypatch.setattr("coevo.noise.perturb", fail)
    with pytest.raises(MemoryError):
        weights.activate(member())
    monkeypatch.undo()
    weights.activate(None)
    assert snapshot(served) == before


def test_an_interrupted_update_is_said(tensors, monkeypatch):
    """Half an update cannot be told from none, so nothing is served after it."""
    weights, _ = serve(tensors)

    def fail(*_, **__):
        raise MemoryError

    monkeypatch.setattr("coevo.noise.apply_update", fail)
    with pytest.raises(MemoryError):
        weights.commit(Update(77, 0, (0,), (0.1,)))
    with pytest.raises(RuntimeError, match="replay its history"):
        weights.activate(None)


def test_the_fingerprint_sees_what_is_served(tensors):
    """A served copy that went wrong cannot hide behind an untouched base."""
    weights, served = serve(tensors)
    good = weights.fingerprint()
    served["a"][3] += np.float32(1e-6)
    assert weights.fingerprint() != good


def test_shards_and_strides_are_served_like_the_whole(tensors, member):
    """P10, P28: column shards in a wider array, cut anywhere, get the noise of the whole tensor."""
    whole, served = serve(tensors)
    wide = np.zeros((70, 32), np.float32)
    left, right = Block("a", (70, 10), 0, 0, 70, 3), Block("a", (70, 10), 0, 3, 70, 7)
    halves = [Served(left, wide[:, 20:23]), Served(right, wide[:, 4:11])]
    shards = Weights(make_cells(halves, tensors, WeightPolicy()))
    update = Update(77, 0, (1, 2), (0.25, -0.5))
    for weights in (whole, shards):
        weights.commit(update)
        weights.activate(member(step=1))
    assert np.array_equal(np.hstack([wide[:, 20:23], wide[:, 4:11]]), served["a"].reshape(70, 10))
    part = {block.tensor: part for block, part in whole.parts()}["a"]
    assert sum(part for _, part in shards.parts()) % 2**64 == part


@pytest.mark.parametrize(
    ("dtype", "policy", "words"),
    [
        ("float16", {"update_rule": "stochastic"}, "got float16"),
        ("bfloat16", {"restore": "tiles"}, "fp32 masters"),
    ],
)
def test_what_cannot_be_kept_exactly_is_refused(tensors, dtype, policy, words):
    """A rule or a mode that a storage type does not allow says what would work."""
    with pytest.raises(ModelError, match=words):
        serve(tensors, dtype, **policy)


def test_backups_cost_what_they_promise(tensors, member):
    """A copy costs one base; tiles cost nothing at rest and about 1/K while a member of K is served."""
    size = sum(info.size for info in tensors.values())
    weights, _ = serve(tensors)
    assert weights.extra_bytes == 4 * size
    weights, _ = serve(tensors, restore="tiles")
    assert weights.extra_bytes == 0
    weights.activate(Member(77, 0, 0, 1, 0.1, Partition(2, "element"), 1))
    assert weights.extra_bytes == pytest.approx(2 * size, rel=0.1)


@given(st.lists(st.integers(0, 2**32 - 1), min_size=1, max_size=50))
def test_rounding_to_bfloat16_is_that_of_torch(bits):
    """To nearest, ties to even, signed zeros and infinities kept."""
    import torch

    values = np.array(bits, np.uint32).view(np.float32)
    values = values[~np.isnan(values)].reshape(1, -1)
    expected = torch.from_numpy(values).to(torch.bfloat16).view(torch.uint16).numpy()
    assert np.array_equal(to_storage(values, BFLOAT16), expected)


@pytest.mark.parametrize("kept", KEPT_IN, ids="-".join)
def test_a_device_without_kernels_serves_the_same_bits(tensors, member, kept):
    """Made on the host and copied over, members, updates and fingerprints are those of the host."""
    import torch

    from coevo.engines.torch_cells import StagedCell, host_view

    dtype, rule = kept
    policy = WeightPolicy(update_rule=rule, scope="^(a|tiles)$")
    host, served = serve(tensors, dtype, update_rule=rule, scope=policy.scope)
    blocks = {name: Block.whole(name, shape) for name, shape in SHAPES.items()}
    far = {name: torch.empty(b.rows, b.cols, dtype=getattr(torch, dtype)) for name, b in blocks.items()}
    staged = [StagedCell(blocks[n], far[n], tensors[n], policy, moves=n != "b.weight") for n in SHAPES]
    device = Weights(staged)
    assert host.fingerprint() == device.fingerprint()
    for weights in (host, device):
        weights.commit(Update(77, 2, (5, 1), (0.5, -0.125)))
        weights.activate(member(step=3))
    assert snapshot(served) == {name: host_view(tensor).tobytes() for name, tensor in far.items()}
    assert host.fingerprint() == device.fingerprint()


def test_a_disk_that_is_too_small_is_said(tensors, monkeypatch):
    """A scratch file without room is refused before anything is mapped, naming the folder."""

    def fail(*_):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("os.posix_fallocate", fail)
    with pytest.raises(ModelError, match="No space left on device; set TMPDIR"):
        serve(tensors, restore="mapped")

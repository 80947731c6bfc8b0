import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from coevo.engines.parameters import ArrayStore, Weights, match_names
from coevo.errors import ModelError
from coevo.interfaces import Update
from coevo.noise import direction_key, normals, tensor_key

MOVES = st.lists(st.one_of(st.none(), st.tuples(st.integers(0, 3), st.sampled_from([1, -1]))), max_size=12)


def make_weights(threads=1):
    """Two small tensors and the store that serves them."""
    rng = np.random.default_rng(1)
    base = {name: rng.normal(0, 0.1, size).astype(np.float32) for name, size in (("a", 700), ("b.weight", 33))}
    served = {name: np.full_like(array, np.nan) for name, array in base.items()}
    return Weights(base, ArrayStore(served), threads), served


def snapshot(arrays):
    """The bits of every tensor."""
    return {name: array.tobytes() for name, array in arrays.items()}


def test_a_member_is_base_plus_scaled_noise(member):
    """Served weights are base + sign · sigma · ε of the tensor's own name, one rounding each."""
    weights, served = make_weights()
    weights.activate(member(direction=4, sign=-1, sigma=0.25, step=9))
    for name, array in served.items():
        noise = normals(direction_key(77, 9, 4), tensor_key(name), 0, len(array))
        assert np.array_equal(array, weights.base[name] + np.float32(-0.25) * noise)


@settings(max_examples=50)
@given(MOVES)
def test_any_walk_over_members_ends_in_the_exact_base(moves):
    """However members follow one another, base restores the bits, and the base itself never moved."""
    from coevo.interfaces import Member

    weights, served = make_weights()
    before = snapshot(weights.base)
    for move in moves:
        weights.activate(None if move is None else Member(77, 0, move[0], move[1], 0.3))
    weights.activate(None)
    assert snapshot(served) == snapshot(weights.base) == before


def test_mirrored_members_lie_on_both_sides(member):
    """The signs of one direction differ from each other and from the base."""
    weights, served = make_weights()
    base = served["a"].copy()
    weights.activate(member(sign=1))
    plus = served["a"].copy()
    weights.activate(member(sign=-1))
    assert np.allclose(plus - base, base - served["a"], atol=1e-7)
    assert np.abs(plus - base).min() > 0


def test_no_two_tensors_share_noise(member):
    """Two tensors of the same size get different noise under the same member."""
    base = {name: np.zeros(64, np.float32) for name in ("x", "y")}
    served = {name: np.zeros(64, np.float32) for name in base}
    Weights(base, ArrayStore(served)).activate(member())
    assert not np.any(served["x"] == served["y"])


def test_an_update_moves_the_base_and_is_served(member):
    """θ ← θ + Σ c ε, summed in fp32 in the given order, and answers come from the new base."""
    weights, served = make_weights()
    before = {name: array.copy() for name, array in weights.base.items()}
    weights.activate(member())
    fingerprint = weights.commit(Update(77, 2, (5, 1), (0.5, -0.125)))
    for name, array in served.items():
        first, second = (normals(direction_key(77, 2, d), tensor_key(name), 0, len(array)) for d in (5, 1))
        assert np.array_equal(array, before[name] + (np.float32(0.5) * first + np.float32(-0.125) * second))
    assert fingerprint == weights.fingerprint()


def test_threads_do_not_change_a_bit(member, monkeypatch):
    """Blocks written by several threads give the same weights and the same update."""
    monkeypatch.setattr("coevo.engines.parameters.BLOCK", 100)
    results = []
    for threads in (1, 4):
        weights, served = make_weights(threads)
        fingerprint = weights.commit(Update(77, 0, (1, 2), (0.1, 0.2)))
        weights.activate(member())
        results.append((fingerprint, snapshot(served)))
    assert results[0] == results[1]


def test_an_interrupted_switch_is_done_again(member):
    """A write that fails half-way leaves no state that passes for a member or the base."""
    weights, served = make_weights()
    before = snapshot(served)
    honest = weights._store.write

    def fail(name, start, stop, fill):
        if name == "b.weight":
            raise MemoryError
        honest(name, start, stop, fill)

    weights._store.write = fail
    with pytest.raises(MemoryError):
        weights.activate(member())
    weights._store.write = honest
    weights.activate(None)
    assert snapshot(served) == before


def test_the_fingerprint_sees_what_is_served():
    """A served copy that went wrong cannot hide behind an untouched base."""
    weights, served = make_weights()
    good = weights.fingerprint()
    served["a"][3] += np.float32(1e-6)
    assert weights.fingerprint() != good


def test_names_pair_with_and_without_the_prefix():
    """A checkpoint of the bare base model leaves the prefix out; its names stay the canonical ones."""
    parameters = {"model.w": (2,), "head": (3,)}
    tensors = {"w": (2,), "head": (3,), "mask": (1,)}
    pairs = match_names(parameters, tensors, prefix="model", ignorable=["^mask$"])
    assert pairs == {"model.w": "w", "head": "head"}


@pytest.mark.parametrize(
    ("parameters", "tensors", "named"),
    [
        ({"w": (2,), "v": (2,)}, {"w": (2,)}, "v"),
        ({"w": (2,)}, {"w": (2,), "extra": (2,)}, "extra"),
        ({"w": (2, 1)}, {"w": (1, 2)}, "w"),
        ({"m.w": (2,), "w": (2,)}, {"w": (2,)}, "m.w"),
    ],
)
def test_a_checkpoint_that_is_not_covered_once_is_refused(parameters, tensors, named):
    """Missing, left over, of another shape, or claimed twice: the tensor is named."""
    with pytest.raises(ModelError, match=f"'{named}'"):
        match_names(parameters, tensors, prefix="m", ignorable=[])

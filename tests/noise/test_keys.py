import itertools

import pytest

from coevo.noise import direction_key, rounding_key, subspace_key, tensor_key


@pytest.mark.parametrize(
    ("name", "key"),
    [
        ("model.embed_tokens.weight", 17744852841324204394),
        ("model.layers.0.self_attn.q_proj.weight", 16370257070406477578),
        ("lm_head.weight", 8183605209020681030),
    ],
)
def test_tensor_keys_are_the_published_ones(name, key):
    """The key is the little-endian 64-bit blake2b of the name, the identity used by the Agentic-ESOpt code."""
    assert tensor_key(name) == key


def test_direction_keys_are_pinned():
    """A change of the key derivation would make every recorded history unreadable."""
    assert [direction_key(0, 0, 0), direction_key(2**64 - 1, 12, 3)] == [12065121151898388753, 7020550755631259213]


def test_direction_keys_differ_in_every_coordinate():
    """Small neighbouring runs, steps and directions all get their own key."""
    keys = {direction_key(*place) for place in itertools.product(range(12), repeat=3)}
    assert len(keys) == 12**3


def test_keys_use_all_64_bits():
    """Run keys that differ by 2³² are different runs (a 32-bit seed would merge them)."""
    assert direction_key(5, 0, 0) != direction_key(5 + 2**32, 0, 0)
    assert max(direction_key(1, 0, direction) for direction in range(64)) >= 2**63


def test_keys_of_other_purposes_are_pinned_and_their_own():
    """Subspaces and rounding of a step share no stream with each other, another step or the noise."""
    assert [subspace_key(0, 0), rounding_key(2**64 - 1, 12)] == [99464816999969765, 9720352633962595543]
    places = list(itertools.product(range(12), repeat=2))
    keys = {function(*place) for place in places for function in (subspace_key, rounding_key)}
    keys |= {direction_key(*place, direction) for place in places for direction in range(3)}
    assert len(keys) == 5 * 144


@pytest.mark.parametrize("key", [subspace_key, rounding_key])
def test_keys_of_other_purposes_refuse_what_does_not_fit(key):
    """A number outside 64 bits is refused by name."""
    with pytest.raises(ValueError, match="step must be a whole number"):
        key(0, 2**64)


@pytest.mark.parametrize("place", [(-1, 0, 0), (2**64, 0, 0), (0, -1, 0), (0, 0, 2**64)])
def test_direction_key_refuses_what_does_not_fit(place):
    """A number outside 64 bits is refused, never reduced in silence."""
    with pytest.raises(ValueError, match=r"in \[0, 2\^64\)"):
        direction_key(*place)


def test_tensor_key_refuses_an_empty_name():
    """A tensor without a name has no noise."""
    with pytest.raises(ValueError, match="empty string"):
        tensor_key("")

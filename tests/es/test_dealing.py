from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from coevo.es.dealing import deal, fault, smallest_share


@given(st.integers(0, 80), st.integers(1, 12), st.booleans())
def test_every_possible_step_fills_every_subspace(count, subspaces, antithetic):
    """What can be dealt fills each subspace with two or more, as evenly as directions allow; the rest is refused."""
    cut = {"subspaces": subspaces, "antithetic": antithetic}
    if fault(count, **cut) is not None:
        assert count < 2 * subspaces or (antithetic and count % 2)
        with pytest.raises(ValueError, match=rf"got {count}$"):
            deal(count, **cut)
        return
    places = deal(count, **cut)
    sizes = Counter(place.subspace for place in places)
    assert len(places) == len(set(places)) == count
    assert set(sizes) == set(range(subspaces))
    assert min(sizes.values()) == smallest_share(count, **cut) >= 2
    assert max(sizes.values()) - min(sizes.values()) <= (2 if antithetic else 1)


def test_pairs_stay_in_one_subspace():
    """Both halves of a pair follow each other, share their direction and move the same weights."""
    places = deal(12, subspaces=3, antithetic=True)
    assert [(place.direction, place.sign, place.subspace) for place in places] == [
        (0, 1, 0), (0, -1, 0), (1, 1, 1), (1, -1, 1), (2, 1, 2), (2, -1, 2),
        (3, 1, 0), (3, -1, 0), (4, 1, 1), (4, -1, 1), (5, 1, 2), (5, -1, 2),
    ]  # fmt: skip


def test_a_step_that_is_too_small_says_how_many_it_needs():
    """Four subspaces need two members each."""
    assert fault(7, subspaces=4, antithetic=False) == ("each of 4 subspaces needs 2 members: expected 8 or more, got 7")
    assert fault(8, subspaces=4, antithetic=True) is None

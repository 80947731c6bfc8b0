"""Splits by name and along a stream."""

import numpy as np
import pytest

from coevo.errors import ConfigError
from coevo.problemkit.splits import check_split, draw_split, split_names

STREAM = (("search", 2, 3), (None, 4, 5), ("val", 1, 2), ("test", 3, 1))


def test_names_are_those_of_the_splits_alone():
    """In the stream's order, without the parts that no split uses."""
    assert split_names(STREAM) == ["search", "val", "test"]


def test_an_unknown_split_is_refused_with_the_known_ones():
    """Any iterable of names will do; None names nothing."""
    check_split("made", "val", iter(["search", "val"]))
    for name in ("train", "", None):
        with pytest.raises(ConfigError, match=r"expected a split of the problem made \(search, val\), got "):
            check_split("made", name, {"search": 1, "val": 2})


@pytest.mark.parametrize(("split", "first"), [("search", 0), ("val", 6), ("test", 7)])
def test_a_split_is_the_same_as_in_the_whole_stream(split, first):
    """Everything before it is drawn too, and counted; nothing after it is."""
    whole, part = np.random.default_rng(1), np.random.default_rng(1)
    expected = {name: whole.random((count, size)) for name, count, size in STREAM}
    asked = []

    def draw(count, size):
        asked.append((count, size))
        return part.random((count, size))

    place, drawn = draw_split(STREAM, split, draw)
    assert place == first
    assert np.array_equal(drawn, expected[split])
    assert asked == [(count, size) for _, count, size in STREAM][: len(asked)]
    assert sum(count for count, _ in asked[:-1]) == first


def test_a_stream_without_the_split_is_an_error():
    """Rather than an empty split."""
    with pytest.raises(ValueError, match="expected a split of the stream, got 'train'"):
        draw_split(STREAM, "train", lambda count, size: None)

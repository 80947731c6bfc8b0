"""What the bin-packing problems share, on an instance packed by hand."""

import numpy as np
import pytest

from coevo.errors import InstanceFileError
from coevo.problemkit.packing_problem import (
    classics,
    draw_bins,
    packing_instance,
    read,
    read_reference,
    sizes_of,
    solvers,
)

SMALL = packing_instance("small", 7, np.array([4, 6, 5, 5], dtype=np.int32), 10)


def test_an_instance_holds_a_read_only_copy():
    """The sizes as int64, whatever they were."""
    given = np.array([1, 2], dtype=np.int16)
    instance = packing_instance("made", 3, given, 2)
    given[0] = 2
    sizes, capacity = sizes_of(instance)
    assert (instance.name, instance.seed, type(capacity), capacity) == ("made", 3, int, 2)
    assert (sizes.dtype, sizes.tolist(), sizes.flags.writeable) == (np.int64, [1, 2], False)


def test_textbook_packings_fill_both_bins():
    """Largest first: 6, 5, 5, 4 into two bins of 10."""
    for algorithm in classics().values():
        assert algorithm(SMALL).tolist() == [0, 0, 1, 1]
    assert list(solvers()) == ["ortools"]


def test_files_become_instances(tmp_path):
    """Seeds by place; what the file says is best, or None."""
    file = tmp_path / "two.txt"
    file.write_text("2\na\n10 2 1\n6\n4\nb\n7 1 1\n7\n")
    instances = read(file)
    assert [(each.name, each.seed, each.data["sizes"].tolist()) for each in instances] == [
        ("a", 0, [6, 4]),
        ("b", 1, [7]),
    ]
    assert read_reference(file) == [1.0, 1.0]
    np.save(tmp_path / "array.npy", np.array([[6, 4]]))
    assert read_reference(tmp_path / "array.npy", capacity=10) == [None]
    with pytest.raises(InstanceFileError, match="leave out the option capacity"):
        read(file, capacity=10)


def test_a_drawing_counts_what_it_shows():
    """A frame per bin and a box per item."""
    text = draw_bins(SMALL, np.array([0, 0, 3, 3]))
    assert "<title>small: 4 items in 2 bins of 10</title>" in text
    assert text.count("<rect") == 2 + 4

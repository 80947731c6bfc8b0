"""Bin-packing files: the published ones, each form by hand, and each way to be broken, with its line."""

import json

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from coevo.errors import InstanceFileError
from coevo.problemkit.packing_files import read_packings

OR_LIBRARY = "2\n a\n 10 3 2\n6\n4\n5\n b \n 100.0 2 1\n36.6\n25.40\n"
ONE = "3\n10\n6\n4\n5\n"
CUTTING = "2\n10\n6 1\n4\t2\n"
ONLINE = {"x": {"capacity": 10, "num_items": 3, "items": [6, 4, 5]}, "y": {"capacity": 7, "num_items": 1, "items": [7]}}


@pytest.fixture
def write(tmp_path):
    """A function (text, name) -> path of a file with that text."""

    def make(text, name="given.txt"):
        file = tmp_path / name
        file.write_text(text, encoding="utf-8")
        return file

    return make


def plain(records):
    """Records as tuples."""
    return [(each.name, each.sizes.tolist(), each.capacity, each.best) for each in records]


def test_or_library_with_decimals_is_scaled_instance_by_instance(write):
    """Whole sizes stay as they are; 36.6 and 25.40 in bins of 100.0 become 366 and 254 in bins of 1000."""
    records = read_packings(write(OR_LIBRARY))
    assert plain(records) == [("a", [6, 4, 5], 10, 2), ("b", [366, 254], 1000, 1)]
    assert records[0].sizes.dtype == np.int64


@pytest.mark.parametrize("change", [str, lambda text: text.replace("\n", "\r\n"), lambda text: f"\ufeff\n{text}\n \n"])
def test_line_ends_blank_lines_and_a_byte_order_mark_do_not_matter(write, change):
    """The same instances from every spelling."""
    assert plain(read_packings(write(change(OR_LIBRARY)))) == plain(read_packings(write(OR_LIBRARY)))


def test_bpplib_and_cutting_stock_by_hand(write):
    """One size a line; or a size and how often it is demanded."""
    assert plain(read_packings(write(ONE))) == [("given", [6, 4, 5], 10, None)]
    assert plain(read_packings(write(CUTTING))) == [("given", [6, 4, 4], 10, None)]
    assert plain(read_packings(write("1\n10\n10\n"))) == [("given", [10], 10, None)]


def test_json_by_hand(write):
    """Items in the given order, names as keys."""
    records = plain(read_packings(write(json.dumps(ONLINE), "given.json")))
    assert records == [("x", [6, 4, 5], 10, None), ("y", [7], 7, None)]


@pytest.mark.parametrize("dtype", [np.int32, np.uint8, np.float64])
def test_arrays_by_hand(tmp_path, dtype):
    """One instance or several, any kind of number as long as the sizes are whole."""
    np.save(tmp_path / "given.npy", np.array([[6, 4], [5, 10]], dtype=dtype))
    np.savez(tmp_path / "given.npz", demands=np.array([6, 4], dtype=dtype), other=np.zeros(3))
    assert plain(read_packings(tmp_path / "given.npy", 10)) == [
        ("given-0", [6, 4], 10, None),
        ("given-1", [5, 10], 10, None),
    ]
    assert plain(read_packings(tmp_path / "given.npz", 10)) == [("given", [6, 4], 10, None)]


@pytest.mark.parametrize(
    ("text", "line", "message"),
    [
        ("2\n", 2, "expected the capacity, got the end of the file"),
        ("3\n10\n6\n4\n", 5, "expected the size of item 3 of 3, got the end of the file"),
        ("3\n10\n6\n4\n5\n\n7\n", 7, "expected the end of the file, got '7'"),
        ("3\n10\n6\n4.5\n5\n", 4, "expected a size as a whole number above 0, got '4.5'"),
        ("3\n10.5\n6\n4\n5\n", 2, "expected the capacity as a whole number above 0, got '10.5'"),
        ("0\n10\n", 1, "expected the number of items as a whole number above 0, got '0'"),
        ("3\n10\n6\n0\n5\n", 4, "got '0'"),
        ("3\n10\n6\n-4\n5\n", 4, "got '-4'"),
        ("3\n10\n6\nnan\n5\n", 4, "got 'nan'"),
        ("3\n10\n6\n1e1\n5\n", 4, "got '1e1'"),
        ("3\n10\n6\n1_0\n5\n", 4, "got '1_0'"),
        ("3\n10\n6\n٤\n5\n", 4, "got '٤'"),
        ("3\n10\n6\n11\n5\n", 4, "no item larger than a bin, got a size of 11 for capacity 10"),
        ("1\n2147483648\n6\n", 2, "a capacity of at most 2147483647"),
        ("3\n10\n6\n4 5\n", 4, "expected the size of item 2 of 3, got '4 5'"),
        ("2\n10\n6 1\n4\n", 4, "expected 'size demand', line 2 of 2, got '4'"),
        ("2\n10\n6 1\n", 4, "expected 'size demand', line 2 of 2, got the end of the file"),
        ("1\n10\n6 0\n", 3, "expected a demand as a whole number above 0, got '0'"),
        ("1\n10\n6 1.5\n", 3, "expected a demand as a whole number above 0, got '1.5'"),
        ("1\n10\n6 999999999\n", 3, "expected at most 1000000 items"),
        ("1\n10\n11 2\n", 3, "no item larger than a bin"),
        ("1\n a\n 10 2\n6\n4\n", 3, "expected 'capacity items best' of a, got '10 2'"),
        ("1\n a\n 10 2 1.5\n6\n4\n", 3, "expected the best known number of bins as a whole number above 0, got '1.5'"),
        ("1\n a\n 10 2.0 1\n6\n4\n", 3, "expected the number of items as a whole number above 0, got '2.0'"),
        ("1\n a\n ten 2 1\n6\n4\n", 3, "expected the capacity as a number above 0, got 'ten'"),
        ("1\n a\n 10 2 1\n6\nx\n", 5, "expected a size as a number above 0, got 'x'"),
        ("1\n a\n 10 2 1\n6\n", 5, "expected the size of item 2 of 2, got the end of the file"),
        ("1\n a\n 10 2 1\n6\n4\n5\n", 6, "expected the end of the file, got '5'"),
        ("1\n a\n 10 2 1\n6\n10.01\n", 5, "no item larger than a bin, got a size of 1001 for capacity 1000"),
        ("1\n a\n 3000000 1 1\n0.001\n", 3, "a capacity of at most 2147483647 once it is whole, got 3000000000"),
        ("2\n a\n 10 1 1\n6\n", 5, "expected the identifier of a problem, got the end of the file"),
        ("2\n a\n 10 1 1\n6\n a\n 10 1 1\n6\n", 5, "another identifier for each problem, got 'a' again"),
        ("x\n a\n 10 1 1\n6\n", 1, "expected the number of problems as a whole number above 0, got 'x'"),
    ],
)
def test_a_broken_text_is_refused_with_the_line(write, text, line, message):
    """Truncated, not numeric, not whole, too large, counts that disagree, something left over."""
    with pytest.raises(InstanceFileError, match=rf"given\.txt, line {line}: .*({message})"):
        read_packings(write(text))


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ('{"x": {"capacity": 10,\n "num_items" 3}}', "line 2: expected JSON"),
        ("[1, 2]", "expected a JSON object of instances by name"),
        ("{}", "with at least one"),
        ('{"x": 3}', "expected x to hold capacity, num_items and a list of items"),
        ('{"x": {"capacity": 10, "items": [1]}}', "expected x to hold"),
        ('{"x": {"capacity": 10, "num_items": 1, "items": 1}}', "expected x to hold"),
        ('{"x": {"capacity": 10, "num_items": 2, "items": [1]}}', "num_items of x to count its 1 items"),
        ('{"x": {"capacity": 10, "num_items": true, "items": [1]}}', "num_items of x"),
        ('{"x": {"capacity": 10, "num_items": 0, "items": []}}', "at least one"),
        ('{"x": {"capacity": 10.0, "num_items": 1, "items": [1]}}', "capacity of x from 1 to 2147483647, got 10.0"),
        ('{"x": {"capacity": NaN, "num_items": 1, "items": [1]}}', "capacity of x"),
        ('{"x": {"capacity": true, "num_items": 1, "items": [1]}}', "capacity of x"),
        ('{"x": {"capacity": 10, "num_items": 2, "items": [1, 11]}}', "item 1 of x from 1 to its capacity 10, got 11"),
        ('{"x": {"capacity": 10, "num_items": 1, "items": [1.0]}}', "item 0 of x"),
        ('{"x": {"capacity": 10, "num_items": 1, "items": ["1"]}}', "item 0 of x"),
        ('{"x": {"capacity": 10, "num_items": 1, "items": [0]}}', "item 0 of x"),
        ('{"x": 1, "x": 2}', "a key that comes twice"),
        ("[" * 100_000, "expected JSON"),
    ],
)
def test_a_broken_json_is_refused(write, text, message):
    """Not JSON, another structure, numbers that are not whole or do not fit."""
    with pytest.raises(InstanceFileError, match=message):
        read_packings(write(text, "given.json"))


@pytest.mark.parametrize(
    ("array", "message"),
    [
        (np.array([[1.5]]), "whole sizes from 1 to the capacity 10, got 1.5 for item 0 of instance 0"),
        (np.array([[1], [0]]), "got 0 for item 0 of instance 1"),
        (np.array([3, 11]), "got 11 for item 1 of instance 0"),
        (np.array([np.nan]), "got nan"),
        (np.array([np.inf]), "got inf"),
        (np.array([2**64 - 1], dtype=np.uint64), "got 18446744073709551615"),
        (np.zeros((0, 3), dtype=int), r"got int64 of shape \(0, 3\)"),
        (np.ones((1, 1, 1)), r"got float64 of shape \(1, 1, 1\)"),
        (np.array(3), r"got int64 of shape \(\)"),
        (np.array([True]), "got bool"),
        (np.array([1j]), "got complex128"),
        (np.array(["1"]), "got <U1"),
    ],
)
def test_a_broken_array_is_refused(tmp_path, array, message):
    """Sizes that are not whole, out of range, or no array of them."""
    np.save(tmp_path / "given.npy", array)
    with pytest.raises(InstanceFileError, match=message):
        read_packings(tmp_path / "given.npy", 10)


def test_damaged_archives_and_pickles_are_refused(tmp_path):
    """Cut off, empty, full of something else, without demands, or with an object that would need a pickle."""
    np.savez(tmp_path / "whole.npz", demands=np.arange(1, 100))
    data = (tmp_path / "whole.npz").read_bytes()
    for name, content in (("cut.npz", data[:100]), ("empty.npy", b""), ("text.npy", b"12\n"), ("text.npz", b"12\n")):
        (tmp_path / name).write_bytes(content)
    np.savez(tmp_path / "other.npz", sizes=np.arange(3))
    np.save(tmp_path / "pickle.npy", np.array([None]), allow_pickle=True)
    for name in ("cut.npz", "empty.npy", "text.npy", "text.npz", "other.npz", "pickle.npy"):
        with pytest.raises(InstanceFileError, match=rf"{name}: expected (an array|the array demands)"):
            read_packings(tmp_path / name, 100)


def test_the_capacity_is_an_option_for_arrays_alone(tmp_path, write):
    """Asked for where the file says nothing, refused where it does, and checked."""
    np.save(tmp_path / "given.npy", np.array([1, 2]))
    with pytest.raises(InstanceFileError, match="give it, as in --option capacity=150"):
        read_packings(tmp_path / "given.npy")
    for capacity in (0, -1, 2**31, 2.0, True, "10"):
        with pytest.raises(InstanceFileError, match="expected the option capacity from 1 to"):
            read_packings(tmp_path / "given.npy", capacity)
    for file in (write(ONE), write(json.dumps(ONLINE), "given.json")):
        with pytest.raises(InstanceFileError, match="leave out the option capacity"):
            read_packings(file, 10)


def test_what_is_no_text_file_is_refused(tmp_path):
    """No file, a folder, nothing in it, bytes of something else."""
    (tmp_path / "bytes.txt").write_bytes(b"3\n10\n\x00\n")
    (tmp_path / "empty.txt").write_bytes(b" \n")
    for name, message in (
        ("none.txt", "found none"),
        ("", "found none"),
        ("empty.txt", "an empty file"),
        ("bytes.txt", "line 3: expected text, got binary data"),
    ):
        with pytest.raises(InstanceFileError, match=message):
            read_packings(tmp_path / name)


@given(st.data())
def test_any_prefix_of_a_file_is_an_instance_or_an_instance_file_error(tmp_path_factory, data):
    """No text cut short, and none with a character exchanged, ends in anything else."""
    text = data.draw(st.sampled_from([OR_LIBRARY, ONE, CUTTING, json.dumps(ONLINE)]))
    place = data.draw(st.integers(0, len(text)))
    damaged = data.draw(
        st.sampled_from([text[:place], text[:place] + data.draw(st.characters(codec="utf-8")) + text[place:]])
    )
    file = tmp_path_factory.mktemp("damaged") / ("given.json" if text[0] == "{" else "given.txt")
    file.write_text(damaged, encoding="utf-8")
    try:
        records = read_packings(file)
    except InstanceFileError:
        return
    assert all(each.sizes.min() >= 1 and each.sizes.max() <= each.capacity for each in records)


@pytest.mark.parametrize(
    ("name", "items", "capacity"), [("binpack1", 120, 150), ("binpack3", 500, 150), ("binpack5", 60, 1000)]
)
def test_or_library_files(name, items, capacity, shared_data):
    """Twenty instances each; those of binpack5 have one decimal and fill their 20 bins exactly."""
    records = read_packings(shared_data / "bpp" / "orlib" / f"{name}.txt")
    assert len(records) == 20
    assert {(len(each.sizes), each.capacity) for each in records} == {(items, capacity)}
    if name == "binpack5":
        assert {each.sizes.sum() / capacity for each in records} == {20}


def test_the_same_instance_in_four_forms(shared_data):
    """u120_00 of OR-Library equals BPPLIB's two files, sizes sorted; u500 equals the published online set, in order."""
    first = read_packings(shared_data / "bpp" / "orlib" / "binpack1.txt")[0]
    for name in ("Falkenauer_u120_00.txt", "Falkenauer_u120_00.csp.txt"):
        (record,) = read_packings(shared_data / "bpp" / "bpplib" / name)
        assert (record.capacity, record.sizes.tolist()) == (150, sorted(first.sizes.tolist(), reverse=True))
    online = read_packings(shared_data / "bpp" / "online" / "or3.json")
    for a, b in zip(online, read_packings(shared_data / "bpp" / "orlib" / "binpack3.txt"), strict=True):
        assert (a.name, a.capacity, a.sizes.tolist()) == (b.name, b.capacity, b.sizes.tolist())

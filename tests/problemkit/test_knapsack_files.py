"""Knapsack files: each form by hand, real files where they lie beside the checkout, and each way to be malformed."""

import csv
import io

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from coevo.errors import InstanceFileError
from coevo.problemkit.knapsack_files import read_knapsacks

PAIRS = b"3 10\r\n6 5\r\n5 4\r\n4 6\r\n"
NUMBERED = b"3\n0 6 5\n1 5 4\n2 4 6\n10\n"


@pytest.fixture
def written(tmp_path):
    """A function that writes bytes and returns the path."""

    def write(content):
        (tmp_path / "file").write_bytes(content)
        return tmp_path / "file"

    return write


def saved(array):
    """An array as the bytes of a .npy file."""
    file = io.BytesIO()
    np.save(file, array)
    return file.getvalue()


@pytest.mark.parametrize("content", [PAIRS, NUMBERED, NUMBERED.replace(b"0 6 5\n1 5 4\n2 4 6", b"1 6 5\n2 5 4\n3 4 6")])
def test_both_orders_of_columns_say_the_same(written, content):
    """Profit before weight; capacity in the first line or the last; ids from 0 or 1; any line ends."""
    (found,) = read_knapsacks(written(content))
    assert found.capacity == 10
    assert (found.weights.tolist(), found.values.tolist()) == ([5, 4, 6], [6, 5, 4])
    assert found.best is None


@pytest.mark.parametrize("solution", [b"1 1 0", b"1 1 0 ", b"\n1 1 0\n\n", b"1\n1\n0\n"])
def test_a_solution_at_the_end_states_the_optimum(written, solution):
    """On one line or several, with or without a line end."""
    (found,) = read_knapsacks(written(PAIRS + solution))
    assert found.best == 11


@pytest.mark.parametrize(("content", "items"), [(b"0 5", 0), (b"0\n5\n", 0), (b"\xef\xbb\xbf1 1.5\n2.5e0 .5\n", 1)])
def test_small_files(written, content, items):
    """No items at all; decimals and a byte order mark."""
    (found,) = read_knapsacks(written(content))
    assert found.weights.shape == found.values.shape == (items,)
    assert found.weights.dtype == found.values.dtype == np.float64


def test_arrays_take_the_capacity_given(written):
    """Column 0 is the weight, column 1 the value, one instance per row."""
    array = np.arange(12).reshape(2, 3, 2)
    first, second = read_knapsacks(written(saved(array)), capacity=7.5)
    assert (first.capacity, second.capacity) == (7.5, 7.5)
    assert (second.weights.tolist(), second.values.tolist()) == ([6, 8, 10], [7, 9, 11])


@pytest.mark.parametrize(
    ("content", "line", "message"),
    [
        (b"", None, "expected text, got an empty file"),
        (b"\n\n1 2 3\n", 3, "expected 'n capacity', or 'n', got '1 2 3'"),
        (b"n 10\n", 1, "expected the number of items, got 'n'"),
        (b"1.5 10\n1 1\n", 1, "expected the number of items that is whole, got '1.5'"),
        (b"-1 10\n", 1, "expected the number of items of at least 0, got '-1'"),
        (b"1 -3\n1 1\n", 1, "expected the capacity of at least 0, got '-3'"),
        (b"1 nan\n1 1\n", 1, "expected the capacity, got 'nan'"),
        (b"1 1_0\n1 1\n", 1, "expected the capacity, got '1_0'"),
        (b"2 10\n1 1\n\n", 2, "expected 'profit weight' of item 2 of 2 after it, got the end of the file"),
        (b"2 10\n1 1\n3\n", 3, "expected 'profit weight' of item 2 of 2, got '3'"),
        (b"2 10\n1 x\n3 4\n", 2, "expected a weight, got 'x'"),
        (b"2 10\n1 1\n3 -4\n", 3, "expected a weight of at least 0, got '-4'"),
        (b"2 10\n-1 1\n3 4\n", 2, "expected a profit of at least 0, got '-1'"),
        (b"1 10\n1e999 1\n", 2, "expected a profit of at most 1e+12 in size, got '1e999'"),
        (PAIRS + b"4 4\n", 5, "expected the end of the file or a solution of 3 times 0 or 1, got '4 4'"),
        (PAIRS + b"1 0\n", 5, "expected a solution of 3 times 0 or 1, got '2 of them'"),
        (PAIRS + b"1 0 0 1\n", 5, "expected the end of the file or a solution of 3 times 0 or 1, got '1 0 0 1'"),
        (PAIRS + b"1 0 1\n", 5, "expected a solution that weighs at most 10, got 'one that weighs 11'"),
        (PAIRS + b"1 1 0\nEOF\n", 6, "expected the end of the file or a solution of 3 times 0 or 1, got 'EOF'"),
        (b"2\n0 1 1\n10\n", 3, "expected 'id profit weight' of item 2 of 2, got '10'"),
        (b"2\n0 1 1\n2 1 1\n10\n", 3, "expected the item with id 1, got '2'"),
        (b"2\n5 1 1\n6 1 1\n10\n", 2, "expected the item with id 0, got '5'"),
        (b"1\n0 1 -1\n10\n", 2, "expected a weight of at least 0, got '-1'"),
        (b"1\n0 1 1\n", 2, "expected the capacity after it, got the end of the file"),
        (NUMBERED + b"7\n", 6, "expected the end of the file, got '7'"),
        (b"2 10\n1 1\n\0\n", 3, "expected text, got binary data"),
        (b"999999999999 1\n1 1\n", 2, "expected 'profit weight' of item 2 of 999999999999 after it"),
    ],
)
def test_malformed_text_names_its_line(written, content, line, message):
    """What was expected, what came and where."""
    path = written(content)
    with pytest.raises(InstanceFileError) as caught:
        read_knapsacks(path)
    where = f"{path}, line {line}" if line else f"{path}"
    assert str(caught.value).startswith(f"{where}: {message}")


@pytest.mark.parametrize(
    ("array", "message"),
    [
        (np.zeros((4, 2)), r"expected an array of shape \(instances, items, 2\), none of them 0, got shape \(4, 2\)"),
        (np.zeros((9, 0, 2)), r"none of them 0, got shape \(9, 0, 2\)"),
        (np.zeros((1, 4, 3)), r"got shape \(1, 4, 3\)"),
        (np.zeros((0, 4, 2)), r"got shape \(0, 4, 2\)"),
        (np.zeros((1, 4, 2), dtype=bool), "got bool"),
        (np.zeros((1, 4, 2), dtype=complex), "got complex128"),
        (np.full((1, 4, 2), -1), "expected numbers of at least 0, got -1.0 as the weight of item 0 of instance 0"),
        (np.array([[[1, np.nan]]]), r"expected finite numbers up to 1e\+12 in size, got nan"),
    ],
)
def test_other_arrays_are_refused(written, array, message):
    """Wrong shape, no real numbers, or numbers that mean nothing."""
    with pytest.raises(InstanceFileError, match=message):
        read_knapsacks(written(saved(array)), capacity=1.0)


def test_damaged_arrays_are_refused(written):
    """Truncated anywhere, or made of objects, which would be a pickle."""
    content = saved(np.ones((2, 3, 2)))
    for length in range(6, len(content)):
        with pytest.raises(InstanceFileError, match=r"expected an array in NumPy's \.npy format"):
            read_knapsacks(written(content[:length]), capacity=1.0)
    with pytest.raises(InstanceFileError, match="expected an array"):
        read_knapsacks(written(saved(np.array([None]))), capacity=1.0)


def test_the_capacity_is_stated_once(written, tmp_path):
    """Missing, negative or not finite for an array; contradicted for a text."""
    array = written(saved(np.ones((1, 1, 2))))
    with pytest.raises(InstanceFileError, match=r"expected a capacity, .*--option capacity=25"):
        read_knapsacks(array)
    for capacity in (-1.0, np.inf, np.nan):
        with pytest.raises(InstanceFileError, match="expected a capacity that is a number of at least 0"):
            read_knapsacks(array, capacity=capacity)
    text = written(PAIRS)
    assert read_knapsacks(text, capacity=10)[0].capacity == 10
    with pytest.raises(InstanceFileError, match="states the capacity 10, the option says 11"):
        read_knapsacks(text, capacity=11)


def test_a_file_that_is_not_there_is_named(tmp_path):
    """The message is for the user."""
    with pytest.raises(InstanceFileError, match="missing: expected a file, got none"):
        read_knapsacks(tmp_path / "missing")


@given(st.binary(max_size=40))
def test_any_bytes_are_read_or_refused(tmp_path_factory, content):
    """No file raises anything else."""
    path = tmp_path_factory.getbasetemp() / "any-bytes"
    path.write_bytes(content)
    try:
        assert all(len(each.weights) == len(each.values) for each in read_knapsacks(path, capacity=1.0))
    except InstanceFileError as error:
        assert str(path) in str(error)  # noqa: PT017 - that it may also succeed is the point


NUMBERS = st.floats(0, 1e9) | st.integers(0, 10**9).map(float)


@given(st.lists(st.tuples(NUMBERS, NUMBERS), max_size=6), NUMBERS)
def test_what_is_written_is_read(tmp_path_factory, items, capacity):
    """Numbers written with all their digits come back bit for bit, in both text forms."""
    path = tmp_path_factory.getbasetemp() / "round-trip"
    pairs = "".join(f"{value!r} {weight!r}\n" for value, weight in items)
    numbered = "".join(f"{i} {value!r} {weight!r}\n" for i, (value, weight) in enumerate(items))
    for text in (f"{len(items)} {capacity!r}\n{pairs}", f"{len(items)}\n{numbered}{capacity!r}\n"):
        path.write_text(text)
        (found,) = read_knapsacks(path)
        assert found.capacity == capacity
        assert list(zip(found.values.tolist(), found.weights.tolist(), strict=True)) == items


def test_real_files_are_read_whole(shared_data):
    """Every public file has as many items as its name or head says, and Pisinger's state the published optimum."""
    with (shared_data / "optima.csv").open() as file:
        optima = {row["file"]: float(row["value"]) for row in csv.DictReader(file) if row["kind"] == "kp"}
    assert len(optima) == 13
    for name, optimum in optima.items():
        (found,) = read_knapsacks(shared_data / name)
        assert len(found.weights) == int((shared_data / name).read_text().split()[0])
        assert found.best == (optimum if "pisinger" in name else None)


@pytest.mark.parametrize(
    ("name", "shape"),
    [("train100", (64, 100)), ("test50", (1000, 50)), ("test100", (1000, 100)), ("test200", (1000, 200))],
)
def test_published_arrays_are_read_whole(name, shape, shared_data):
    """Agentic-ESOpt's arrays, weights first."""
    path = shared_data / "agentic_esopt_kp" / f"{name}_dataset.npy"
    found = read_knapsacks(path, capacity=25)
    assert (len(found), len(found[0].weights)) == shape
    assert np.array_equal(found[-1].values, np.load(path)[-1, :, 1])

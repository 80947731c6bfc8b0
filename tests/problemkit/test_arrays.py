"""Point sets in .npy files."""

import io
import pickle
from contextlib import suppress

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from coevo.errors import InstanceFileError
from coevo.problemkit.arrays import load_numbers, read_points

POINTS = np.arange(6.0).reshape(3, 2)


@pytest.fixture
def save(tmp_path):
    """Saves an array, or bytes as they are, and returns the path."""

    def to_file(array):
        file = tmp_path / "points.npy"
        if isinstance(array, bytes):
            file.write_bytes(array)
        else:
            np.save(file, array)
        return file

    return to_file


@pytest.mark.parametrize(
    "array", [POINTS, POINTS.astype(np.int32), POINTS.astype(np.float32), np.asfortranarray(POINTS)]
)
def test_one_instance(save, array):
    """Shape (n, 2), whatever real numbers they are; the result is float64 and read-only."""
    (points,) = read_points(save(array))
    assert np.array_equal(points, POINTS)
    assert points.dtype == np.float64
    assert not points.flags.writeable


def test_several_instances(save):
    """Shape (instances, n, 2), in order."""
    array = np.random.default_rng(0).random((4, 3, 2))
    assert np.array_equal(np.stack(read_points(save(array))), array)


@pytest.mark.parametrize(
    ("array", "message"),
    [
        (np.zeros(3), r"expected points of shape \(n, 2\) or \(instances, n, 2\), none empty, got shape \(3,\)"),
        (np.zeros((3, 3)), r"got shape \(3, 3\)"),
        (np.zeros((0, 2)), r"got shape \(0, 2\)"),
        (np.zeros((2, 0, 2)), r"got shape \(2, 0, 2\)"),
        (np.zeros((1, 1, 3, 2)), r"got shape \(1, 1, 3, 2\)"),
        (np.float64(7), r"got shape \(\)"),
        (np.zeros((3, 2), dtype=complex), "expected an array of real numbers, got complex128"),
        (np.zeros((3, 2), dtype=bool), "expected an array of real numbers, got bool"),
        (np.full((3, 2), "a"), "expected an array of real numbers, got <U1"),
        (np.array([[0, 1], [np.nan, 0]]), r"expected finite numbers up to 1e\+12 in size, got nan at \[1, 0\]"),
        (np.array([[0, 1], [0, -np.inf]]), r"got -inf at \[1, 1\]"),
        (np.array([[0, 1e13]]), r"got 1e\+13 at \[0, 1\]"),
        (np.zeros((10_001, 2)), "expected at most 10,000 points in an instance, got 10,001"),
        (np.zeros((201, 1000, 2)), "expected at most 200,000,000 distances in all instances together, got 201,000,000"),
        (b"", "expected an array in NumPy's .npy format, got: "),
        (b"1 2\n3 4\n", "expected an array in NumPy's .npy format, got: "),
        (pickle.dumps([1, 2]), "expected an array in NumPy's .npy format, got: "),
        (np.array([[1, "a"]], dtype=object), "Object arrays cannot be loaded when allow_pickle=False"),
    ],
)
def test_other_arrays_are_refused(save, array, message):
    """The message says what came; pickled objects are not loaded."""
    if isinstance(array, np.ndarray) and array.dtype.kind == "O":
        file = io.BytesIO()
        np.save(file, array, allow_pickle=True)
        array = file.getvalue()
    with pytest.raises(InstanceFileError, match=message):
        read_points(save(array))


def test_what_is_no_file_is_told(tmp_path):
    """A missing file and a folder."""
    for path, got in ((tmp_path / "none.npy", "none"), (tmp_path, "a folder")):
        with pytest.raises(InstanceFileError, match=f"expected a file, got {got}"):
            read_points(path)


@given(st.data())
@settings(max_examples=200, suppress_health_check=[HealthCheck.function_scoped_fixture])
@pytest.mark.filterwarnings("ignore:Reading `.npy`:UserWarning")
def test_a_damaged_file_is_read_or_refused(save, data):
    """Cut off anywhere, and with some bytes replaced, nothing but InstanceFileError is raised."""
    file = io.BytesIO()
    np.save(file, POINTS)
    content = bytearray(file.getvalue())
    del content[data.draw(st.integers(0, len(content))) :]
    place = data.draw(st.integers(0, len(content)))
    content[place : place + data.draw(st.integers(0, 5))] = data.draw(st.binary(max_size=4))
    numbers = np.zeros(0)
    with suppress(InstanceFileError):
        numbers = load_numbers(save(bytes(content)))
    assert np.isfinite(numbers).all()

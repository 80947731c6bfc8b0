import struct

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays

from coevo.sandbox.results import (
    DONE,
    Claim,
    Failure,
    FailureKind,
    GarbledError,
    decode,
    encode_failure,
    encode_solution,
)

SOLUTIONS = st.one_of(
    arrays.arrays(dtype, arrays.array_shapes(min_dims=0, max_dims=4, min_side=0, max_side=3))
    for dtype in ("?", "i1", "u2", "<i8", ">i4", "<f4", "<f8")
)


@given(st.lists(SOLUTIONS, max_size=4))
def test_solutions_survive_the_trip(solutions: list[np.ndarray]) -> None:
    """What is encoded is decoded: same values, shape and kind, in order, and read-only."""
    claim = decode(b"".join(map(encode_solution, solutions)) + DONE, max_solutions=4)
    assert claim.is_complete
    assert claim.failure is None
    assert len(claim.solutions) == len(solutions)
    for before, after in zip(solutions, claim.solutions, strict=True):
        np.testing.assert_array_equal(after, before)
        assert (after.shape, after.dtype.kind) == (before.shape, before.dtype.kind)


@given(
    st.sampled_from(["invalid", "infeasible", "crash", "memory"]),
    st.text(max_size=40),
    st.text(max_size=40),
    st.one_of(st.none(), st.integers(0, 10**6)),
)
def test_failures_survive_the_trip(kind: FailureKind, error: str, message: str, line: int | None) -> None:
    """Kind, type, message and line arrive, after any solutions that came before."""
    failure = Failure(kind, error, message, line)
    claim = decode(encode_solution([1, 2]) + encode_failure(failure), max_solutions=1)
    assert claim.failure == failure
    assert len(claim.solutions) == 1
    assert not claim.is_complete


@given(st.binary(max_size=300))
def test_any_bytes_are_a_claim_or_garbled(data: bytes) -> None:
    """No input makes the decoder raise anything but its own error."""
    try:
        claim = decode(data, max_solutions=3)
    except GarbledError:
        return
    assert isinstance(claim, Claim)
    assert len(claim.solutions) <= 3


@given(st.lists(SOLUTIONS, min_size=1, max_size=3), st.data())
def test_a_cut_stream_is_never_complete(solutions: list[np.ndarray], data: st.DataObject) -> None:
    """Whatever is missing at the end of a good stream, it is not taken as whole."""
    stream = b"".join(map(encode_solution, solutions)) + DONE
    cut = stream[: data.draw(st.integers(0, len(stream) - 1))]
    try:
        assert not decode(cut, max_solutions=3).is_complete
    except GarbledError:
        return


@pytest.mark.parametrize(
    ("data", "match"),
    [
        (DONE + b"x", "1 bytes after the end"),
        (b"X", "unknown record"),
        (b"S" + struct.pack("<BB", 99, 1), "dtype 99"),
        (b"S" + struct.pack("<BB", 4, 9), "9 dimensions"),
        (b"S" + struct.pack("<BBQ", 4, 1, 2**62), "too large"),
        (b"S" + struct.pack("<BBQQ", 4, 2, 0, 2**63), "too large"),
        (b"S" + struct.pack("<BBQ", 4, 1, 5), "40 bytes announced, 0 there"),
        (b"F" + struct.pack("<Bi", 9, 0), "failure of kind 9"),
        (b"F" + struct.pack("<BiH", 0, 0, 60000), "text of 60000 bytes"),
    ],
)
def test_each_malformation_is_named(data: bytes, match: str) -> None:
    """A stream that breaks a rule is refused with that rule."""
    with pytest.raises(GarbledError, match=match):
        decode(data, max_solutions=1)


def test_a_boolean_byte_becomes_true_or_false() -> None:
    """Bytes other than 0 and 1, which numpy's bool does not define, are read as true."""
    data = b"S" + struct.pack("<BBQ", 0, 1, 3) + b"\x00\x01\xff" + DONE
    assert decode(data, max_solutions=1).solutions[0].tolist() == [False, True, True]


@pytest.mark.parametrize("solution", [None, "text", [object()], 1j, np.zeros((1,) * 5), np.zeros(2, "datetime64[s]")])
def test_what_is_not_a_solution_is_not_encoded(solution: object) -> None:
    """Objects, text, complex numbers, dates and five dimensions are refused."""
    with pytest.raises(ValueError, match="a solution"):
        encode_solution(solution)

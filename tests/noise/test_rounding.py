import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from coevo import noise
from coevo.noise import oracle

CORNERS = [
    0x00000000, 0x80000000, 0x00000001, 0x80000001, 0x00008000, 0x00018000, 0x3F808000, 0x3F818000, 0x3F808001,
    0x3F817FFF, 0x3FFFFFFF, 0x7F7F7FFF, 0x7F7F8000, 0xFF7FFFFF, 0x7F800000, 0xFF800000, 0x33000000, 0x33000001,
    0x477FEFFF, 0x477FF000, 0xC77FF000, 0x387FE000, 0x387FF000,
]  # fmt: skip
"""Zeros, subnormal numbers, ties of bfloat16 and of float16, the largest numbers and infinities of either sign."""
NANS = [0x7F800001, 0x7FC00000, 0x7FFFFFFF, 0xFF800001, 0xFFFFFFFF]


def numbers(bits):
    """Fp32 numbers of these bits, as one row."""
    return np.array([bits], np.uint32).view(np.float32)


def rounded(base, dtype, gap=0):
    """A rounded copy, in memory with unused elements between the rows that must stay as they are."""
    room = np.full((base.shape[0], base.shape[1] + gap), 77, dtype)
    noise.copy_rounded(base, room[:, : base.shape[1]])
    assert (room[:, base.shape[1] :] == 77).all()
    return room[:, : base.shape[1]]


@pytest.mark.parametrize("dtype", [np.uint16, np.float16, np.float32])
def test_corners_are_rounded_as_defined(dtype):
    """Signed zeros, subnormals, ties, the largest numbers and infinities become what the oracle says."""
    assert rounded(numbers(CORNERS), dtype).tobytes() == oracle.round_to(numbers(CORNERS), dtype).tobytes()


@pytest.mark.parametrize("dtype", [np.uint16, np.float16])
def test_a_nan_stays_a_nan(dtype):
    """No NaN becomes infinite by losing its payload, or a number by carrying into the sign."""
    found = rounded(numbers(NANS), dtype)
    assert np.isnan(oracle.to_fp32(found)).all()


@pytest.mark.parametrize("name", ["bfloat16", "float16"])
@given(bits=st.lists(st.one_of(st.integers(0, 2**32 - 1), st.sampled_from(CORNERS)), min_size=1, max_size=50))
def test_rounding_is_that_of_torch(name, bits):
    """P28: what is served is what torch makes of the same fp32 numbers, bit for bit but for the payload of a NaN."""
    torch = pytest.importorskip("torch")
    values = numbers(bits)
    expected = torch.from_numpy(values.copy()).to(getattr(torch, name)).view(torch.uint16).numpy()
    found = rounded(values, np.uint16 if name == "bfloat16" else np.float16).view(np.uint16)
    is_number = ~np.isnan(values)
    assert (found[is_number] == expected[is_number]).all()


@pytest.mark.parametrize(
    ("base_type", "out_type"), [(np.float32, np.uint16), (np.float32, np.float16), (np.uint16,) * 2]
)
@given(data=st.data())
def test_no_layout_changes_a_bit(blocks, weights, base_type, out_type, data):
    """Any shape, with or without gaps between the rows of either array, gives the numbers one by one."""
    base = weights(data.draw(blocks), base_type, gap=data.draw(st.sampled_from([0, 3])))
    before = base.copy()
    expected = base if base_type == out_type else oracle.round_to(base, out_type)
    assert rounded(base, out_type, data.draw(st.sampled_from([0, 5]))).tobytes() == expected.tobytes()
    assert base.tobytes() == before.tobytes()


def test_equal_types_keep_the_payload_of_a_nan():
    """A copy in the same type is a copy of the bits."""
    assert rounded(numbers(NANS + CORNERS), np.float32).view(np.uint32).tolist() == [NANS + CORNERS]


@pytest.mark.parametrize(
    ("base", "out", "text"),
    [
        (np.zeros((2, 4), np.float16), np.zeros((2, 4), np.uint16), "float32 or, like out, uint16, got float16"),
        (
            np.zeros((2, 4), np.float32),
            np.zeros((2, 4)),
            "out must be float32, uint16 .* got float64",
        ),
        (np.zeros((1, 4), np.float32), np.zeros((2, 4), np.float32), r"one shape, got \(1, 4\) and \(2, 4\)"),
        (np.zeros(4, np.float32), np.zeros(4, np.uint16), r"two matrices of one shape, got \(4,\) and \(4,\)"),
        (np.zeros((2, 8), np.float32)[:, ::2], np.zeros((2, 4), np.uint16), "base must have contiguous rows"),
    ],
)
def test_other_arrays_are_refused(base, out, text):
    """Types, shapes and strides that would broadcast, reinterpret or corrupt are told."""
    with pytest.raises(ValueError, match=text):
        noise.copy_rounded(base, out)
    assert not out.any()

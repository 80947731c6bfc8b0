import os
import time
from collections.abc import Iterator

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays

from coevo.interfaces import Instance
from coevo.sandbox.wire import (
    Channel,
    ChannelClosedError,
    DeadlineError,
    OwnerGoneError,
    pack_instances,
    unpack_instances,
)

ARRAYS = st.one_of(
    arrays.arrays(dtype, arrays.array_shapes(min_dims=0, max_dims=3, min_side=0, max_side=4))
    for dtype in (np.float64, np.int32, np.bool_, np.dtype(">i2"))
)
NUMBERS = st.one_of(st.integers(), st.floats(allow_nan=False))
INSTANCES = st.builds(
    Instance,
    st.text(),
    st.integers(0, 2**64 - 1),
    st.dictionaries(st.text(max_size=5), st.one_of(ARRAYS, NUMBERS), max_size=4),
)


@pytest.fixture
def pipe() -> Iterator[tuple[int, int]]:
    """Read and write end of a pipe."""
    ends = os.pipe()
    yield ends
    for end in ends:
        try:
            os.close(end)
        except OSError:
            continue


@given(st.lists(INSTANCES, max_size=4))
def test_instances_survive_the_trip(instances: list[Instance]) -> None:
    """Names, seeds, numbers and arrays arrive as they left, dtype and shape included, and arrays are writable."""
    header, parts = pack_instances(instances)
    arrived = unpack_instances(header, bytearray(b"".join(parts)))
    assert [(i.name, i.seed) for i in arrived] == [(i.name, i.seed) for i in instances]
    for before, after in zip(instances, arrived, strict=True):
        assert before.data.keys() == after.data.keys()
        for key, value in before.data.items():
            np.testing.assert_array_equal(after.data[key], value)
            if isinstance(value, np.ndarray):
                assert after.data[key].dtype == value.dtype
                assert after.data[key].flags.writeable


def test_a_strided_array_is_sent_in_its_logical_order() -> None:
    """A transposed view arrives with the same elements."""
    view = np.arange(6).reshape(2, 3).T
    header, parts = pack_instances([Instance("a", 0, {"x": view})])
    assert unpack_instances(header, bytearray(b"".join(parts)))[0].data["x"].tolist() == view.tolist()


@pytest.mark.parametrize("value", [np.array([object()]), "text", [1, 2], None])
def test_only_numbers_are_sent(value: object) -> None:
    """Instance data of another kind is refused, naming the instance and the key."""
    with pytest.raises(ValueError, match=r"as odd\.thing"):
        pack_instances([Instance("odd", 0, {"thing": value})])


def test_a_frame_survives_the_trip(pipe: tuple[int, int]) -> None:
    """Header and payload parts arrive, the parts joined."""
    channel = Channel(*pipe)
    channel.send({"a": [1, 2.5, "ü"]}, b"xy", b"", memoryview(b"z"))
    assert channel.receive() == ({"a": [1, 2.5, "ü"]}, bytearray(b"xyz"))


def test_announced_sizes_are_refused_before_they_are_read(pipe: tuple[int, int]) -> None:
    """A frame larger than allowed is an error, whichever of its two parts is."""
    for limits in ({"max_payload": 2}, {"max_header": 1}):
        channel = Channel(*pipe)
        channel.send({}, b"xyz")
        with pytest.raises(ChannelClosedError, match="exceeds"):
            channel.receive(**limits)
        os.read(pipe[0], 1000)


@pytest.mark.parametrize("text", [b"", b"[1]", b"{", b"[" * 5000, b"\xff\xfe"])
def test_a_header_that_is_no_json_object_is_refused(text: bytes, pipe: tuple[int, int]) -> None:
    """Whatever a peer sends as a header, the outcome is an object or `ChannelClosedError`."""
    os.write(pipe[1], len(text).to_bytes(4, "little") + bytes(8) + text)
    with pytest.raises(ChannelClosedError):
        Channel(*pipe).receive()


def test_a_wait_ends_with_the_peer_the_owner_or_the_deadline(pipe: tuple[int, int]) -> None:
    """The three ways in which no answer comes are told apart."""
    owner_read, owner_write = os.pipe()
    with pytest.raises(DeadlineError):
        Channel(*pipe, deadline=time.monotonic() - 1).receive()
    os.close(owner_write)
    with pytest.raises(OwnerGoneError):
        Channel(*pipe, watch_fd=owner_read).receive()
    os.close(owner_read)
    os.close(pipe[1])
    with pytest.raises(ChannelClosedError, match="closed the pipe"):
        Channel(*pipe).receive()

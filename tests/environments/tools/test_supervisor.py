"""The bounded record of what was printed."""

from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st

from coevo.environments.tools.supervisor import Printed


@given(st.binary(max_size=200), st.lists(st.integers(0, 200), max_size=6), st.integers(1, 40))
def test_a_record_is_both_ends_of_the_text(data: bytes, cuts: list[int], limit: int) -> None:
    """However the bytes come in, it holds the first and last characters of the whole text, and its length."""
    bounds = [0, *sorted(min(cut, len(data)) for cut in cuts), len(data)]
    printed = Printed(limit)
    for start, end in pairwise(bounds):
        printed.add(data[start:end])
    printed.add(b"", is_last=True)
    text = data.decode(errors="replace").replace("\0", "\ufffd")
    assert (printed.head, printed.tail) == (text[:limit], text[-limit:])
    assert (printed.characters, printed.bytes) == (len(text), len(data))

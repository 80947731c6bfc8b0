"""Text that comes in can be written down."""

import json

from hypothesis import given
from hypothesis import strategies as st

from coevo.environments.texts import encodable, encodable_json

ANY = st.text(st.characters(), max_size=50)
"""Lone surrogates included, which `st.text()` alone leaves out."""
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | ANY,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(ANY, inner, max_size=3),
    max_leaves=8,
)


@given(ANY)
def test_every_text_can_be_encoded_and_keeps_its_characters(text: str) -> None:
    """What could be encoded before stays as it is, and of the rest each half of a pair becomes one sign."""
    told = encodable(text)
    assert told.encode().decode() == told
    assert [a for a, b in zip(text, told, strict=True) if a != b] == [c for c in text if "\ud800" <= c <= "\udfff"]


@given(VALUES)
def test_every_json_value_can_be_encoded(value: object) -> None:
    """At any depth, and among the names of objects; a value that could be is the same."""
    told = json.dumps(encodable_json(value), ensure_ascii=False)
    assert json.loads(told.encode()) == encodable_json(value)
    if json.dumps(value, ensure_ascii=False).isascii():
        assert encodable_json(value) == value

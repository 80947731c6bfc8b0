"""Tables of a configuration are merged key by key."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from coevo.errors import ConfigError
from coevo.es.settings import ESSettings
from coevo.learning.layers import layered

tables = st.dictionaries(st.sampled_from("abcd"), st.integers())


@given(st.lists(tables))
def test_the_last_layer_that_has_a_key_decides(found):
    """Whatever lower layers say; a layer without the table says nothing."""
    merged = layered("t", [{"t": table} for table in found] + [{}])
    assert merged == {key: next(t[key] for t in reversed(found) if key in t) for table in found for key in table}


def test_a_resolved_table_counts_as_its_fields():
    """A layer may hold what another configuration has made of it."""
    assert layered("t", [{"t": ESSettings()}, {"t": {"sigma": 0.5}}]) == ESSettings(sigma=0.5).model_dump()


@pytest.mark.parametrize("value", [1, "sigma", None, [("sigma", 1)]])
def test_what_is_no_table_is_refused(value):
    """In one line that names it."""
    with pytest.raises(ConfigError, match="expected a table for t, got"):
        layered("t", [{"t": {}}, {"t": value}])

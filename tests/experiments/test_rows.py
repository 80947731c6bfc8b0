from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from coevo.errors import RunError
from coevo.experiments.rows import Row, differences, read_rows, to_csv

REALS = st.none() | st.floats(allow_nan=False, allow_infinity=False)
TEXTS = st.text(st.characters(blacklist_categories=("Cs", "Cc")), max_size=20)
SPLITS = st.fixed_dictionaries({"search": REALS, "test 5": REALS})
ROWS = st.builds(
    Row, st.just("tsp"), st.integers(1, 9), st.sampled_from(["a", "b@c"]), st.integers(0, 9),
    st.sampled_from(["done", "failed", "unfinished", "missing"]), TEXTS, wall_s=REALS,
    tokens=st.none() | st.integers(0), objectives=SPLITS, gaps=SPLITS,
)  # fmt: skip


@given(st.lists(ROWS, min_size=1, max_size=4))
def test_rows_come_back_to_the_last_bit(tmp_path_factory, rows):
    """What is written and read is the same, whatever quotes, commas and digits are in it."""
    file = tmp_path_factory.mktemp("rows") / "cells.csv"
    file.write_text(to_csv(rows), encoding="utf-8", newline="")
    assert read_rows(file) == rows


def test_differences_name_cell_field_and_both_values():
    """Every edited number is one line; a row that was not computed anew is passed over."""
    row = Row("tsp", 10, "es", 0, "done", operator=10, objectives={"test": 1.5}, gaps={"test": None})
    anew = replace(row, operator=11, objectives={"test": 1.25})
    assert differences([row], {row.key: anew}) == [
        "tsp/10/es/s0: operator is 10, the run says 11",
        "tsp/10/es/s0: objective on test is 1.5, the run says 1.25",
    ]
    assert differences([row], {}) == []


@pytest.mark.parametrize(
    ("old", "new"), [("done", "fine"), (",10,es", ",ten,es"), ("problem,", "problems,"), ("1.5", "one")]
)
def test_a_broken_file_is_refused_by_line(tmp_path, old, new):
    """The message names file and line."""
    file = tmp_path / "cells.csv"
    text = to_csv([Row("tsp", 10, "es", 0, "done", objectives={"test": 1.5}, gaps={"test": 0.5})])
    file.write_text(text.replace(old, new))
    with pytest.raises(RunError, match=r"cells.csv, line 2: expected a cell of a grid"):
        read_rows(file)


def test_a_missing_file_is_refused(tmp_path):
    """With what to do."""
    with pytest.raises(RunError, match="run coevo bench first"):
        read_rows(tmp_path / "cells.csv")

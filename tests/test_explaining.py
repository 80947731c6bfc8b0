"""Tests of the words for what does not fit a model."""

from typing import Annotated, Any, Literal

import pytest
from pydantic import BaseModel, ConfigDict, Field, ValidationError, create_model, model_validator

from coevo.errors import ConfigError
from coevo.explaining import explain
from coevo.searching.config import make_config


class Inner(BaseModel):
    """A table in a table."""

    model_config = ConfigDict(extra="forbid")
    sigma: float = 1.0


class Outer(BaseModel):
    """What the tests validate."""

    model_config = ConfigDict(extra="forbid")
    seeds: int = 0
    inner: Inner = Inner()
    maybe: Inner | None = None
    listed: tuple[Inner, ...] = ()

    @model_validator(mode="after")
    def _small(self) -> "Outer":
        if self.seeds > 100:
            raise ValueError("expected few seeds")
        return self


def said(model: type[BaseModel], values: Any) -> str:
    """The words for values that do not fit."""
    with pytest.raises(ValidationError) as caught:
        model.model_validate(values)
    return explain(caught.value, model)


@pytest.mark.parametrize(
    ("kind", "value", "words"),
    [
        (int, "x", "expected a whole number (got 'x')"),
        (int, 1.5, "expected a whole number (got 1.5)"),
        (int, None, "expected a whole number (got None)"),
        (float, "x", "expected a number (got 'x')"),
        (float, [], "expected a number (got [])"),
        (Annotated[float, Field(allow_inf_nan=False)], float("inf"), "expected a finite number (got inf)"),
        (str, 3, "expected text (got 3)"),
        (bool, "perhaps", "expected true or false (got 'perhaps')"),
        (bool, [], "expected true or false (got [])"),
        (tuple[int, ...], 3, "expected a list (got 3)"),
        (list[int], 3, "expected a list (got 3)"),
        (dict[str, int], 3, "expected a table (got 3)"),
        (Inner, 3, "expected a table (got 3)"),
        (Literal["a", "b"], "c", "expected 'a' or 'b' (got 'c')"),
        (Annotated[int, Field(gt=1)], 1, "expected more than 1 (got 1)"),
        (Annotated[int, Field(ge=1)], 0, "expected at least 1 (got 0)"),
        (Annotated[int, Field(lt=1)], 1, "expected less than 1 (got 1)"),
        (Annotated[int, Field(le=1)], 2, "expected at most 1 (got 2)"),
        (Annotated[tuple[int, ...], Field(min_length=1)], [], "expected at least 1 of them (got [])"),
        (Annotated[list[int], Field(max_length=1)], [1, 2], "expected at most 1 of them (got [1, 2])"),
        (Annotated[str, Field(min_length=2)], "a", "expected text of length 2 or more (got 'a')"),
        (Annotated[str, Field(max_length=1)], "ab", "expected text of length 1 or less (got 'ab')"),
        (Annotated[str, Field(pattern="^a$")], "b", "expected text of the form ^a$ (got 'b')"),
    ],
)
def test_what_was_expected_is_said_in_the_words_of_all_messages(kind, value, words):
    """Every type of error that a file or a flag can cause has words, with its bound and what came."""
    assert said(create_model("Model", field=(kind, ...)), {"field": value}) == f"field: {words}"


@pytest.mark.parametrize(
    ("values", "words"),
    [
        ({"seed": 1}, "seed: there is no such field, was seeds meant? (got 1)"),
        ({"zzz": 1}, "zzz: there is no such field (got 1)"),
        ({"inner": {"sgima": 1}}, "inner.sgima: there is no such field, was sigma meant? (got 1)"),
        ({"maybe": {"sgima": 1}}, "maybe.sgima: there is no such field, was sigma meant? (got 1)"),
        ({"sigma": 1}, "sigma: there is no such field, it belongs in the table inner or maybe or listed (got 1)"),
        ({"listed": [{"sgima": 1}]}, "listed.0.sgima: there is no such field, was sigma meant? (got 1)"),
    ],
)
def test_a_stranger_is_told_the_field_that_it_is_like(values, words):
    """A misspelt field names the one that was meant, in tables too; where nothing is known, nothing is guessed."""
    assert said(Outer, values) == words


def test_without_a_model_nothing_is_guessed():
    """The model is what knows the fields."""
    with pytest.raises(ValidationError) as caught:
        Outer.model_validate({"seed": 1})
    assert explain(caught.value) == "seed: there is no such field (got 1)"


def test_each_fault_is_named_on_one_line():
    """All faults of a file are said at once."""
    assert said(Outer, {"seeds": "x", "inner": 3}) == (
        "seeds: expected a whole number (got 'x'); inner: expected a table (got 3)"
    )


def test_a_rule_over_all_fields_shows_none_of_them():
    """What was given may hold what must not be shown."""
    assert said(Outer, {"seeds": 101}) == "expected few seeds"


def test_a_missing_field_shows_no_value():
    """There is none to show."""
    assert said(create_model("Model", field=(int, ...)), {}) == "field: expected a value, found none"


@pytest.mark.parametrize(
    ("name", "hint"),
    [
        ("scope", ", it belongs in the table weights"),
        ("max_spent_tokens", ", it belongs in the table allowance"),
        ("sigma", ", it belongs in the table evolution_strategy"),
        ("batches", ", was batch meant?"),
        ("turns", ""),
    ],
)
def test_a_flag_written_outside_its_table_is_sent_there(name, hint):
    """In a file the names of flags stand in tables; a field of another meaning is never suggested for one."""
    with pytest.raises(ConfigError) as caught:
        make_config({"budget": 10, name: "x"})
    assert str(caught.value) == f"{name}: there is no such field{hint} (got 'x')"


def test_entries_that_do_not_fit_do_not_make_a_list_too_short():
    """Pydantic counts the valid ones alone; the others are named, and that is all there is to say."""
    model = create_model("Model", field=(Annotated[tuple[int, ...], Field(min_length=1)], ...))
    assert said(model, {"field": ["x"]}) == "field.0: expected a whole number (got 'x')"


def test_a_number_too_long_to_be_written_out_is_no_traceback():
    """Python refuses to write integers of thousands of digits."""
    assert "too long, to show" in said(create_model("Model", field=(str, ...)), {"field": 10**5000})

"""Words for what does not fit a pydantic model: each field, what was expected of it and what came, on one line."""

from collections.abc import Mapping
from difflib import get_close_matches
from typing import Any, get_args

from pydantic import BaseModel, ValidationError

_EXPECTED = {
    "missing": "expected a value, found none",
    "int_type": "expected a whole number",
    "int_parsing": "expected a whole number",
    "int_from_float": "expected a whole number",
    "float_type": "expected a number",
    "float_parsing": "expected a number",
    "finite_number": "expected a finite number",
    "string_type": "expected text",
    "bool_type": "expected true or false",
    "bool_parsing": "expected true or false",
    "list_type": "expected a list",
    "tuple_type": "expected a list",
    "dict_type": "expected a table",
    "model_type": "expected a table",
    "literal_error": "expected {expected}",
    "greater_than": "expected more than {gt}",
    "greater_than_equal": "expected at least {ge}",
    "less_than": "expected less than {lt}",
    "less_than_equal": "expected at most {le}",
    "too_short": "expected at least {min_length} of them",
    "too_long": "expected at most {max_length} of them",
    "string_too_short": "expected text of length {min_length} or more",
    "string_too_long": "expected text of length {max_length} or less",
    "string_pattern_mismatch": "expected text of the form {pattern}",
}
"""By pydantic's type of error; other types keep pydantic's message."""

_ALIKE = 0.75
"""Least similarity (of 1, by difflib) of a field that a stranger is taken for: a typo has it, another word has not."""


def explain(error: ValidationError, model: type[BaseModel] | None = None) -> str:
    """A pydantic error on one line: each field, what was expected and what came.

    Args:
        error: What pydantic found.
        model: What was validated; for a field that it does not have, the most similar one that it has is named.
    """
    parts = []
    faults = error.errors()
    for item in faults:
        if item["type"] == "too_short" and any(_is_inside(other["loc"], item["loc"]) for other in faults):
            continue  # pydantic counts what is valid, and the entries that are not are named one by one
        said = _said(item, model)
        where = ".".join(str(part) for part in item["loc"]) or "the file"
        is_rule = item["type"] == "value_error" and isinstance(item["input"], dict)
        parts.append(said if is_rule and not item["loc"] else f"{where}: {said}")
        # A rule over several fields is given all of them, which says nothing and may hold what must not be shown.
        if not (is_rule or item["type"] == "missing" or (item["type"] == "value_error" and ", got " in said)):
            parts[-1] += f" (got {_shown(item['input'])})"
    return "; ".join(parts)


def _said(item: Mapping[str, Any], model: type[BaseModel] | None) -> str:
    if item["type"] == "extra_forbidden":
        return f"there is no such field{_similar(item['loc'], model)}"
    if (words := _EXPECTED.get(item["type"])) is not None:
        return words.format(**item.get("ctx", {}))
    return str(item["msg"].removeprefix("Value error, "))


def _is_inside(place: tuple[int | str, ...], outer: tuple[int | str, ...]) -> bool:
    return len(place) > len(outer) and place[: len(outer)] == outer


def _similar(place: tuple[int | str, ...], model: type[BaseModel] | None) -> str:
    """The table that a stranger belongs to, or the known field that it is most like; empty where there is neither."""
    *tables, name = place
    for table in tables:
        if isinstance(table, str):  # a number is a place in a list, whose entries are of one model
            model = _model_of(model, table)
    if model is None:
        return ""
    inner = {field: _model_of(model, field) for field in model.model_fields}
    owners = [field for field, table in inner.items() if table is not None and name in table.model_fields]
    if owners:
        return f", it belongs in the table {' or '.join(owners)}"
    close = get_close_matches(str(name), model.model_fields, 1, _ALIKE)
    return f", was {close[0]} meant?" if close else ""


def _model_of(model: type[BaseModel] | None, field: str) -> type[BaseModel] | None:
    """The model of a table, or of the entries of a list of tables; None where anything may stand."""
    info = None if model is None else model.model_fields.get(field)
    kinds = () if info is None else (info.annotation, *get_args(info.annotation))
    return next((kind for kind in kinds if isinstance(kind, type) and issubclass(kind, BaseModel)), None)


def _shown(value: object) -> str:
    """The beginning of a value as Python writes it, if that can be written: tables may hold tables without end."""
    try:
        return f"{value!r:.60}"
    except (RecursionError, ValueError):  # an integer of thousands of digits is not written out either
        return "a value that is nested too deeply, or too long, to show"

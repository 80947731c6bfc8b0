"""Every number a user can set, at its extremes: refused in one line, or a run that comes to its end."""

import math
import types
import typing
from functools import partial

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import BaseModel

from coevo.answer_bounds import LEAST_TEMPERATURE, MOST_TEMPERATURE
from coevo.errors import ConfigError
from coevo.experiments.probe_config import ProbeConfig, make_probe_config
from coevo.records.run_directory import RunDirectory
from coevo.searching.api import run_search
from coevo.searching.config import SearchConfig, make_config
from coevo.tuning.api import run_tuning
from coevo.tuning.config import TuneConfig, make_tune_config
from coevo.tuning.eval_config import EvalConfig, make_eval_config

KINDS = {
    "search": (SearchConfig, partial(make_config), {"budget": 12}),
    "tune": (TuneConfig, partial(make_tune_config), {"env": "sudoku"}),
    "eval-agent": (EvalConfig, partial(make_eval_config), {}),
    "probe": (ProbeConfig, partial(make_probe_config), {}),
}
COMPUTED = {("rank",)}
"""Fields that no user sets: another one decides them."""

EXTREMES = (-math.inf, -1e308, -1, 0, 5e-324, 1e-308, 1e-45, 1e-9, 1e9, 2**31, 2**63, 10**30, 1e308, math.inf, math.nan)


def types_of(annotation):
    """The plain types that an annotation allows."""
    origin = typing.get_origin(annotation)
    if origin is typing.Annotated:
        return types_of(typing.get_args(annotation)[0])
    if origin in (typing.Union, types.UnionType):
        return set().union(*map(types_of, typing.get_args(annotation)))
    return {annotation} if isinstance(annotation, type) else set()


def numeric_fields(model, path=()):
    """The path of every field that takes a number, in tables as well."""
    for name, field in model.model_fields.items():
        allowed = types_of(field.annotation)
        for table in allowed:
            if issubclass(table, BaseModel):
                yield from numeric_fields(table, (*path, name))
        if allowed & {int, float}:
            yield *path, name


FIELDS = [(kind, path) for kind, (model, *_) in KINDS.items() for path in numeric_fields(model) if path not in COMPUTED]


def with_value(values, path, value):
    """The values with one more, inside its table."""
    first, *rest = path
    return {**values, first: with_value(values.get(first, {}), rest, value) if rest else value}


def test_numeric_fields_are_found():
    """The properties below are about something: fields of every kind, some of them in tables."""
    assert {kind for kind, _ in FIELDS} == KINDS.keys()
    assert {
        ("search", ("temperature",)),
        ("tune", ("answers", "top_p")),
        ("probe", ("evolution_strategy", "sigma")),
    } <= {*FIELDS}


@given(st.sampled_from(FIELDS), st.sampled_from(EXTREMES) | st.floats() | st.integers())
def test_a_number_is_refused_in_one_line_or_kept(field, value):
    """A refusal is one line that names the field; what is accepted is finite, and kept as it was given."""
    kind, path = field
    _, make, base = KINDS[kind]
    try:
        kept = make(with_value(base, path, value))
    except ConfigError as error:
        said = str(error)
    else:
        said = ""
    if said:
        assert "\n" not in said
        assert path[-1].split("_")[0] in said.replace("caps", "max")
        return
    for name in path:
        kept = getattr(kept, name)
    assert kept == value
    assert math.isfinite(kept)


@given(st.floats())
def test_a_temperature_is_greedy_or_within_what_engines_serve(value):
    """0 is greedy; any other is from the floor to the ceiling, whatever takes it: the message states both."""
    for kind, path in FIELDS:
        if path[-1] != "temperature":
            continue
        _, make, base = KINDS[kind]
        if value == 0 or LEAST_TEMPERATURE <= value <= MOST_TEMPERATURE:
            make(with_value(base, path, value))
        elif value > 0 and math.isfinite(value):
            with pytest.raises(ConfigError, match=r"0 \(greedy\), or from 0.01 to 100"):
                make(with_value(base, path, value))


def accepted(kind, base, extremes):
    """The configuration with as many fields as possible at the first extreme that is accepted; and how many are."""
    model, make, _ = KINDS[kind]
    values, count = base, 0
    for path in numeric_fields(model):
        for value in extremes:
            try:
                make(with_value(values, path, value))
            except ConfigError:
                continue
            values, count = with_value(values, path, value), count + 1
            break
    return make(values), count


@pytest.mark.slow
@pytest.mark.parametrize("extremes", [EXTREMES, EXTREMES[::-1]], ids=["least", "most"])
def test_a_search_at_the_extremes_comes_to_an_end(extremes, tiny_problem, tiny_script, tmp_path):
    """With a script for an engine, and numbers at an accepted extreme where they have one; what was set reads back."""
    fixed = {"problem": str(tiny_problem), "engine": "scripted", "model": str(tiny_script), "workers": 1}
    config, count = accepted("search", {**fixed, "budget": 12, "compare": False}, extremes)
    assert count > 6
    result = run_search(config, runs_dir=tmp_path)
    assert result.status in ("done", "time", "target")
    (run,) = tmp_path.iterdir()
    assert make_config(RunDirectory.open(run).config()) == config


@pytest.mark.slow
@pytest.mark.parametrize("extremes", [EXTREMES, EXTREMES[::-1]], ids=["least", "most"])
def test_a_tuning_run_at_the_extremes_comes_to_an_end(extremes, tmp_path):
    """The same for an agent; the sizes of the run itself stay small."""
    script = tmp_path / "moves.json"
    script.write_text('[{"text": "set 1 2 3"}, {"text": "set 4 5 6"}]')
    fixed = {"env": "sudoku", "engine": "scripted", "model": str(script), "generations": 2, "tasks": 2, "workers": 1}
    fixed |= {"evolution_strategy": {"members": 2}, "val_tasks": 2}
    config, count = accepted("tune", fixed, [value for value in extremes if not 1 < value < 2**31])
    assert count > 12
    config = config.model_copy(update={"val_tasks": 2})
    result = run_tuning(config, runs_dir=tmp_path / "runs")
    assert result.status in ("done", "time", "target")
    (run,) = (tmp_path / "runs").iterdir()
    assert TuneConfig.model_validate(RunDirectory.open(run).config()) == config

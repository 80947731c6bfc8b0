"""What is said of a search before it begins."""

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from coevo.evolution.operators import evolving
from coevo.records.event_log import read_events
from coevo.searching.api import run_search
from coevo.searching.config import make_config
from coevo.searching.methods import operators_of
from coevo.searching.plan import plan
from coevo.searching.preview import idle_warnings, preview


@given(st.integers(1, 600), st.none() | st.integers(1, 12))
def test_a_skill_that_is_never_brought_up_to_date_is_warned_of(budget, every):
    """Exactly where no generation but the last is a multiple of the interval."""
    config = make_config({"budget": budget, "skill_every": every, "es": "off"})
    generations = len(plan(config, evolving(operators_of(config))).generations)
    updates = [number for number in range(1, generations) if every is not None and number % every == 0]
    assert bool(idle_warnings(config)) == (every is not None and not updates)


def test_one_generation_is_too_few_for_a_skill():
    """A small budget holds one; the sentence says what to change."""
    (said,) = idle_warnings(make_config({"budget": 70, "skill_every": 1, "es": "off"}))
    assert said.startswith("no update of the skill falls into this budget: it holds 1 generation,")
    assert "raise --budget" in said


@pytest.mark.parametrize(("budget", "sigma_end"), [(12, 1e-4), (24, 1e-4), (40, 1e-4), (40, 0.0)])
def test_the_steps_of_the_model_are_foretold(budget, sigma_end, tiny_problem, tiny_script, tmp_path):
    """As many as the run then takes; where none fits into the budget, what to change."""
    config = make_config(
        {
            "problem": str(tiny_problem), "engine": "scripted", "model": str(tiny_script), "budget": budget,
            "population": 4, "batch": 2, "compare": False, "workers": 1,
            "evolution_strategy": {"members": 4, "sigma": 1e-3, "sigma_end": sigma_end},
        }
    )  # fmt: skip
    is_idle = any("does not evolve" in sentence for sentence in idle_warnings(config))
    events = list(read_events(Path(run_search(config, runs_dir=tmp_path).run) / "events.jsonl"))
    steps = sum(event["kind"] == "step" for event in events)
    assert is_idle == (steps == 0)
    said = preview(config).plan
    assert (f"{steps} step" in said) == (steps > 0)
    assert ("the model does not evolve" in said and "lower --members" in said) == (steps == 0)
    assert "evolve" not in preview(config.model_copy(update={"es": "off"})).plan

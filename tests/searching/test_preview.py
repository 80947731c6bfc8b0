"""What is said of a search before it begins."""

from hypothesis import given
from hypothesis import strategies as st

from coevo.evolution.operators import evolving
from coevo.searching.config import make_config
from coevo.searching.methods import operators_of
from coevo.searching.plan import plan
from coevo.searching.preview import skill_warnings


@given(st.integers(1, 600), st.none() | st.integers(1, 12))
def test_a_skill_that_is_never_brought_up_to_date_is_warned_of(budget, every):
    """Exactly where no generation but the last is a multiple of the interval."""
    config = make_config({"budget": budget, "skill_every": every})
    generations = len(plan(config, evolving(operators_of(config))).generations)
    updates = [number for number in range(1, generations) if every is not None and number % every == 0]
    assert bool(skill_warnings(config)) == (every is not None and not updates)


def test_one_generation_is_too_few_for_a_skill():
    """A small budget holds one; the sentence says what to change."""
    (said,) = skill_warnings(make_config({"budget": 70, "skill_every": 1}))
    assert said.startswith("no update of the skill falls into this budget: it holds 1 generation,")
    assert "raise --budget" in said

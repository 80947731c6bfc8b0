"""What a running search shows: every meter, and what the guard does."""

import io

import pytest
from rich.console import Console

from coevo.cli.live import LiveScreen, Tally
from coevo.searching.config import make_config


def asked(operator, count, generation=1):
    """An `asked` event."""
    return {"kind": "asked", "operator": operator, "generation": generation, "requests": [{}] * count}


def guard(step, *, refused, scale):
    """A `guard` event."""
    return {"kind": "guard", "step": step, "valid": 0.25, "bound": 0.5, "refused": refused, "scale": scale}


@pytest.fixture
def shown():
    """Takes events under a configuration; gives the line, and the screen as text."""

    def show(*events, **settings):
        tally = Tally(make_config({"budget": 40, **settings}))
        for event in events:
            tally.take(event)
        console = Console(width=200, record=True, file=io.StringIO())
        console.print(LiveScreen(tally))
        return tally.line(), console.export_text()

    return show


@pytest.mark.parametrize(
    ("events", "budget", "skill"), [((), 0, 0), ((asked("m1", 5), asked("skill", 3), asked("skill", 1)), 5, 4)]
)
def test_the_skills_meter_stands_beside_the_budget(shown, events, budget, skill):
    """A run with a skill shows what it has cost, from 0 on, and never as part of the budget."""
    line, screen = shown(*events, skill_every=1)
    assert f"budget {budget}/40 · skill {skill} · " in line
    (row,) = [each for each in screen.splitlines() if each.startswith("budget")]
    assert f"{budget}/40" in row
    assert row.rstrip().endswith(f"skill {skill}")


def test_a_run_without_a_skill_has_no_such_meter(shown):
    """Nothing is said of what there is not."""
    assert not any("skill" in text for text in shown(asked("m1", 5)))


def test_a_refusal_of_the_guard_is_seen(shown):
    """It stays on the line and the screen, with the scale of σ, until the next one; a step that held says nothing."""
    refused, again = guard(2, refused=True, scale=0.5), guard(4, refused=True, scale=0.25)
    assert not any("guard" in text for text in shown(guard(1, refused=False, scale=1.0)))
    for text in shown(guard(1, refused=False, scale=1.0), refused, guard(3, refused=False, scale=0.5)):
        assert "the guard refused 1 step, the last one step 2; σ and α are 0.5 of their settings" in text
    for text in shown(refused, again):
        assert "the guard refused 2 steps, the last one step 4; σ and α are 0.25 of their settings" in text


def test_the_noise_is_that_of_a_step_which_is_named(shown):
    """A generation may end without a step, and what is shown is then still that of an earlier one."""
    line, screen = shown(asked("e1", 5))
    assert "σ –" in line
    assert [row.split() for row in screen.splitlines() if row.startswith("σ")] == [["σ", "–"]]
    for text in shown({"kind": "step", "step": 3, "sigma": 0.00123456}, asked("e1", 5, 7)):
        assert "0.00123 in step 3" in text

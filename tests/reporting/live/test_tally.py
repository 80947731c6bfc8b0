import pytest

from coevo.reporting.live.tally import tally_for
from coevo.reporting.telling import tell_run


@pytest.mark.parametrize("sign", [1.0, -1.0])
@pytest.mark.parametrize("charge_first", [True, False])
def test_a_tally_says_what_the_story_says(whole_run, sign, charge_first):
    """After every event: best objective, gap, budget, improvements and status are those of the run's own story."""
    run = whole_run(sign=sign, charge_first=charge_first)
    events, log = run.events(), run.directory.events
    lines = log.read_bytes().splitlines(keepends=True)
    tally = tally_for(run.path)
    for count, event in enumerate(events, 1):
        log.write_bytes(b"".join(lines[:count]))
        tally.take(event)
        found, story = tally.progress(), tell_run(run.path)
        assert (found.kind, found.subject) == ("search", story.problem)
        assert found.status == (story.status if story.status == "done" else "")
        assert (found.spent, found.planned) == (story.budget.operator, story.budget.planned)
        assert found.score == (story.best.objective if story.best else None)
        assert found.gap == (story.best.gap if story.best else None)
        assert tally.curves["best"] == [(each.place, each.objective) for each in story.improvements]
        assert tally.curves["gap"] == [(each.place, each.gap) for each in story.improvements if each.gap is not None]
    assert ("minimised" if sign > 0 else "maximised") in found.score_name


def test_what_is_passed_over_changes_nothing(whole_run):
    """Without the kinds of events that a tally names, its numbers are the same."""
    run = whole_run()
    whole, part = tally_for(run.path), tally_for(run.path)
    for event in run.events():
        whole.take(event)
        if event["kind"] not in part.passed_over:
            part.take(event)
    assert (whole.progress(), whole.curves) == (part.progress(), part.curves)

"""What a run's events add up to: where it started, where it ended, and why it got nowhere."""

import pytest

from coevo.searching.closing import Tally


@pytest.fixture
def tallied():
    """Takes verdicts as costs (None: failed), each with its child, and gives the tally."""

    def take(*costs):
        tally = Tally(charges_first=True)
        for number, cost in enumerate(costs):
            name = f"candidate-{number}"
            verdict = {"kind": "verdict", "role": "candidate", "split": "search", "candidate": name}
            failure = {"status": "crash", "detail": "ValueError"} if cost is None else {"status": "ok", "detail": ""}
            tally.take({**verdict, **failure, "cost": cost, "objective": None if cost is None else -cost})
            tally.take({"kind": "child", **failure, "cost": cost})
        return tally

    return take


def test_first_and_best_are_told_apart(tallied):
    """The first valid candidate stays the first; the best is the earliest of least cost."""
    tally = tallied(None, 5.0, 4.0, 6.0, 4.0)
    assert tally.first == {"candidate": "candidate-1", "cost": 5.0, "objective": -5.0}
    assert tally.best == {"candidate": "candidate-2", "cost": 4.0, "objective": -4.0}
    assert tally.explanation() == ""


def test_a_search_that_got_nowhere_says_why(tallied):
    """Valid children, different costs and the most frequent failures are counted."""
    tally = tallied(5.0, None, 5.0, 7.0, None)
    assert tally.best == tally.first
    assert tally.explanation() == (
        "3 of 5 children were valid, with 2 different costs, none below the first; "
        "most frequent failures: crash: ValueError"
    )


def test_without_a_valid_candidate_there_is_nothing_to_explain(tallied):
    """That nothing was valid is a status of its own, with failures of its own."""
    tally = tallied(None, None)
    assert (tally.first, tally.best, tally.explanation()) == (None, None, "")


def test_only_candidates_on_the_search_split_count():
    """Baselines and other splits say nothing about how far the search came."""
    tally = Tally(charges_first=True)
    common = {"kind": "verdict", "candidate": "a", "cost": 1.0, "objective": 1.0}
    tally.take({**common, "role": "baseline", "split": "search"})
    tally.take({**common, "role": "candidate", "split": "val"})
    assert tally.best is None

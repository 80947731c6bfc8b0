"""One rule for what is charged and what is best: whoever counts events comes to the same numbers."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from coevo.cli.live import Tally as LiveTally
from coevo.reporting.journal import Journal
from coevo.searching.closing import Tally
from coevo.searching.config import make_config
from coevo.searching.metering import is_new_best, meter_of, search_cost, valid_share


@pytest.mark.parametrize(
    ("operator", "generation", "charges_first", "meter"),
    [
        ("i1", 0, True, "operator"), ("i1", 0, False, "on_top"), ("i1", 1, False, "operator"),
        ("skill", 0, True, "skill"), ("skill", 0, False, "skill"), ("skill", 3, False, "skill"),
    ],
)  # fmt: skip
def test_every_completion_has_one_meter(operator, generation, charges_first, meter):
    """Skills have a meter of their own; a first population is on top only where a recipe says so."""
    assert meter_of({"operator": operator, "generation": generation}, charges_first=charges_first) == meter


@pytest.mark.parametrize(
    ("role", "split", "cost", "best", "is_best"),
    [
        ("candidate", "search", 1.0, None, True), ("candidate", "search", 1.0, 1.0, False),
        ("candidate", "search", 0.5, 1.0, True), ("candidate", "search", None, None, False),
        ("baseline", "search", 0.5, 1.0, False), ("candidate", "val", 0.5, 1.0, False),
        ("candidate", "search#1", 0.5, 1.0, False), ("candidate", "search", 0.0, 1.0, True),
        ("candidate", "search", -1.0, 0.0, True),
    ],
)  # fmt: skip
def test_what_is_a_new_best(role, split, cost, best, is_best):
    """Own candidates on the search split under its own seeds; of equals the first stays; a cost of 0 is a cost."""
    verdict = {"role": role, "split": split, "cost": cost}
    assert is_new_best(verdict, best) == is_best
    assert not is_best or search_cost(verdict) == cost


def test_there_is_no_share_of_no_children():
    """Valid children per child; None without a child."""
    assert [valid_share(1, 4), valid_share(0, 0)] == [0.25, None]


ASKED = st.builds(
    lambda operator, generation, count: {
        "kind": "asked", "operator": operator, "generation": generation,
        "requests": [{"id": f"{generation}.{operator}.{place}"} for place in range(count)],
    },
    st.sampled_from(["i1", "m1", "skill"]), st.integers(0, 2), st.integers(0, 3),
)  # fmt: skip
VERDICT = st.builds(
    lambda name, role, split, cost: {
        "kind": "verdict", "candidate": name, "role": role, "split": split, "cost": cost, "objective": cost,
    },
    st.sampled_from("abc"), st.sampled_from(["candidate", "baseline"]),
    st.sampled_from(["search", "val", "search#1"]), st.none() | st.sampled_from([-1.0, 0.0, 0.5, 2.0]),
)  # fmt: skip


@settings(max_examples=40)
@given(st.lists(ASKED | VERDICT), st.booleans())
def test_all_who_count_agree(events, charges_first):
    """A result, the live view and a page come to the same meters and the same best from the same events."""
    config = make_config({"budget": 9, "charge_first": charges_first})
    tally, live, journal = Tally(charges_first), LiveTally(config), Journal(charges_first)
    for event in events:
        for each in (tally, live, journal):
            each.take(event)
    told = journal.budget
    assert (tally.asked, tally.on_top, tally.skill) == (told.operator, told.on_top, told.skill)
    assert live.meters == tally.meters
    best = tally.best["cost"] if tally.best else None
    assert live.best == best
    costs = [verdict.cost for _, verdict in journal.improvements]
    assert (costs[:1], costs[-1:]) == (([], []) if best is None else ([tally.first["cost"]], [best]))

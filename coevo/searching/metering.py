"""The rules by which a run's events are counted, in one place: a result, the live view, summaries and pages agree.

Pure functions of events: nothing is kept here.
"""

from typing import Literal

from coevo.learning.asking import SKILL_METER
from coevo.records.event_log import Event

Meter = Literal["operator", "on_top", "skill"]


def meter_of(asked: Event, *, charges_first: bool) -> Meter:
    """The meter that the completions of an `asked` event are charged to.

    Args:
        asked: The event.
        charges_first: Whether the first population, which is generation 0, counts towards the budget.
    """
    if asked["operator"] == SKILL_METER:
        return "skill"
    return "on_top" if asked["generation"] == 0 and not charges_first else "operator"


def search_cost(verdict: Event) -> float | None:
    """The cost by which a `verdict` event counts in the search; None where it does not.

    Only the run's own candidates count, valid ones, on the search split and under the instances' own seeds.
    """
    is_own = verdict["role"] == "candidate" and verdict["split"] == "search"
    return verdict["cost"] if is_own else None


def is_new_best(verdict: Event, best: float | None) -> bool:
    """Whether a `verdict` event is on the best candidate of the search so far: of equals, the first one stays.

    Args:
        verdict: The event, on whatever candidate and split.
        best: Least cost so far; None while nothing was valid.
    """
    cost = search_cost(verdict)
    return cost is not None and (best is None or cost < best)


def valid_share(valid: int, children: int) -> float | None:
    """Valid children per child, in [0, 1]; None without a child."""
    return valid / children if children else None

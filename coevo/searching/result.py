"""What a search ends with: the values of `result.json`."""

from typing import Literal

from pydantic import BaseModel, ConfigDict

from coevo.learning.paying import Paid

SearchStatus = Literal["done", "target", "patience", "time", "cost", "tokens", "no-valid-candidate", "interrupted"]


class _Frozen(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid", use_attribute_docstrings=True)


class Best(_Frozen):
    """A candidate with its mean on the search split, under the instances' own seeds."""

    candidate: str
    """Its identity; the source is `best.py` and `candidates/<identity>.py`."""
    cost: float
    """Mean cost on the search split, minimised."""
    objective: float
    """The same mean in the problem's own sense."""


class SplitResult(_Frozen):
    """A mean over one split."""

    objective: float | None
    """Own sense; None where the heuristic failed."""
    spread: float | None = None
    """Standard deviation of that mean over fresh seeds; None where the objective is not random."""
    gap: float | None
    """Fraction by which it is worse than the mean best-known objective or bound; None where none is known."""


class BudgetUse(_Frozen):
    """Completions charged, by meter."""

    operator: int
    """Charged: asked for an operator, valid or not."""
    on_top: int = 0
    """First completions that a published recipe does not charge."""
    skill: int = 0
    planned: int


class SearchResult(_Frozen):
    """One search's result.

    `best` is the candidate handed over, `first` the first valid one, and `lowest` the one of least cost on the search
    split, found when `lowest_after` completions of operators had been asked for. `moved` of `steps` steps of the
    evolution strategy moved the model; `explanation` says why nothing better was found, where nothing was. `splits`
    are those of the best heuristic; `comparisons` hold the same for the problem's baselines and textbook algorithms;
    `failures` the most frequent reasons when no candidate was valid; `paid` what servers were paid, by role.
    """

    status: SearchStatus
    best: Best | None
    first: Best | None = None
    lowest: Best | None = None
    lowest_after: int | None = None
    steps: int = 0
    moved: int = 0
    explanation: str = ""
    splits: dict[str, SplitResult]
    comparisons: dict[str, dict[str, SplitResult]]
    budget: BudgetUse
    fingerprint: str
    wall_s: float
    run: str
    failures: tuple[str, ...] = ()
    paid: dict[str, Paid] = {}


def gap(sign: float, objective: float | None, reference: float | None) -> float | None:
    """How much worse a mean objective is than the mean best-known one, as a fraction of the latter; 0 is optimal.

    Args:
        sign: +1 if the objective is minimised, −1 if maximised.
        objective: Own sense; None where the heuristic failed.
        reference: Mean best-known objective or bound; None, or 0, where there is none to compare with.
    """
    if objective is None or not reference:
        return None
    return sign * (objective - reference) / abs(reference)

"""What an evaluation of agents ends with: the values of `result.json`. Scores are maximised."""

from typing import Literal

from pydantic import BaseModel, ConfigDict

from coevo.learning.paying import Paid


class _Frozen(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid", use_attribute_docstrings=True)


class Estimate(_Frozen):
    """A mean with its interval; None below two values."""

    value: float
    low: float | None = None
    """Lower end of the 95 % interval of the mean, an expanded percentile bootstrap."""
    high: float | None = None
    """Upper end."""


class Evaluated(_Frozen):
    """One subject on one split. A case is a task; intervals are over cases."""

    mean: Estimate | None
    """Mean@K: mean score over cases, each the mean of its episodes; None where none could be played."""
    passed: dict[str, Estimate]
    """j -> unbiased Pass@j for j = 1 … the fewest episodes that a case has."""
    turns: Estimate | None
    """Turns of an episode that the environment took: mean over cases of the mean of each."""
    tokens: Estimate | None
    """Tokens of an episode, likewise."""
    cases: int
    episodes: int
    faults: int
    """Episodes left out because the surroundings failed."""
    ended: dict[str, int]
    """Why episodes were over."""


class Row(_Frozen):
    """One subject."""

    run: str | None
    """The tuning run whose weights played; None for a model as it is."""
    generation: int
    """After which of its generations."""
    seed: int | None
    """The run's."""
    fingerprint: str
    """Of the weights."""
    has_skill: bool
    """Whether its prompts held a skill."""
    splits: dict[str, Evaluated]
    """Those that were played to their end."""


class OverRuns(_Frozen):
    """Several runs on one split; a value of each, and intervals over them: over training seeds."""

    runs: int
    mean: Estimate
    """Mean over runs of Mean@K."""
    spread: float
    """Sample standard deviation of Mean@K over runs."""
    passed: dict[str, Estimate]
    """j -> mean over runs of Pass@j."""
    turns: Estimate
    tokens: Estimate


class EvalResult(_Frozen):
    """One evaluation's result."""

    status: Literal["done", "interrupted", "cost", "tokens"]
    """At a cap, its name: splits that were not played to their end are left out."""
    env: str
    repeats: int
    """K."""
    rows: tuple[Row, ...]
    over_runs: dict[str, OverRuns]
    """By split, where two runs or more have been measured on it."""
    episodes: int
    turns: int
    tokens: int
    paid: dict[str, Paid] = {}
    """What a server has been paid."""
    wall_s: float
    run: str

    @property
    def is_measured(self) -> bool:
        """Whether anything could be scored."""
        return any(split.mean is not None for row in self.rows for split in row.splits.values())

"""What a tuning run ends with: the values of `result.json`. Scores are maximised."""

from typing import Literal

from pydantic import BaseModel, ConfigDict

from coevo.tuning.scores import Score

TuneStatus = Literal["done", "target", "patience", "time", "surroundings-failed", "interrupted"]
FINAL = frozenset({"done", "target", "patience", "time", "surroundings-failed"})


class _Frozen(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid", use_attribute_docstrings=True)


class Measured(_Frozen):
    """A model on the tasks of one split."""

    mean: float | None
    """Mean@k: mean score over tasks, each the mean of its k episodes; None where none could be played."""
    error: float | None
    """Standard error over tasks."""
    passed: dict[str, float]
    """j -> unbiased Pass@j."""
    turns: float | None
    """Mean turns of an episode."""
    tokens: float | None
    """Mean tokens of an episode."""
    tasks: int
    episodes: int
    faults: int
    """Episodes left out because the surroundings failed."""
    ended: dict[str, int]
    """Why episodes were over."""

    @classmethod
    def of(cls, score: Score) -> "Measured":
        """A score as it stands in a result."""
        return cls.model_validate(score.facts())


class BestWeights(_Frozen):
    """The weights that the split `val` chose."""

    generation: int
    """After which they were reached; 0 is the model as it began."""
    mean: float
    """Mean score on `val`."""
    fingerprint: str
    """Of these weights."""


class Spent(_Frozen):
    """What a run used."""

    episodes: int
    """Training episodes that were played."""
    planned: int
    turns: int
    """Of training episodes and measurements together, as the next two."""
    tokens: int
    measuring: int
    """Episodes of measurements."""
    skill: int = 0
    """Completions for the skill."""


class TuneResult(_Frozen):
    """One run's result.

    `start` and `chosen` are the first and the chosen weights on `val` and on the splits the configuration names.
    """

    status: TuneStatus
    env: str
    best: BestWeights | None
    generations: int
    start: dict[str, Measured]
    chosen: dict[str, Measured]
    spent: Spent
    dropped: int
    """Tasks left out for all members of a step because the surroundings failed, over all steps."""
    fingerprint: str
    """Of the last weights; those of a replay of the whole history."""
    wall_s: float
    run: str

"""What a probe ends with: the values of `result.json`."""

from typing import Literal

from pydantic import BaseModel, ConfigDict

When = Literal["before", "during", "after", "fresh"]
"""Measurements before, during and after training share their seeds and are paired; a fresh one, after training, has
seeds that nothing else has seen."""


class _Frozen(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid", use_attribute_docstrings=True)


class ParentResult(_Frozen):
    """A parent: its identity (source in `candidates/`) and its cost on the search split, minimised."""

    candidate: str
    cost: float


class ProbeMeasurement(_Frozen):
    """The unperturbed model on one set of parents. Rewards are in [−1, 1], maximised."""

    when: When
    step: int
    """Steps taken before it."""
    parents: Literal["trained", "held_out"]
    completions: int
    reward: float
    """Mean reward."""
    standard_error: float
    """Of the mean, over completions."""
    valid: float
    """Share of valid children."""
    improved: float
    """Share of children better than their parent."""
    distinct: int
    """Different programs among the children."""
    change: float | None = None
    """Mean reward minus that of before; None before."""
    change_error: float | None = None
    """Standard error of the change: paired by seed, but for a fresh measurement."""


class ProbeBudget(_Frozen):
    """Completions asked for, by purpose."""

    training: int
    """Never more than planned."""
    planned: int
    """Steps × members × children."""
    parents: int
    """Spent on i1 for the parents."""
    evaluation: int
    """Spent on measuring the unperturbed model."""


class ProbeResult(_Frozen):
    """One probe's result."""

    status: Literal["done", "interrupted"]
    problem: str
    trained: tuple[ParentResult, ...]
    held_out: tuple[ParentResult, ...]
    scale: float | None
    """Spread of the parents' costs, in which rewards are measured; None where they were not there yet."""
    measurements: tuple[ProbeMeasurement, ...]
    member_valid: tuple[float, ...]
    """Valid share of the members' children, one per step."""
    member_reward: tuple[float, ...]
    """Their mean reward, one per step."""
    refused: int
    """Steps whose update the guard refused."""
    budget: ProbeBudget
    fingerprint: str
    wall_s: float
    run: str

    def measured(self, when: When, parents: Literal["trained", "held_out"]) -> ProbeMeasurement:
        """The last measurement of that kind.

        Raises:
            KeyError: If there is none.
        """
        for found in reversed(self.measurements):
            if (found.when, found.parents) == (when, parents):
                return found
        raise KeyError(f"no measurement {when} on {parents} parents")

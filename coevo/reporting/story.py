"""What a run's events tell, as values: everything that a page may show, and no result that is not from an event.

Costs are minimised on every problem; objectives are in the problem's own sense. A gap is the fraction by which an
objective is worse than the best known one. A place is a position in the budget: the n-th charged operator completion,
0 for what was not charged.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

from coevo.reporting.diffs import DiffLine
from coevo.reporting.learning_story import GuardStory, SkillStory, StepStory
from coevo.searching.config import SearchConfig
from coevo.searching.metering import valid_share

Sense = Literal["min", "max"]
Fate = Literal["new", "copy", "repeat", "failed"]
"""What became of a child: a valid program that is new to the run, the same program as one of its parents, the same
program as an earlier child's, or none that is valid."""


@dataclass(frozen=True, slots=True)
class ChildStory:
    """One child.

    Attributes:
        place: Position in the budget, from 1; 0 if its completion was not charged.
        cost: Mean cost on the search split; None unless valid.
    """

    name: str
    place: int
    generation: int
    operator: str
    parents: tuple[str, ...]
    candidate: str | None
    status: str
    detail: str
    cost: float | None
    fate: Fate


@dataclass(frozen=True, slots=True)
class Improvement:
    """A candidate that was better than everything before it; `operator` is "start" for a heuristic of the user's."""

    place: int
    candidate: str
    operator: str
    cost: float
    objective: float
    gap: float | None


@dataclass(frozen=True, slots=True)
class BatchStory:
    """The children of one operator in one generation; 0 is the first population.

    Attributes:
        reward: Mean reward, maximised; None where none was given.
    """

    generation: int
    operator: str
    children: int
    valid: int
    reward: float | None

    @property
    def valid_share(self) -> float | None:
        """Valid children per child."""
        return valid_share(self.valid, self.children)


@dataclass(frozen=True, slots=True)
class GenerationStory:
    """One generation of children, and the population after it.

    Attributes:
        candidates: Different candidates among the children, valid or not.
        costs: Different costs among the valid children, at the precision at which the population tells them apart.
        best: Least cost in the population; None where the generation has not ended.
        worst: Greatest cost in the population.
        place: Position in the budget of its last child.
    """

    generation: int
    children: int
    valid: int
    candidates: int
    costs: int
    best: float | None
    worst: float | None
    place: int


@dataclass(frozen=True, slots=True)
class OperatorUse:
    """Where the completions of an operator went. `skill` stands for the completions that wrote lessons.

    Attributes:
        asked: Completions recorded as asked for; those of the first population may not be charged.
        answered: Of these, those that came.
        tokens: Tokens of the answers.
        cut_off: Answers cut off at the token limit.
        fates: Children by what became of them.
    """

    operator: str
    asked: int
    answered: int
    tokens: int
    cut_off: int
    fates: Mapping[Fate, int]


@dataclass(frozen=True, slots=True)
class Source:
    """A candidate's program. `code` is None where its file is missing or is not the program of that identity."""

    identity: str
    code: str | None
    note: str = ""


@dataclass(frozen=True, slots=True)
class Ancestor:
    """One step in the lineage of the best, oldest first.

    Attributes:
        child: How it came to be; None for a heuristic of the user's.
        objective: Its mean on the search split.
        parent: Identity of the better parent, the one that the lineage follows and the diff compares with.
        others: Its other parents.
        diff: Against the parent, or the whole program where it has none; empty if a source is missing.
        note: Why there is no diff, or that it was cut short.
        answer: The completion that the child was read from; empty if the log has none.
    """

    source: Source
    child: ChildStory | None
    objective: float | None
    parent: str | None
    others: tuple[str, ...]
    diff: tuple[DiffLine, ...]
    note: str = ""
    answer: str = ""


@dataclass(frozen=True, slots=True)
class SplitStory:
    """Mean objective on a split; `spread` is the standard deviation of that mean over fresh seeds."""

    split: str
    objective: float | None
    spread: float | None
    gap: float | None


@dataclass(frozen=True, slots=True)
class Comparison:
    """A yardstick on the same splits: a baseline or, by the problem's own code, a textbook algorithm."""

    name: str
    splits: tuple[SplitStory, ...]
    is_textbook: bool = False


@dataclass(frozen=True, slots=True)
class BudgetStory:
    """Completions recorded as asked for, by meter; `planned` are the charged ones of the plan."""

    operator: int
    on_top: int
    skill: int
    planned: int


@dataclass(frozen=True, slots=True)
class RunStory:
    """Everything a page shows of one run.

    Attributes:
        name: Name of the run directory.
        title: What the problem calls itself; its name where its folder is not at hand.
        status: Status of the end; before it "interrupted", as `result.json` says, or "unfinished" for a run that still
            runs or was killed.
        content: Hash of the problem's files at the start.
        reference: Mean best-known objective of the search split, if known.
        first: The first valid candidate.
        best: The candidate that the run chose or, before it chose, the best so far on the search split.
        is_chosen: Whether the run has chosen its best.
        hours: Time the run was open, from first to last event, without pauses before it was resumed.
        cpu_s: CPU seconds of all evaluations.
        failures: Reasons with their counts, most frequent first.
        settings: The run's configuration, resolved.
        config: The text of `config.toml`.
    """

    name: str
    problem: str
    title: str
    sense: Sense
    status: str
    version: str
    content: str
    settings: SearchConfig
    config: str
    environment: Mapping[str, Any]
    fingerprints: tuple[str, str]
    budget: BudgetStory
    reference: float | None
    first: Improvement | None
    best: Improvement | None
    is_chosen: bool
    source: Source | None
    splits: tuple[SplitStory, ...]
    comparisons: tuple[Comparison, ...]
    children: tuple[ChildStory, ...]
    improvements: tuple[Improvement, ...]
    batches: tuple[BatchStory, ...]
    generations: tuple[GenerationStory, ...]
    planned_generations: int
    steps: tuple[StepStory, ...]
    guards: tuple[GuardStory, ...]
    operators: tuple[OperatorUse, ...]
    lineage: tuple[Ancestor, ...]
    failures: tuple[tuple[str, int], ...]
    skills: tuple[SkillStory, ...]
    resumed: int
    hours: float
    cpu_s: float

    @property
    def sign(self) -> float:
        """Cost = sign · objective."""
        return 1.0 if self.sense == "min" else -1.0

    @property
    def valid(self) -> int:
        """Valid children."""
        return sum(batch.valid for batch in self.batches)

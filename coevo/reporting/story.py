"""What a run's events tell, as values: everything that a page may show, and no number that is not from an event.

Costs are minimised on every problem; objectives are in the problem's own sense. A gap is the fraction by which an
objective is worse than the best known one. A place is a position in the budget: the n-th charged operator completion,
0 for what was not charged.
"""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

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
        answer: The completion it was read from; empty if the log has none.
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
    answer: str = ""


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
    def valid_share(self) -> float:
        """Valid children per child."""
        return self.valid / self.children


@dataclass(frozen=True, slots=True)
class GenerationStory:
    """One generation of children, and the population after it.

    Attributes:
        programs: Different programs among the children, valid or not.
        costs: Different costs among the valid children, at the precision at which the population tells them apart.
        best: Least cost in the population; None where the generation has not ended.
        worst: Greatest cost in the population.
        place: Position in the budget of its last child.
    """

    generation: int
    children: int
    valid: int
    programs: int
    costs: int
    best: float | None
    worst: float | None
    place: int


@dataclass(frozen=True, slots=True)
class StepStory:
    """One step of the evolution strategy.

    Attributes:
        sigma: Standard deviation of the members' perturbations, in weight units.
        length: √(Σ coefficient² / K), the update in units of the noise; with noise on every weight also the expected
            root mean square change of a weight. 0 where the weights stayed.
        rewards: One per member, maximised.
    """

    step: int
    generation: int
    operator: str
    sigma: float
    length: float
    is_applied: bool
    rewards: tuple[float, ...]
    fingerprint: str

    @property
    def mean_reward(self) -> float:
        """Mean over the members."""
        return math.fsum(self.rewards) / len(self.rewards)

    @property
    def spread(self) -> float:
        """Standard deviation over the members, the one z-scores divide by."""
        mean = self.mean_reward
        return math.sqrt(math.fsum((reward - mean) ** 2 for reward in self.rewards) / len(self.rewards))


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
class DiffLine:
    """A line of a diff: added "+", removed "-", the same " ", or a mark between parts "@"."""

    kind: Literal["+", "-", " ", "@"]
    text: str


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
    """

    source: Source
    child: ChildStory | None
    objective: float | None
    parent: str | None
    others: tuple[str, ...]
    diff: tuple[DiffLine, ...]
    note: str = ""


@dataclass(frozen=True, slots=True)
class SkillStory:
    """One update of the skill.

    Attributes:
        is_new: Whether it made a new version; otherwise every edit was refused, or there was none.
        levels: Levels of merging that made one patch of all lessons.
        diff: Its text against the version before.
        rejected: Edits that were refused, with the reason.
    """

    version: int
    is_new: bool
    generation: int
    text: str
    use: tuple[str, ...]
    avoid: tuple[str, ...]
    traces: int
    lessons: int
    levels: int
    rejected: tuple[tuple[str, str], ...]
    diff: tuple[DiffLine, ...]


@dataclass(frozen=True, slots=True)
class SplitStory:
    """Mean objective on a split; `spread` is the standard deviation of that mean over fresh seeds."""

    split: str
    objective: float | None
    spread: float | None
    gap: float | None


@dataclass(frozen=True, slots=True)
class Comparison:
    """A yardstick on the same splits. `is_recorded` is False for textbook algorithms, whose runs are no events."""

    name: str
    splits: tuple[SplitStory, ...]
    is_recorded: bool


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
        status: Status of the end, "interrupted", or "unfinished" for a run that still runs or was killed.
        content: Hash of the problem's files at the start.
        reference: Mean best-known objective of the search split, if known.
        first: The first valid candidate.
        best: The candidate that the run chose or, before it chose, the best so far on the search split.
        is_chosen: Whether the run has chosen its best.
        hours: Time the run was open, from first to last event, without pauses before it was resumed.
        cpu_s: CPU seconds of all evaluations.
        failures: Reasons with their counts, most frequent first.
        config: The text of `config.toml`.
    """

    name: str
    problem: str
    title: str
    sense: Sense
    status: str
    version: str
    content: str
    settings: Mapping[str, Any]
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
        return sum(child.cost is not None for child in self.children)

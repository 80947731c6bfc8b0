"""What learns in a run, the weights and the skill, as values: steps, the guard's decisions, updates of the skill."""

import math
from dataclasses import dataclass

from coevo.reporting.diffs import DiffLine


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
        """Standard deviation over the members, the one z-scores divide by (but for a spread of the whole run)."""
        mean = self.mean_reward
        return math.sqrt(math.fsum((reward - mean) ** 2 for reward in self.rewards) / len(self.rewards))


@dataclass(frozen=True, slots=True)
class GuardStory:
    """What the guard made of one step.

    Attributes:
        valid: Share of the members' children that are valid, in [0, 1].
        bound: The least share that lets a step move the weights; 0 where there is nothing to compare with.
        scale: What σ and α of the steps to come are multiplied by.
    """

    step: int
    valid: float
    bound: float
    is_refused: bool
    scale: float


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

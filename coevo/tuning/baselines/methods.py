"""The two baselines, as far as they differ: what the turns of a generation are to be learned with."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np

from coevo.tuning.baselines.advantages import FloatArray, group_advantages, standardised, turn_advantages
from coevo.tuning.baselines.settings import BaselineSettings
from coevo.tuning.baselines.turns import Played


@dataclass(frozen=True, slots=True)
class Judged:
    """What is known of every turn, episode by episode.

    Attributes:
        advantages: Shape (turns,).
        targets: What the values should have been, same shape; None for a method without values.
    """

    advantages: FloatArray
    targets: FloatArray | None = None


class Judge(Protocol):
    """Says how good turns were.

    Attributes:
        has_values: Whether it wants the value of every turn.
    """

    has_values: bool

    def __call__(self, played: Sequence[Played], values: FloatArray | None) -> Judged:
        """Judge the turns of a generation.

        Args:
            played: Its episodes.
            values: Of their turns one after the other, before learning; None without values.
        """


class GroupJudge:
    """GRPO: every turn has the advantage of its episode, which is its score within the group of its task."""

    has_values = False

    def __call__(self, played: Sequence[Played], values: FloatArray | None) -> Judged:
        """See `Judge`."""
        found = group_advantages([episode.task for episode in played], [episode.score for episode in played])
        return Judged(np.repeat(found, [len(episode.turns) for episode in played]))


class TurnJudge:
    """Turn-level PPO: advantages by generalised estimation over the turns, standardised over the generation."""

    has_values = True

    def __init__(self, settings: BaselineSettings) -> None:
        self._discount = settings.discount
        self._decay = settings.trace_decay

    def __call__(self, played: Sequence[Played], values: FloatArray | None) -> Judged:
        """See `Judge`."""
        if values is None:
            raise ValueError("expected the values of the turns, got none")
        ends = np.cumsum([len(episode.turns) for episode in played])
        own = np.split(values, ends[:-1])
        advantages = np.concatenate(
            [turn_advantages(v, e.score, self._discount, self._decay) for v, e in zip(own, played, strict=True)]
        )
        return Judged(standardised(advantages), advantages + values)

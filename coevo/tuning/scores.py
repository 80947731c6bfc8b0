"""What scores come to: rewards of members, and measurements of a model on a split. Scores are maximised."""

import math
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from coevo.interfaces import Member
from coevo.tuning.episodes import Episode


@dataclass(frozen=True, slots=True)
class Earned:
    """What the members of a step earned.

    Attributes:
        rewards: Member identity -> mean score of its episodes; all 0 where every task was dropped.
        dropped: Tasks left out for all members, because the surroundings failed at one of their episodes.
    """

    rewards: dict[str, float]
    dropped: tuple[str, ...]


def earned(members: Sequence[Member], episodes: Sequence[Episode]) -> Earned:
    """Mean scores by member, over the tasks at which nobody's surroundings failed.

    Args:
        members: Of the step.
        episodes: Of all members, those of each in a row of the same length, in the order of the members.
    """
    dropped = tuple(sorted({episode.task for episode in episodes if episode.score is None}))
    share = len(episodes) // len(members)
    rewards = {}
    for place, member in enumerate(members):
        own = episodes[place * share : (place + 1) * share]
        scores = [e.score for e in own if e.score is not None and e.task not in dropped]
        rewards[member.identity] = math.fsum(scores) / len(scores) if scores else 0.0
    return Earned(rewards, dropped)


@dataclass(frozen=True, slots=True)
class Score:
    """A model on the tasks of a split; every task was played equally often, but for what the surroundings spoiled.

    Attributes:
        mean: Mean@k: mean score over tasks, each the mean over its k episodes; None if none could be played.
        error: Standard error of that mean over tasks; None below two of them.
        passed: j -> Pass@j for j = 1 … k: the probability that the best of j episodes of a task scores `at_best`,
            unbiased (Chen et al. 2021, arXiv:2107.03374, equation 1).
        turns: Mean turns of an episode.
        tokens: Mean tokens of an episode.
        tasks: Tasks that were played.
        episodes: Episodes that count.
        faults: Episodes that do not, because the surroundings failed.
        ended: Why episodes were over -> how many.
    """

    mean: float | None
    error: float | None
    passed: Mapping[int, float]
    turns: float | None
    tokens: float | None
    tasks: int
    episodes: int
    faults: int
    ended: Mapping[str, int]
    by_task: Mapping[str, float] = field(default_factory=dict)
    """Mean score of each task that was played."""

    def beats(self, other: "Score") -> bool:
        """Whether the mean is higher on the tasks that both could play: a task that is lost decides nothing."""
        shared = sorted(self.by_task.keys() & other.by_task.keys())
        return math.fsum(self.by_task[name] for name in shared) > math.fsum(other.by_task[name] for name in shared)

    def facts(self) -> dict[str, Any]:
        """The fields of its event."""
        return {
            "mean": self.mean,
            "error": self.error,
            "passed": {str(j): share for j, share in self.passed.items()},
            "turns": self.turns,
            "tokens": self.tokens,
            "tasks": self.tasks,
            "episodes": self.episodes,
            "faults": self.faults,
            "ended": dict(self.ended),
        }


class Cases:
    """The episodes of one model, task by task: what every measurement of it is computed from.

    Episodes whose surroundings failed are left out; a task without any other is not there.

    Args:
        episodes: Several of a task are repeats.
    """

    def __init__(self, episodes: Iterable[Episode]) -> None:
        self._scores: defaultdict[str, list[float]] = defaultdict(list)
        self._episodes: defaultdict[str, list[Episode]] = defaultdict(list)
        for episode in episodes:
            if episode.score is not None:
                self._scores[episode.task].append(episode.score)
                self._episodes[episode.task].append(episode)

    @property
    def counted(self) -> list[Episode]:
        """The episodes that count, task by task."""
        return [episode for own in self._episodes.values() for episode in own]

    @property
    def scores(self) -> dict[str, float]:
        """Mean score of each task; their mean over tasks is Mean@k."""
        return {task: _mean_of(own) for task, own in self._scores.items()}

    def means(self, value: Callable[[Episode], float]) -> list[float]:
        """The mean of something else, of each task."""
        return [_mean_of(list(map(value, own))) for own in self._episodes.values()]

    def passed(self, at_best: float) -> dict[int, list[float]]:
        """By j, up to the fewest episodes of a task: the unbiased estimate of each task; their mean is Pass@j.

        Args:
            at_best: The score that counts as passed.
        """
        counts = [(len(own), sum(score >= at_best for score in own)) for own in self._scores.values()]
        most = min((count for count, _ in counts), default=0)
        return {j: [pass_at(n, c, j) for n, c in counts] for j in range(1, most + 1)}


def score_of(episodes: Sequence[Episode], *, at_best: float) -> Score:
    """Measure a model by its episodes.

    Args:
        episodes: Of the unperturbed model; several of a task are repeats.
        at_best: The score that counts as passed.
    """
    cases = Cases(episodes)
    means, counted = cases.scores, cases.counted
    return Score(
        mean=_mean(list(means.values())),
        error=_error(list(means.values())),
        passed={j: _mean_of(found) for j, found in cases.passed(at_best).items()},
        turns=_mean([float(episode.turns) for episode in counted]),
        tokens=_mean([float(episode.tokens) for episode in counted]),
        tasks=len(means),
        episodes=len(counted),
        faults=len(episodes) - len(counted),
        ended=dict(sorted(Counter(episode.ended for episode in episodes).items())),
        by_task=means,
    )


def pass_at(count: int, passed: int, tries: int) -> float:
    """Probability that the best of `tries` of n episodes, drawn without replacement, is one of the c that passed.

    1 − C(n − c, j) / C(n, j), the unbiased estimate of Pass@j.

    Args:
        count: n, episodes of the task.
        passed: c, those that passed.
        tries: j, at most n.

    Raises:
        ValueError: If the numbers do not fit.
    """
    if not (0 <= passed <= count and 1 <= tries <= count):
        raise ValueError(f"expected 0 <= passed <= count and 1 <= tries <= count, got {passed}, {count}, {tries}")
    return 1.0 - math.comb(count - passed, tries) / math.comb(count, tries)


def _mean_of(values: Sequence[float]) -> float:
    return math.fsum(values) / len(values)


def _mean(values: Sequence[float]) -> float | None:
    return _mean_of(values) if values else None


def _error(values: Sequence[float]) -> float | None:
    if len(values) < 2:
        return None
    mean = _mean_of(values)
    return math.sqrt(math.fsum((v - mean) ** 2 for v in values) / (len(values) - 1) / len(values))

"""The fixed parents of a probe: given as files, or written by the base model, then ranked and split in two."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from coevo.candidate import Candidate
from coevo.content import ProblemFolder
from coevo.errors import ContentError, ModelError
from coevo.evolution.population import COST_DECIMALS, Scored
from coevo.experiments.probe_rewards import scale_of
from coevo.searching.assemble import read_heuristic

CHOICE = 4
"""Valid candidates of different cost that are awaited for every parent. The parents are taken from the better half of
them, as those of a search are: what nearly any answer improves upon teaches nothing."""
PATIENCE = 10
"""Completions of i1 that are spent on each of those before coevo goes on with fewer, or gives up."""
MOST = 10_000
"""Completions of i1 that are spent on parents altogether, however many are wanted."""


@dataclass(frozen=True, slots=True)
class Parents:
    """The parents of a probe, each set in order of cost.

    Attributes:
        trained: Those whose children earn the rewards.
        held_out: Those that are only measured.
        scale: Spread of their costs, in which rewards are measured.
    """

    trained: tuple[Scored, ...]
    held_out: tuple[Scored, ...]
    scale: float

    def of(self, name: str) -> tuple[Scored, ...]:
        """The set of that name: "trained" or "held_out"."""
        return self.trained if name == "trained" else self.held_out


def split(parents: Sequence[Scored], held_out: int) -> Parents:
    """Rank parents by cost and hold out every other one, or as evenly as their numbers allow.

    Args:
        parents: In any order.
        held_out: How many to hold out; at least one, and fewer than there are.

    Raises:
        ContentError: If all cost the same: then rewards have no scale.
    """
    ranked = sorted(parents, key=lambda scored: (scored.cost, scored.candidate.identity))
    out = {int((place + 0.5) * len(ranked) / held_out) for place in range(held_out)}
    try:
        scale = scale_of([scored.cost for scored in ranked])
    except ValueError as error:
        raise ContentError(f"the parents of a probe have to differ: {error}; give others with --parents") from error
    return Parents(
        tuple(scored for place, scored in enumerate(ranked) if place not in out),
        tuple(scored for place, scored in enumerate(ranked) if place in out),
        scale,
    )


def spread_out(candidates: Sequence[Scored], count: int) -> list[Scored]:
    """That many of the candidates, evenly spaced in the order of their cost; the best and the worst are among them.

    Args:
        candidates: In order of cost, at least `count`.
        count: At least 2.
    """
    return [candidates[round(place * (len(candidates) - 1) / (count - 1))] for place in range(count)]


def written(ask: Callable[[int], Sequence[Scored]], count: int) -> list[Scored]:
    """Parents that the base model writes from nothing.

    Args:
        ask: Asks i1 for a number of completions and returns the valid candidates among them.
        count: Parents wanted, at least 2.

    Raises:
        ModelError: If too few of the answers are valid and different.
    """
    found: dict[float, Scored] = {}
    asked = 0
    most = min(PATIENCE * CHOICE * count, MOST)
    while len(found) < CHOICE * count and asked < most:
        batch = min(CHOICE * count, most - asked)
        for scored in ask(batch):
            found.setdefault(round(scored.cost, COST_DECIMALS), scored)
        asked += batch
    if len(found) < count:
        raise ModelError(
            f"expected {count} valid candidates of different cost for parents, got {len(found)} among {asked} answers "
            "to i1; give --parents files, or another --model"
        )
    ranked = sorted(found.values(), key=lambda scored: scored.cost)
    return spread_out(ranked[: max(count, len(ranked) // 2)], count)


def read_parents(files: Sequence[str], problem: ProblemFolder) -> tuple[Candidate, ...]:
    """The parents in files of the user's.

    Raises:
        ContentError: If one is missing, or two are the same.
    """
    parents = tuple(read_heuristic(Path(file), problem) for file in files)
    seen: dict[str, str] = {}
    for file, parent in zip(files, parents, strict=True):
        if parent.identity in seen:
            raise ContentError(f"expected parents that differ, got the same program in {seen[parent.identity]}, {file}")
        seen[parent.identity] = file
    return parents

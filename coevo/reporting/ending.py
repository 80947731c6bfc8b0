"""How a run ended: the best heuristic and its yardsticks on every split, from events alone.

Objectives are those of verdicts and of `textbook` events; best-known values and the names of baselines are those of the
`started` event; gaps follow from both.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from coevo.evaluation.fresh_seeds import parse_split
from coevo.reporting.journal import Journal, Verdict
from coevo.reporting.story import Comparison, Sense, SplitStory
from coevo.searching.finish import summarised
from coevo.searching.result import gap

Verdicts = Mapping[str, Verdict]
"""Verdicts on one candidate, by split; `#` and a number mark a split under fresh seeds."""


@dataclass(frozen=True, slots=True)
class Yardstick:
    """What objectives are held against.

    Attributes:
        sense: Direction of the objective.
        references: Mean best-known objective by split.
    """

    sense: Sense
    references: Mapping[str, float]

    def sign(self) -> float:
        """Cost = sign · objective, as a problem's folder has it."""
        return 1.0 if self.sense == "min" else -1.0

    def gap(self, objective: float | None, split: str = "search") -> float | None:
        """The fraction by which a mean objective is worse than the best known one of a split; None without either."""
        return gap(self.sign(), objective, self.references.get(split))


def sense_of(verdicts: Mapping[str, Verdicts]) -> Sense | None:
    """Whether the objective is minimised, as a verdict shows; None while none tells."""
    for by_split in verdicts.values():
        for verdict in by_split.values():
            if verdict.cost:
                return "min" if verdict.cost == verdict.objective else "max"
    return None


def splits_of(journal: Journal, best: str, wanted: Sequence[str], yardstick: Yardstick) -> tuple[SplitStory, ...]:
    """The best heuristic on every reported split.

    Args:
        journal: Of a run that came to its end.
        best: Identity of the heuristic it chose.
        wanted: The splits that the run's configuration names; without any, all that it was measured on.
        yardstick: For gaps.
    """
    verdicts = journal.judged.get(best, {})
    splits = wanted or dict.fromkeys(parse_split(name)[0] for name in verdicts)
    return tuple(_split(split, _draws(split, verdicts), yardstick) for split in splits)


def comparisons_of(journal: Journal, splits: Sequence[SplitStory], yardstick: Yardstick) -> tuple[Comparison, ...]:
    """The problem's baselines and textbook algorithms on the splits of the best heuristic."""
    names = [each.split for each in splits]
    return (*_baselines(journal, names, yardstick), *_textbook(journal, names, yardstick))


def _baselines(journal: Journal, splits: Sequence[str], yardstick: Yardstick) -> Iterator[Comparison]:
    for name, identity in journal.baselines.items():
        # A child can be a baseline again, word for word; then its verdicts stand for both.
        verdicts = {**journal.judged.get(identity, {}), **journal.measured.get(identity, {})}
        rows = {split: _draws(split, verdicts)[:1] for split in splits}
        if any(rows.values()):
            yield Comparison(name, tuple(_split(split, draws, yardstick) for split, draws in rows.items()))


def _textbook(journal: Journal, splits: Sequence[str], yardstick: Yardstick) -> Iterator[Comparison]:
    for name, objectives in journal.textbook.items():
        rows = (_split(split, [objectives.get(split)], yardstick) for split in splits)
        yield Comparison(name, tuple(rows), is_textbook=True)


def _split(name: str, draws: Sequence[float | None], yardstick: Yardstick) -> SplitStory:
    if not draws:
        return SplitStory(name, None, None, None)
    found = summarised(draws)
    return SplitStory(name, found.objective, found.spread, yardstick.gap(found.objective, name))


def _draws(split: str, verdicts: Verdicts) -> list[float | None]:
    """The objectives on a split: under fresh seeds, in their order, where it has been measured so; else its own."""
    named = {parse_split(name): verdict.objective for name, verdict in verdicts.items()}
    fresh = [named[own, draw] for own, draw in sorted(named) if own == split and draw]
    return fresh or ([verdicts[split].objective] if split in verdicts else [])

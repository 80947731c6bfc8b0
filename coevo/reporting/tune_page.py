"""The page of one tuning run: what the agent scored, how its weights moved, and how it acts."""

from dataclasses import dataclass

from coevo.reporting import tables, tune_figures
from coevo.reporting.movement import movement
from coevo.reporting.page import render
from coevo.reporting.run_page import SHOWN_CODE, Fact, environment_table
from coevo.reporting.tables import Cell, Table, table
from coevo.reporting.text import DASH, count, duration, number
from coevo.reporting.tune_story import Conversation, TuneStory
from coevo.tuning.config import VAL
from coevo.tuning.episodes import Turn
from coevo.tuning.result import Measured

STATUSES = {
    "done": "finished",
    "target": "finished: the target was reached",
    "patience": "finished: no progress for as long as it was to wait",
    "time": "finished: its time was up",
    "surroundings-failed": "given up: the surroundings kept failing",
    "interrupted": "interrupted, as result.json says; it can be resumed",
    "unfinished": "unfinished: it still runs, or was killed",
}
SHOWN_CHARACTERS = 2500
"""Of each message of a conversation."""

_CONVERSATIONS = 2
"""Shown of the first, and of the last measurement, each."""

_TURNS = 12
"""First and last turns of a conversation that are shown."""


@dataclass(frozen=True, slots=True)
class ShownTurn:
    """A turn with its number; a number of 0 stands for turns that are left out, `left_out` of them."""

    number: int
    turn: Turn | None
    left_out: int = 0


@dataclass(frozen=True, slots=True)
class Shown:
    """A conversation as a page shows it."""

    conversation: Conversation
    ended: str
    turns: tuple[ShownTurn, ...]


def tune_page(story: TuneStory) -> str:
    """The page of a tuning run as HTML."""
    curves = [tune_figures.on_val(story), tune_figures.members(story), *tune_figures.lengths(story)]
    return render(
        "tune.html.j2",
        story=story,
        status=STATUSES.get(story.status, story.status),
        facts=_facts(story),
        results=_results(story),
        figures=[each for each in (*curves, tune_figures.endings(story)) if each],
        learning=[*movement(story), *tune_figures.gradients(story)],
        conversations=_conversations(story),
        environment=environment_table(story.version, story.environment),
        limit=SHOWN_CODE,
        shown=SHOWN_CHARACTERS,
    )


def _facts(story: TuneStory) -> tuple[Fact, ...]:
    dropped = sum(len(each.dropped) for each in story.generations)
    moved = sum(step.is_applied for step in story.steps)
    return (
        *_changes(story),
        Fact("training episodes", count(story.spent.get("episodes", 0)),
             f"of {count(story.settings.episodes)} planned; {count(story.spent.get('measuring', 0))} to measure"),
        *((Fact("steps that moved the weights", count(moved), f"of {count(len(story.steps))} taken"),)
          if story.steps else ()),
        Fact("tokens written", count(story.spent.get("tokens", 0)),
             f"in {count(story.spent.get('turns', 0))} turns, by {story.settings.model}"),
        Fact("tasks dropped", count(dropped), "because the surroundings failed, over all generations"),
        Fact("time", duration(story.hours * 3600), "from the first event to the last, without pauses"),
    )  # fmt: skip


def _changes(story: TuneStory) -> tuple[Fact, ...]:
    """From the first to the best score on val."""
    known = [each for each in story.on(VAL) if each.found.mean is not None]
    if not known:
        return (Fact("score on val", DASH, "not measured yet"),)
    best = max(known, key=lambda each: (each.found.mean or 0.0, -each.generation))
    chosen = "the weights that it chose" if story.chosen is not None else "the best so far"
    return (
        Fact("score on val", _score(best.found), f"{chosen}, after generation {best.generation}; "
             f"at the start {_score(known[0].found)}"),
    )  # fmt: skip


def _score(found: Measured) -> str:
    error = "" if found.error is None else f" ± {number(found.error, 2)}"
    return f"{number(found.mean, 3)}{error}"


def _results(story: TuneStory) -> Table | None:
    """The first and the chosen weights on every split that they were measured on."""
    rows: list[tuple[Cell, ...]] = []
    tries = sorted({j for each in story.measurements for j in each.found.passed}, key=int)
    for split in dict.fromkeys(each.split for each in story.measurements):
        for weights, found in (("start", _at_start(story, split)), ("chosen", _chosen(story, split))):
            if found is not None:
                rows.append((tables.words(f"{split}, {weights}"), *_row(found, tries)))
    heads = ("split, weights", "score", "standard error", *(f"Pass@{j}" for j in tries), "turns", "tokens", "tasks",
             "episodes", "faults")  # fmt: skip
    return table("The first and the chosen weights", heads, rows) if rows else None


def _row(found: Measured, tries: list[str]) -> tuple[Cell, ...]:
    return (
        tables.real(found.mean, 4),
        tables.real(found.error, 3),
        *(tables.real(found.passed.get(j), 4) for j in tries),
        tables.real(found.turns, 4),
        tables.real(found.tokens, 5),
        *map(tables.whole, (found.tasks, found.episodes, found.faults)),
    )


def _at_start(story: TuneStory, split: str) -> Measured | None:
    return next((each.found for each in story.on(split) if each.generation == 0), None)


def _chosen(story: TuneStory, split: str) -> Measured | None:
    """Val chose the weights by a measurement in the course; on other splits they have one of their own at the end."""
    if story.chosen is None:
        return None
    course = [each for each in story.on(VAL) if split == VAL and each.generation == story.chosen]
    return next((each.found for each in story.measurements if each.split == split and each.is_chosen), None) or (
        course[0].found if course else None
    )


def _conversations(story: TuneStory) -> list[Shown]:
    """Some of the first and of the last measurement on val."""
    own = [each for each in story.conversations if each.purpose == VAL]
    if not own:
        return [_shown(each) for each in story.conversations[:_CONVERSATIONS]]
    first, last = own[0].generation, own[-1].generation
    picked = [each for each in own if each.generation == first][:_CONVERSATIONS]
    if last != first:
        picked += [each for each in own if each.generation == last][:_CONVERSATIONS]
    return [_shown(each) for each in picked]


def _shown(conversation: Conversation) -> Shown:
    episode = conversation.episode
    numbered = [ShownTurn(place, turn) for place, turn in enumerate(episode.transcript, 1)]
    if (left_out := len(numbered) - 2 * _TURNS) > 0:
        numbered = [*numbered[:_TURNS], ShownTurn(0, None, left_out), *numbered[-_TURNS:]]
    return Shown(conversation, tune_figures.ENDED[episode.ended], tuple(numbered))

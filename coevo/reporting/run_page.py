"""The page of one run."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from coevo.reporting import figures, tables
from coevo.reporting.figures import Figure
from coevo.reporting.movement import movement
from coevo.reporting.page import render
from coevo.reporting.picture import Picture
from coevo.reporting.story import RunStory, SplitStory
from coevo.reporting.tables import Table, table
from coevo.reporting.text import DASH, count, duration, number, percent
from coevo.searching.metering import valid_share

SHOWN_CODE = 20_000
"""Characters of a program or an answer that a page shows; the rest is in the run directory."""
SHOWN_FAILURES = 25

STATUSES = {
    "done": "finished: the budget is spent",
    "target": "stopped: the target was reached",
    "patience": "stopped: no improvement for as long as was allowed",
    "time": "stopped: the time was up",
    "no-valid-candidate": "stopped: no candidate of the first population was valid",
    "interrupted": "interrupted, as result.json says; it can be resumed",
    "unfinished": "unfinished: it still runs, or was killed",
}


@dataclass(frozen=True, slots=True)
class Fact:
    """A number of the headline. `note` says what it is measured against."""

    name: str
    value: str
    note: str = ""


def run_page(story: RunStory, picture: Picture | None = None) -> str:
    """The page of a run as HTML.

    Args:
        story: What the run's events tell.
        picture: The best heuristic at work, or None to leave that section out.
    """
    return render(
        "run.html.j2",
        story=story,
        status=STATUSES.get(story.status, story.status),
        facts=headline(story),
        splits=splits_table(story),
        direction=figures.direction(story),
        picture=picture,
        failures=failures_table(story),
        environment=environment_table(story.version, story.environment),
        limit=SHOWN_CODE,
        **_figures(story),
    )


def _figures(story: RunStory) -> dict[str, list[Figure]]:
    """Figures by the section that holds them; what the events do not tell is left out."""
    groups: dict[str, list[Figure | None]] = {
        "progress": [figures.progress(story)],
        "operators": [figures.valid_share(story), figures.mean_reward(story)],
        "spending": [figures.spending(story)],
        "learning": [*movement(story)],
        "variety": [figures.diversity(story), figures.population(story)],
    }
    return {name: [figure for figure in group if figure] for name, group in groups.items()}


def headline(story: RunStory) -> tuple[Fact, ...]:
    """The numbers to see first."""
    facts = [_best_fact(story)]
    if story.reference is not None and story.best:
        known = f"best known {number(story.reference)}, search split"
        facts.append(Fact("gap", percent(story.best.gap), known))
    budget = story.budget
    meters = [f"of {count(budget.planned)} planned"]
    meters += [f"{count(budget.on_top)} on top"] if budget.on_top else []
    meters += [f"{count(budget.skill)} for the skill"] if budget.skill else []
    facts.append(Fact("completions charged", count(budget.operator), "; ".join(meters)))
    facts.append(Fact("valid children", percent(valid_share(story.valid, len(story.children)), 1), _of(story)))
    tokens = sum(use.tokens for use in story.operators)
    facts.append(Fact("tokens written", count(tokens), f"by {story.settings.model}"))
    facts.append(Fact("time", duration(story.hours * 3600), f"{duration(story.cpu_s)} of CPU to evaluate"))
    return tuple(facts)


def _of(story: RunStory) -> str:
    return f"{count(story.valid)} of {count(len(story.children))}"


def _best_fact(story: RunStory) -> Fact:
    name = f"objective ({figures.direction(story)})"
    if story.best is None or story.first is None:
        return Fact(name, DASH, "no valid candidate yet")
    chosen = "chosen heuristic" if story.is_chosen else "best so far"
    return Fact(name, number(story.best.objective), f"{chosen}, search split; first {number(story.first.objective)}")


def splits_table(story: RunStory) -> Table | None:
    """The best heuristic and its yardsticks on every split."""
    if not story.splits:
        return None
    heads = ["heuristic"]
    for split in story.splits:
        heads += [split.split, "gap"]
    rows = [[tables.words("best of this run"), *_measured(story.splits)]]
    for row in story.comparisons:
        name = row.name.replace("_", " ") + (" †" if row.is_textbook else "")
        rows.append([tables.words(name), *_measured(row.splits)])
    return table(f"Mean objective ({figures.direction(story)}) and gap to the best known", heads, rows)


def _measured(splits: tuple[SplitStory, ...]) -> list[tables.Cell]:
    cells = []
    for split in splits:
        spread = "" if split.spread is None else f" ± {number(split.spread, 2)}"
        shown = tables.real(split.objective)
        cells += [tables.Cell(shown.text + spread, shown.value), tables.share(split.gap)]
    return cells


def failures_table(story: RunStory) -> Table | None:
    """Reasons of failure, the most frequent first."""
    if not story.failures:
        return None
    rows = [(tables.words(reason), tables.whole(times)) for reason, times in story.failures[:SHOWN_FAILURES]]
    if rest := story.failures[SHOWN_FAILURES:]:
        others = sum(times for _, times in rest)
        rows.append((tables.words(f"{count(len(rest))} other reasons"), tables.whole(others)))
    return table("Why children were not valid", ("reason", "children"), rows)


def environment_table(version: str, environment: Mapping[str, Any]) -> Table:
    """Versions and machine: all but coevo's own version are what `environment.json` says."""
    facts = [("coevo", version)]
    for key, value in environment.items():
        pairs = value.items() if isinstance(value, dict) else [(key, value)]
        facts += [(str(name), DASH if fact is None else str(fact)) for name, fact in pairs if str(name) != "coevo"]
    rows = [(tables.words(name), tables.words(value)) for name, value in facts]
    return table("What it ran on, as environment.json says", ("what", "version or value"), rows)

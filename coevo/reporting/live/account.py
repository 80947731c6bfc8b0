"""A run told in full, as long as its page is looked at: its log is read on, its page drawn on demand."""

from abc import ABC, abstractmethod
from dataclasses import replace
from pathlib import Path

from coevo.experiments.probe_config import is_probe
from coevo.records.event_log import Event
from coevo.records.run_directory import RunDirectory
from coevo.reporting import figures
from coevo.reporting.figures import Figure
from coevo.reporting.grid_page import grid_page
from coevo.reporting.grid_story import tell_grid
from coevo.reporting.journal import Journal
from coevo.reporting.landscape_page import landscape_page
from coevo.reporting.live.lines import text_of
from coevo.reporting.live.pace import Pace
from coevo.reporting.live.rendering import LivePage, framed, live
from coevo.reporting.live.tail import EventTail, signature_of
from coevo.reporting.live.tally import tally_for
from coevo.reporting.live.thinning import noted, shortened, thinned
from coevo.reporting.movement import movement
from coevo.reporting.probe_page import probe_page
from coevo.reporting.probe_story import tell_probe
from coevo.reporting.run_page import SHOWN_CODE, STATUSES, environment_table, failures_table, headline, splits_table
from coevo.reporting.story import RunStory
from coevo.reporting.telling import story_of
from coevo.reporting.tune_page import tune_page
from coevo.reporting.tune_story import tell_tuning
from coevo.searching.api import config_of
from coevo.tuning.eval_config import kind_of

_MOST_LINE = 2**26
"""Bytes of a line that are read for the sake of one answer's text."""


class Account(ABC):
    """One run in full: its log is read on, and told when it is asked for.

    Attributes:
        tail: Of its log.
        tally: The few numbers of what has been read.
    """

    def __init__(self, path: Path):
        self.path = path
        self.tail = EventTail(RunDirectory.open(path).events, self._take, self._begin)
        self._begin()

    def _begin(self) -> None:
        self.tally = tally_for(self.path)
        self._pace = Pace()

    def _take(self, event: Event) -> None:
        self._pace.take(event)
        if event["kind"] not in self.tally.passed_over:
            self.tally.take(event)

    def read(self, until: float) -> bool:
        """Read on, at most until a monotonic time; returns whether all of the log has been read.

        Raises:
            RunError: If the log was edited or written by another version.
        """
        return self.tail.read(until)

    @abstractmethod
    def page(self, live_page: LivePage) -> str:
        """The page of what has been read, as HTML.

        Raises:
            CoevoError: If the run cannot be told.
        """


def account_of(path: Path) -> Account:
    """An account of the run in a directory, of any kind; nothing is read yet.

    Raises:
        RunError: If it is not a run directory, or its configuration does not fit this version.
    """
    return SearchAccount(path) if kind_of(path) == "" else ToldAccount(path)


class SearchAccount(Account):
    """A search: its journal is kept, so that only new events are read."""

    def __init__(self, path: Path):
        self._directory = RunDirectory.open(path)
        self._settings = config_of(path)
        super().__init__(path)

    def _begin(self) -> None:
        super()._begin()
        self._journal = Journal(self._settings.charge_first)
        self._places: dict[str, int] = {}

    def _take(self, event: Event) -> None:
        self._journal.take(event)
        super()._take(event)
        if event["kind"] == "completion":
            self._places[str(event["id"])] = self.tail.offset

    def story(self) -> RunStory:
        """What the events read so far tell."""
        return story_of(self._directory, self._settings, self._journal, self._answer)

    def _answer(self, name: str) -> str:
        """The text of a completion; texts are most of a log, and only those of a lineage are shown."""
        if (place := self._places.get(name)) is None:
            return ""
        try:
            if signature_of(self._directory.events) is None:  # no regular file any more: a pipe would never end
                return ""
            with self._directory.events.open("rb") as file:
                file.seek(place)
                return text_of(file.readline(_MOST_LINE), name)
        except (OSError, ValueError):  # it is being replaced
            return ""

    def page(self, live_page: LivePage) -> str:
        """The page of what has been read, as HTML."""
        story = self.story()
        groups = _figures(story, thinned(story))
        groups["spending"] += self._pace.figures()
        return live(
            "run.html.j2",
            live_page,
            story=story,
            status=live_page.words if story.status == "unfinished" else STATUSES.get(story.status, story.status),
            facts=headline(story),
            splits=splits_table(story),
            direction=figures.direction(story),
            picture=None,
            failures=failures_table(story),
            environment=environment_table(story.version, story.environment),
            limit=SHOWN_CODE,
            **{name: [shortened(figure) for figure in group] for name, group in groups.items()},
        )


def _figures(story: RunStory, few: RunStory) -> dict[str, list[Figure]]:
    """Figures by the section of the page that holds them; `few` is the same story with fewer generations and steps."""
    generations = (len(few.generations), len(story.generations))
    steps = (len(few.steps), len(story.steps))
    groups: dict[str, list[Figure | None]] = {
        "progress": [_noted(figures.progress(few), len(few.children), len(story.children), "children are shown")],
        "spending": [figures.spending(story)],
        "operators": [_noted(each, *generations) for each in (figures.valid_share(few), figures.mean_reward(few))],
        "learning": [_noted(each, *steps) for each in movement(few)],
        "variety": [_noted(each, *generations) for each in (figures.diversity(few), figures.population(few))],
    }
    return {name: [figure for figure in group if figure] for name, group in groups.items()}


def _noted(figure: Figure | None, shown: int, whole: int, what: str = "are drawn") -> Figure | None:
    return noted(figure, shown, whole, what) if figure else None


class ToldAccount(Account):
    """A run of another kind: its log is short enough to be told anew. Of it, only the throughput is kept."""

    def page(self, live_page: LivePage) -> str:
        """The page of the run as it is now, as HTML."""
        return framed(_report(self.path, live_page.words), live_page, self._pace.figures())


def _report(path: Path, words: str) -> str | None:
    """The report's page; None for a kind that has none."""
    kind = kind_of(path)
    if kind == "tune":
        story = tell_tuning(path)
        return tune_page(replace(story, status=words) if story.status == "unfinished" else story)
    if is_probe(path):
        probe = tell_probe(path)
        return probe_page(replace(probe, status=words) if probe.status == "unfinished" else probe)
    return landscape_page(path) if kind == "landscape" else None


def grid_page_of(path: Path, live_page: LivePage) -> str:
    """The page of a grid as it is now, as HTML: its tables, and the mean curves of its finished runs."""
    return framed(grid_page(tell_grid(path)), live_page, [])

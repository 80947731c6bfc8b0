"""From a run directory to its story: the log is read once, nothing is run."""

from collections.abc import Callable
from pathlib import Path

from coevo.content import ProblemFolder, find_problem
from coevo.errors import ContentError, RunError
from coevo.records.event_log import read_events
from coevo.records.run_directory import RunDirectory
from coevo.reporting.ending import Yardstick, comparisons_of, sense_of, splits_of
from coevo.reporting.environment import read_environment
from coevo.reporting.journal import Journal, Verdict
from coevo.reporting.lineage import lineage_of, read_source
from coevo.reporting.story import Improvement, RunStory
from coevo.searching.api import config_of
from coevo.searching.config import SearchConfig


def tell_run(path: Path) -> RunStory:
    """What a run's events tell, finished or not.

    Raises:
        RunError: If `path` is not the run directory of a search, or its log was edited or written by another version.
    """
    directory = RunDirectory.open(path)
    config = config_of(path)
    journal = Journal(config.charge_first)
    for event in read_events(directory.events) if directory.events.exists() else ():
        journal.take(event)
    return story_of(directory, config, journal, lambda name: journal.answers.get(name, ""))


def problem_of(story: RunStory) -> ProblemFolder | None:
    """The folder of a run's problem, or None if it is not at hand."""
    return _folder(story.settings)


def _folder(settings: SearchConfig) -> ProblemFolder | None:
    try:
        return find_problem(settings.problem)
    except (ContentError, OSError):
        return None


def story_of(
    directory: RunDirectory, settings: SearchConfig, journal: Journal, answer: Callable[[str], str]
) -> RunStory:
    """What a journal has taken so far, told of a run in a directory.

    Args:
        directory: The run.
        settings: Its configuration.
        journal: Its events.
        answer: The text of a completion by its name; empty where there is none.
    """
    folder = _folder(settings)
    sense = sense_of(journal.judged) or (folder.spec.sense if folder else "min")
    yardstick = Yardstick(sense, journal.references)
    improvements = tuple(_improvement(journal, *each, yardstick) for each in journal.improvements)
    chosen = _chosen(journal, yardstick)
    best = chosen or (improvements[-1] if improvements else None)
    splits = splits_of(journal, chosen.candidate, settings.splits, yardstick) if chosen else ()
    problem = str(journal.started.get("problem") or Path(settings.problem).name)
    return RunStory(
        name=directory.path.resolve().name,
        problem=problem,
        title=folder.spec.title if folder else problem,
        sense=sense,
        status=_status(directory, journal),
        version=str(journal.started.get("version", "")),
        content=str(journal.started.get("content", "")),
        settings=settings,
        config=(directory.path / "config.toml").read_text(errors="backslashreplace"),
        environment=read_environment(directory.path),
        fingerprints=(str(journal.started.get("fingerprint", "")), journal.fingerprint),
        budget=journal.budget,
        reference=journal.references.get("search"),
        first=improvements[0] if improvements else None,
        best=best,
        is_chosen=chosen is not None,
        source=read_source(directory.path, best.candidate) if best else None,
        splits=splits,
        comparisons=comparisons_of(journal, splits, yardstick),
        children=tuple(journal.children),
        improvements=improvements,
        batches=journal.batches(),
        generations=journal.generations(),
        planned_generations=len(journal.started.get("generations", ())),
        steps=tuple(journal.steps),
        guards=tuple(journal.guards),
        operators=journal.operators(),
        lineage=lineage_of(directory.path, journal, best.candidate, answer) if best else (),
        failures=journal.failures(),
        skills=tuple(journal.skills),
        resumed=journal.resumed,
        hours=journal.hours,
        cpu_s=journal.cpu_s,
    )


def _status(directory: RunDirectory, journal: Journal) -> str:
    if journal.finished:
        return str(journal.finished["status"])
    # That a run was stopped on purpose is no event: whether it goes on from there is not known yet.
    result = directory.result() or {}
    return "interrupted" if result.get("status") == "interrupted" else "unfinished"


def _improvement(journal: Journal, place: int, verdict: Verdict, yardstick: Yardstick) -> Improvement:
    assert verdict.cost is not None
    assert verdict.objective is not None
    operator = journal.operator_of(verdict.candidate)
    gap = yardstick.gap(verdict.objective)
    return Improvement(place, verdict.candidate, operator, verdict.cost, verdict.objective, gap)


def _chosen(journal: Journal, yardstick: Yardstick) -> Improvement | None:
    """The candidate the run chose at its end; it need not be the best on the search split."""
    if (identity := journal.finished.get("best")) is None:
        return None
    verdict = journal.judged.get(str(identity), {}).get("search")
    if verdict is None or verdict.cost is None:
        raise RunError(f"expected a verdict on the chosen candidate {identity!r} in the log, found none; it was edited")
    origin = journal.origins.get(verdict.candidate)
    return _improvement(journal, origin.place if origin else 0, verdict, yardstick)

"""From a run directory to its story: the log is read once, nothing is run."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from coevo.content import ProblemFolder, explain, find_problem
from coevo.errors import ContentError, RunError
from coevo.records.event_log import read_events
from coevo.records.run_directory import RunDirectory
from coevo.reporting.ending import comparisons_of, gap_of, sense_of, splits_of
from coevo.reporting.environment import read_environment
from coevo.reporting.journal import Journal, Verdict
from coevo.reporting.lineage import lineage_of, read_source
from coevo.reporting.story import Improvement, RunStory, Sense
from coevo.searching.result import SearchResult


def tell_run(path: Path) -> RunStory:
    """What a run's events tell, finished or not.

    Raises:
        RunError: If `path` is not a run directory, or its log was edited or written by another version.
    """
    directory = RunDirectory.open(path)
    settings = directory.config()
    journal = Journal(bool(settings.get("charge_first", True)))
    for event in read_events(directory.events) if directory.events.exists() else ():
        journal.take(event)
    return _story(directory, settings, journal, _result(directory))


def problem_of(story: RunStory) -> ProblemFolder | None:
    """The folder of a run's problem, or None if it is not at hand."""
    return _folder(story.settings)


def _folder(settings: Mapping[str, Any]) -> ProblemFolder | None:
    try:
        return find_problem(str(settings.get("problem", "")))
    except ContentError:
        return None


def _result(directory: RunDirectory) -> SearchResult | None:
    values = directory.result()
    try:
        return None if values is None else SearchResult.model_validate(values)
    except ValidationError as error:
        raise RunError(f"{directory.path / 'result.json'}: {explain(error)}") from error


def _story(
    directory: RunDirectory, settings: Mapping[str, Any], journal: Journal, result: SearchResult | None
) -> RunStory:
    folder = _folder(settings)
    sense = sense_of(journal.judged) or (folder.spec.sense if folder else "min")
    reference = _number(journal.started.get("reference"))
    improvements = _improvements(journal, sense, reference)
    chosen = _chosen(journal, sense, reference)
    best = chosen or (improvements[-1] if improvements else None)
    verdicts = journal.judged.get(best.candidate, {}) if best else {}
    ended = result if journal.finished else None
    problem = str(journal.started.get("problem") or Path(str(settings.get("problem", "?"))).name)
    return RunStory(
        name=directory.path.resolve().name,
        problem=problem,
        title=folder.spec.title if folder else problem,
        sense=sense,
        status=_status(journal, result),
        version=str(journal.started.get("version", "")),
        content=str(journal.started.get("content", "")),
        settings=settings,
        config=(directory.path / "config.toml").read_text(errors="backslashreplace"),
        environment=read_environment(directory.path),
        fingerprints=(str(journal.started.get("fingerprint", "")), journal.fingerprint),
        budget=journal.budget,
        reference=reference,
        first=improvements[0] if improvements else None,
        best=best,
        is_chosen=chosen is not None,
        source=read_source(directory.path, best.candidate) if best else None,
        splits=splits_of(verdicts, ended.splits) if ended else (),
        comparisons=comparisons_of(journal.baselines, ended) if ended else (),
        children=tuple(journal.children),
        improvements=improvements,
        batches=journal.batches(),
        generations=journal.generations(),
        planned_generations=len(journal.started.get("generations", ())),
        steps=tuple(journal.steps),
        operators=journal.operators(),
        lineage=lineage_of(directory.path, journal, best.candidate) if best else (),
        failures=journal.failures(),
        skills=tuple(journal.skills),
        resumed=journal.resumed,
        hours=journal.hours,
        cpu_s=journal.cpu_s,
    )


def _status(journal: Journal, result: SearchResult | None) -> str:
    if journal.finished:
        return str(journal.finished["status"])
    return "interrupted" if result is not None else "unfinished"


def _improvements(journal: Journal, sense: Sense, reference: float | None) -> tuple[Improvement, ...]:
    return tuple(_improvement(journal, place, verdict, sense, reference) for place, verdict in journal.improvements)


def _improvement(journal: Journal, place: int, verdict: Verdict, sense: Sense, reference: float | None) -> Improvement:
    assert verdict.cost is not None
    assert verdict.objective is not None
    gap = gap_of(sense, verdict.objective, reference)
    operator = journal.operator_of(verdict.candidate)
    return Improvement(place, verdict.candidate, operator, verdict.cost, verdict.objective, gap)


def _chosen(journal: Journal, sense: Sense, reference: float | None) -> Improvement | None:
    """The candidate the run chose at its end; it need not be the best on the search split."""
    if (identity := journal.finished.get("best")) is None:
        return None
    verdict = journal.judged.get(str(identity), {}).get("search")
    if verdict is None or verdict.cost is None:
        raise RunError(f"expected a verdict on the chosen candidate {identity!r} in the log, found none; it was edited")
    origin = journal.origins.get(verdict.candidate)
    return _improvement(journal, origin.place if origin else 0, verdict, sense, reference)


def _number(value: Any) -> float | None:
    return None if value is None else float(value)

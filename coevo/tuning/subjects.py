"""Whose weights are played without being trained: a model's own, or those that a tuning run had after a generation."""

from collections.abc import Iterable
from dataclasses import dataclass, replace
from pathlib import Path

from coevo.errors import ConfigError, RunError
from coevo.es.history import read_history
from coevo.es.record import StepRecord
from coevo.interfaces import Engine
from coevo.learning.choice import ModelChoice
from coevo.learning.models import OpenModel, open_model
from coevo.records.event_log import Event, read_events
from coevo.records.results import read_result
from coevo.records.run_directory import RunDirectory
from coevo.skills import Skill
from coevo.tuning.config import tune_config_of
from coevo.tuning.result import TuneResult

BEST, LAST = "best", "last"

GRADIENT = "gradient"
"""Where a baseline keeps its weights in a run directory."""


@dataclass(frozen=True, slots=True)
class Subject:
    """Weights that play.

    Attributes:
        choice: The model they begin with, and how it is served.
        run: The tuning run that moved them, or None.
        generation: After which of its generations they are taken; 0 is the model as the run began.
        seed: The run's, None without one.
        skill: What the run's prompts held of its skill when it measured these weights; empty for none.
        follows: Whether the run's history leads to them; a baseline has none, and keeps its best weights as a model.
    """

    choice: ModelChoice
    run: Path | None = None
    generation: int = 0
    seed: int | None = None
    skill: str = ""
    follows: bool = False


def subject_of(run: Path, generation: int, choice: ModelChoice) -> Subject:
    """The weights of a tuning run after a generation, with the skill of that time.

    Raises:
        ConfigError: If the run does not have them any more.
        RunError: If the run or its log cannot be read.
    """
    config = tune_config_of(run)
    if config.method != "es" and generation > 0:
        choice = replace(choice, model=str(_kept(run, generation)))
    skill = _skill(run, generation)
    return Subject(choice, run, generation, config.seed, skill, follows=config.method == "es")


def _kept(run: Path, generation: int) -> Path:
    """The model folder of a baseline's best weights."""
    folder = run / GRADIENT / BEST
    if generation != _best(run) or not folder.is_dir():
        raise ConfigError(
            f"expected --generation {BEST} or 0 of {run}: its method keeps no other weights, got {generation}"
        )
    return folder


def _skill(run: Path, generation: int) -> str:
    text = ""
    for event in read_events(RunDirectory.open(run).events):
        # The skill is brought up to date after a generation's measurement, so the measured one is an earlier one.
        if event["kind"] == "skill" and event["generation"] < generation:
            text = str(event["text"])
    return Skill.parse(text).guidance().text if text else ""


def generation_of(run: Path, name: str) -> int:
    """The generation that a user means.

    Args:
        run: A tuning run.
        name: Its number, "last", or "best" for the one that `val` chose.

    Raises:
        ConfigError: If it is none of these, or the run has not come so far.
        RunError: If there is no such run.
    """
    events = list(read_events(RunDirectory.open(run).events))
    last = last_generation(run, events)
    if name == LAST:
        return last
    if name == BEST:
        return _best(run)
    if not (name.isascii() and name.isdigit()):
        raise ConfigError(f"expected {BEST}, {LAST} or the number of a generation, got {name!r}")
    if int(name) > last:
        raise ConfigError(f"expected a generation up to {last} of {run}, got {name}")
    return int(name)


def last_generation(run: Path, events: Iterable[Event]) -> int:
    """The last generation that events tell of; 0 for none.

    Raises:
        RunError: For an event that lacks what this version writes.
    """
    try:
        return max((int(event["generation"]) for event in events if event["kind"] == "generation"), default=0)
    except (KeyError, TypeError, ValueError) as error:
        raise _foreign(run, error) from error


def _foreign(run: Path, error: Exception) -> RunError:
    return RunError(
        f"expected events as this version writes them in {run}, got {type(error).__name__} {error}; the log was "
        "edited, or another version wrote it"
    )


def _best(run: Path) -> int:
    result = read_result(run, TuneResult, "a tuning run")
    best = None if result is None else result.best
    if best is None:
        raise ConfigError(
            f"expected a run that has chosen its best weights, got {run}; finish it by coevo resume, or name a "
            f"generation, or {LAST}"
        )
    return best.generation


def open_subject(subject: Subject) -> OpenModel:
    """Start the engine and take its weights along the run's history; they are the run's bits, or it is refused.

    Raises:
        ModelError: If the model cannot be loaded.
        RunError: If the history is damaged, or is that of another model.
    """
    model = open_model(subject.choice)
    try:
        if subject.run is not None and subject.follows:
            follow(subject.run, subject.generation, model.engine)
    except BaseException:
        model.engine.close()
        raise
    return model


def follow(run: Path, generation: int, engine: Engine) -> None:
    """Take an engine that serves the run's first weights to those after a generation, along the history.

    Raises:
        RunError: If it serves others, or the history is damaged, or is that of another model.
    """
    start = f"{engine.fingerprint():016x}"
    events = list(read_events(RunDirectory.open(run).events))
    began = next((event["fingerprint"] for event in events if event["kind"] == "started"), None)
    if began != start:
        raise RunError(
            f"expected the model that {run} began with (fingerprint {began}), got {start}; name that one by --model"
        )
    for record in _records(run, generation, events):
        if record.update is None:
            continue
        reached = f"{engine.commit(record.update):016x}"
        if record.fingerprint not in (None, reached):
            raise RunError(
                f"expected fingerprint {record.fingerprint} after step {record.step} of {run}, got {reached}; its "
                "history was edited, or another version wrote it"
            )


def _records(run: Path, generation: int, events: list[Event]) -> list[StepRecord]:
    """The steps up to a generation, all that the events tell of."""
    file = RunDirectory(run).history
    try:
        lines = file.read_text().splitlines(keepends=True) if file.exists() else []
        found = [record for record in read_history(lines) if record.generation <= generation]
        told = [event["step"] for event in events if event["kind"] == "step" and event["generation"] <= generation]
    except (UnicodeDecodeError, KeyError, TypeError) as error:
        raise _foreign(run, error) from error
    if [record.step for record in found] != told:
        raise RunError(f"expected the steps {told} of the run in {file}, found {len(found)} of them; restore it")
    return found

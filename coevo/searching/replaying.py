"""Rebuild the weights of a run from its base model and its history, without generating.

The history holds a fingerprint for every step, so a replay that goes astray says where.
"""

import logging
import os
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from coevo.engines.guiding import basis_file
from coevo.engines.policy import WeightPolicy
from coevo.engines.storage import exact_storage
from coevo.errors import RunError
from coevo.es.history import read_history
from coevo.es.record import StepRecord, WeightRecipe
from coevo.records.event_log import Event
from coevo.records.run_directory import RunDirectory
from coevo.searching.api import FINAL, Run, load_run

if TYPE_CHECKING:
    from coevo.engines.loading import ModelFolder
    from coevo.engines.replay import ReplayedWeights

_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Replay:
    """What the replay of a run came to. Fingerprints are 16 hexadecimal digits.

    Attributes:
        run: The run directory.
        model: The folder its model was read from.
        steps: Steps in the history.
        updates: How many of them moved the weights.
        fingerprint: Of the weights that the history leads to.
        recorded: Of the weights that the run reported at its end, or after its last recorded step.
        missing: Steps that the event log has and the history has not.
        parts_at: Index of the first step whose recorded fingerprint is not reached, or None.
    """

    run: str
    model: str
    steps: int
    updates: int
    fingerprint: str
    recorded: str
    missing: int
    parts_at: int | None

    @property
    def agrees(self) -> bool:
        """Whether the history gives the weights that the run reported, at every step."""
        return self.parts_at is None and self.missing == 0 and self.fingerprint == self.recorded


Load = Callable[[str | Path], Run]
"""Reads a run directory; another kind of run than a search has a reader of its own."""


def replay_run(
    path: str | Path, *, model: str | None = None, load: Load = load_run, until: int | None = None
) -> Replay:
    """Apply a run's recorded updates to the model it began with: `coevo replay` as a function.

    Args:
        path: The run directory.
        model: The model it began with, where that lies elsewhere now.
        load: Reads the directory.
        until: The last generation to replay; all of them if None.

    Raises:
        RunError: If it is no run whose weights move, its history is damaged, or it is the history of another model.
        ModelError: If the model cannot be loaded.
    """
    return replayed(load(path), model, until)[0]


def replayed(run: Run, model: str | None, until: int | None) -> "tuple[Replay, ReplayedWeights]":
    """What the replay of a run came to, and the weights it led to; see `replay_run`."""
    from coevo.engines.loading import inspect_folder, resolve_model
    from coevo.engines.replay import open_weights

    _check_learns(run)
    started, steps = _told_by_events(run, until)
    history = _history(run, steps if started else None, until)
    policy = _policy(run, history)
    folder = resolve_model(model or run.config.model)
    _check_storage(inspect_folder(folder), policy, history)
    weights = open_weights(folder, policy, threads=len(os.sched_getaffinity(0)))
    _check_basis(weights, history)
    now = start = _hex(weights.weights.fingerprint())
    _check_start(run, folder, start, started)
    parts_at = None
    for record, now in zip(history, _fingerprints(weights, history, start), strict=True):
        if parts_at is None and record.fingerprint not in (None, now):
            parts_at = record.step
    report = Replay(
        run=str(run.path),
        model=str(folder),
        steps=len(history),
        updates=sum(record.applied for record in history),
        fingerprint=now,
        recorded=_recorded(run, history, start, until),
        missing=len(steps) - len(history),
        parts_at=parts_at,
    )
    return report, weights


def _fingerprints(weights: "ReplayedWeights", history: list[StepRecord], start: str) -> Iterator[str]:
    """The fingerprint after every step; a step that moved nothing costs nothing."""
    now = start
    for record in history:
        if record.update is not None:
            now = _hex(next(weights.follow([record.update])))
        yield now


def _check_learns(run: Run) -> None:
    config = run.config
    if not config.has_es:
        raise RunError(
            f"expected a run whose weights move, got {run.path}, which ran with "
            f"{'--es off' if config.method != 'grammar' else '--method grammar'}; its weights are those of its model"
        )
    if config.engine in ("scripted", "endpoint"):
        raise RunError(f"expected a run whose weights move, got {run.path}: the {config.engine} engine has no weights")


def _told_by_events(run: Run, until: int | None) -> tuple[Event | None, list[int]]:
    """The event that began the run, if there is one, and the steps it took up to a generation."""
    events = run.events()
    started = next((event for event in events if event["kind"] == "started"), None)
    steps = [event for event in events if event["kind"] == "step"]
    return started, [event["step"] for event in steps if until is None or event["generation"] <= until]


def _history(run: Run, steps: list[int] | None, until: int | None) -> list[StepRecord]:
    """The history up to a generation, checked to begin as the event log's steps do; unchecked before a run begins."""
    file = RunDirectory(run.path).history
    if steps and not file.is_file():
        raise RunError(f"expected the history of {len(steps)} steps in {file}, found none; {_way_out(run)}")
    try:
        lines = file.read_text().splitlines(keepends=True) if file.is_file() else []
        history = [record for record in read_history(lines) if until is None or record.generation <= until]
    except (RunError, UnicodeDecodeError) as error:
        raise RunError(f"{file}: {error}; {_way_out(run)}") from error
    found = [record.step for record in history]
    if steps is None:
        return history
    if found != steps[: len(found)]:
        raise RunError(f"expected steps {steps} of the run in {file}, in order, found {found}; {_way_out(run)}")
    if len(found) < len(steps):
        _log.warning(
            "%s holds %d of the run's %d steps; %s", file, len(found), len(steps), _way_out(run, deleting=False)
        )
    return history


def _way_out(run: Run, *, deleting: bool = True) -> str:
    """A run that goes on repeats its past and adds what its history lacks; one that has a result may not go on.

    Args:
        run: The run.
        deleting: Whether what is there of the history must go first.
    """
    directory = RunDirectory(run.path)
    files = [directory.history] if deleting else []
    there = " and ".join(str(file) for file in [*files, directory.result_file] if file.is_file())
    return f"restore it, or {f'delete {there} and ' if there else ''}have it completed by: coevo resume {run.path}"


def _policy(run: Run, history: list[StepRecord]) -> WeightPolicy:
    weights = run.config.weights
    recipe = history[-1].recipe if history else WeightRecipe(weights.scope, rule=weights.update_rule)
    return WeightPolicy(scope=recipe.scope, update_rule=recipe.rule, basis=weights.basis)


def _check_storage(folder: "ModelFolder", policy: WeightPolicy, history: list[StepRecord]) -> None:
    kept = exact_storage(folder.dtype, policy.update_rule)
    if history and kept != history[-1].storage:
        raise RunError(
            f"expected weights kept in {history[-1].storage}, as the history says, got {kept} in {folder.path}; "
            "this is the history of another model: name the one the run began with by --model"
        )


def _check_basis(weights: "ReplayedWeights", history: list[StepRecord]) -> None:
    wanted, found = history[-1].recipe.basis if history else 0, weights.basis
    if wanted and (found is None or found.identity != wanted):
        raise RunError(
            f"expected the basis {wanted:016x} that the run moved in, got {found and f'{found.identity:016x}'} in "
            f"{basis_file(weights.policy, weights.folder.path)}; put the one it began with there"
        )


def _check_start(run: Run, folder: Path, start: str, started: Event | None) -> None:
    if started is None:
        raise RunError(f"expected a run that has begun, got {run.path}: its event log does not say with which weights")
    if started.get("fingerprint") != start:
        raise RunError(
            f"expected the model that the run began with (fingerprint {started.get('fingerprint')}), got {start} in "
            f"{folder}; this is the history of another model: name the one the run began with by --model"
        )


def _recorded(run: Run, history: list[StepRecord], start: str, until: int | None) -> str:
    if until is None and run.result is not None and run.result.status in FINAL:
        return run.result.fingerprint
    return next((record.fingerprint for record in reversed(history) if record.fingerprint), start)


def _hex(fingerprint: int) -> str:
    return f"{fingerprint:016x}"

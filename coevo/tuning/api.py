"""Start a tuning run, or go on with one: the functions behind the commands and `coevo.api`."""

import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

from coevo import __version__
from coevo.cluster.address import moved
from coevo.learning.models import open_model
from coevo.records.environment import describe_environment
from coevo.records.event_log import SCHEMA_VERSION, Listener
from coevo.records.results import check_end, read_result
from coevo.records.run_directory import RunDirectory
from coevo.tuning.assemble import Assembled, assembled_tuning
from coevo.tuning.closing import closing
from coevo.tuning.config import VAL, TuneConfig, absolute, tune_config_of
from coevo.tuning.loop import Headway, measure, train
from coevo.tuning.memory import peak_memory_mb
from coevo.tuning.result import FINAL, TuneResult
from coevo.tuning.subjects import follow


def run_tuning(config: TuneConfig, *, runs_dir: Path, listeners: tuple[Listener, ...] = ()) -> TuneResult:
    """Tune in a new run directory.

    Args:
        config: What to tune, in which environment, for how long.
        runs_dir: Where the run directory is made.
        listeners: Called with every event.

    Raises:
        CoevoError: If an input cannot be used; nothing has been written then.
        KeyboardInterrupt: With the run's path, after it has been closed; `resume_tuning` goes on with it.
    """
    config = absolute(config)
    name = f"tune-{Path(config.env).name}-s{config.seed}"

    def create() -> RunDirectory:
        return RunDirectory.create(runs_dir, name, config.model_dump(mode="json"))

    return _run(config, create, listeners)


def resume_tuning(run: Path, *, ray: str | None = None, listeners: tuple[Listener, ...] = ()) -> TuneResult:
    """Go on with a run that was interrupted or killed; the result of a finished run is returned as it is.

    Args:
        run: Its directory.
        ray: Another Ray cluster, or "none" for this machine; kept in the run's configuration.
        listeners: Called with every event, recorded ones included.

    Raises:
        RunError: If `run` is not a tuning run, is in use, no longer reproduces its own past, or has a
            result and a log that does not end.
    """
    config, found = moved(tune_config_of(run), ray), load_tuning(run)
    if found is not None and found.status in FINAL:
        check_end(run)
        return found
    return _run(config, lambda: RunDirectory(run), listeners)


def load_tuning(run: Path) -> TuneResult | None:
    """The result of a tuning run, or None while there is none.

    Raises:
        RunError: If `run` is not a run directory, or another version wrote the result.
    """
    return read_result(run, TuneResult, "a tuning run")


def _run(config: TuneConfig, open_directory: Callable[[], RunDirectory], listeners: tuple[Listener, ...]) -> TuneResult:
    started = time.monotonic()
    with assembled_tuning(config, open_directory, listeners) as parts:
        if tune_config_of(parts.directory.path) != config:  # the log is open: nobody else writes here
            parts.directory.save_config(config.model_dump(mode="json"))
        opening = _opening(parts)
        parts.directory.save_environment(
            {**describe_environment(), "model": config.model, "fingerprint": opening["fingerprint"]}
        )
        try:
            parts.tuning.log.emit("started", **opening)
            headway = train(parts.tuning)
            peak_mb = peak_memory_mb()
            _measure_chosen(parts, headway)
        except KeyboardInterrupt:
            _save(parts, started, "interrupted")
            raise KeyboardInterrupt(str(parts.directory.path)) from None
        parts.tuning.log.emit("finished", clock={"peak_mb": peak_mb}, status=headway.status)
        return _save(parts, started, headway.status)


def _opening(parts: Assembled) -> dict[str, Any]:
    """What a run must find unchanged when it is resumed."""
    return {
        "schema_version": SCHEMA_VERSION,
        "version": __version__,
        "experiment": "tune",
        "env": parts.arena.folder.spec.name,
        "content": parts.arena.digest,
        "tasks": {split: len(tasks) for split, tasks in parts.tuning.tasks.items()},
        "fingerprint": f"{parts.model.engine.fingerprint():016x}",
    }


def _measure_chosen(parts: Assembled, headway: Headway) -> None:
    """Measure the weights that `val` chose on the splits the configuration names, and record which they are.

    Where they are not the last ones, the model is opened anew and taken there along the history: nothing is undone. A
    baseline has kept them.
    """
    if headway.chosen is None:
        return
    generation, mean = headway.chosen.generation, headway.chosen.score.mean
    tuning, engine = parts.tuning, parts.model.engine
    tuning.rollouts.prompter = tuning.rollouts.prompter.taught(headway.chosen.skill)
    with_chosen = tuning.field
    if generation < headway.last and parts.baseline is not None:
        parts.baseline.go_back(generation)
    elif generation < headway.last:
        engine.close()
        engine = open_model(tuning.config.choice).engine
        with_chosen = parts.play_with(engine)
    try:
        if engine is not parts.model.engine:
            follow(parts.directory.path, generation, engine)
        tuning.log.emit("chosen", generation=generation, mean=mean, fingerprint=f"{engine.fingerprint():016x}")
        for split in tuning.config.splits:
            measure(replace(tuning, field=with_chosen), generation, split, ".chosen")
    finally:
        if engine is not parts.model.engine:
            engine.close()


def _save(parts: Assembled, started: float, status: str) -> TuneResult:
    """Write and return the result of what the log says so far."""
    values = closing(parts.directory, parts.tuning.config, VAL)
    result = TuneResult.model_validate(
        {
            **values,
            "status": status,
            "env": parts.arena.folder.spec.name,
            "wall_s": round(time.monotonic() - started, 3),
            "run": str(parts.directory.path),
        }
    )
    parts.directory.save_result(result.model_dump(mode="json"))
    return result

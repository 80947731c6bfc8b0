"""Evaluate agents in a run directory of their own, or go on with it: the functions behind `coevo eval-agent`.

Every number of a result is computed from the recorded episodes.
"""

import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from coevo.engines.endpoint.spending import CapReachedError
from coevo.errors import ConfigError
from coevo.experiments.case_statistics import evaluated, over_runs
from coevo.explaining import explain
from coevo.learning.paying import paid
from coevo.records.event_log import Event, Listener, read_events
from coevo.records.results import check_end, read_result
from coevo.records.run_directory import RunDirectory
from coevo.tuning.episodes import Episode, past_episodes
from coevo.tuning.eval_config import EvalConfig, eval_config_of, make_eval_config
from coevo.tuning.eval_result import EvalResult, Evaluated, OverRuns, Row
from coevo.tuning.evaluating import evaluation


def eval_agent(
    env: str | None = None,
    *,
    runs: Sequence[str | Path] = (),
    generation: str | None = None,
    runs_dir: str | Path = "runs",
    **options: Any,
) -> EvalResult:
    """Measure agents: `coevo eval-agent` as a function.

    Args:
        env: Name of an environment, or path of its folder; that of the runs without one.
        runs: Tuning runs whose weights play; without any, the model as it is.
        generation: "best", "last" or the number of one.
        runs_dir: Where the run directory is made.
        options: Any other field of `EvalConfig`, e.g. `repeats=8`.

    Raises:
        CoevoError: If an input cannot be used; nothing has been written then.
    """
    values = options if env is None else {"env": env, **options}
    return run_eval(make_eval_config(values, runs, generation), runs_dir=Path(runs_dir))


def run_eval(config: EvalConfig, *, runs_dir: Path, listeners: tuple[Listener, ...] = ()) -> EvalResult:
    """Evaluate in a new run directory `eval-<environment>-s<seed>-<time>`.

    Raises:
        CoevoError: If an input cannot be used; nothing has been written then.
        KeyboardInterrupt: With the run's path, after it has been closed; `resume_eval` goes on with it.
    """
    name = f"eval-{Path(config.env).name}-s{config.seed}"

    def create() -> RunDirectory:
        return RunDirectory.create(runs_dir, name, config.model_dump(mode="json"))

    return _run(config, create, listeners)


def resume_eval(
    run: Path, *, allowance: Mapping[str, float] | None = None, listeners: tuple[Listener, ...] = ()
) -> EvalResult:
    """Go on with an evaluation that was interrupted, killed or at a cap; the result of a finished one is returned.

    Args:
        run: Its directory.
        allowance: Fields of the allowance that are to be others from now on, such as a higher cap; they are kept in
            the run's configuration.
        listeners: Called with every event, recorded ones included.

    Raises:
        RunError: If `run` is not that of one, is in use, no longer reproduces its own past, or has a
            result and a log that does not end.
        ConfigError: If the allowance does not suit the run.
    """
    config, found = eval_config_of(run), load_eval(run)
    if found is not None and found.status == "done":
        check_end(run)
        return found
    values = config.model_dump()
    values["allowance"] |= allowance or {}
    try:
        config = EvalConfig.model_validate(values)
    except ValidationError as error:
        raise ConfigError(explain(error)) from error
    return _run(config, lambda: RunDirectory(run), listeners)


def load_eval(run: Path) -> EvalResult | None:
    """The result of an evaluation, or None while there is none.

    Raises:
        RunError: If `run` is not a run directory, or another version wrote the result.
    """
    return read_result(run, EvalResult, "an evaluation")


def _run(config: EvalConfig, open_directory: Callable[[], RunDirectory], listeners: tuple[Listener, ...]) -> EvalResult:
    started = time.monotonic()
    with evaluation(config, open_directory, listeners) as (ground, play):
        if eval_config_of(ground.directory.path).allowance != config.allowance:  # the log is open: nobody else writes
            ground.directory.save_config(config.model_dump(mode="json"))
        status = "done"
        try:
            play()
        except CapReachedError as reached:
            status = reached.cap
        except KeyboardInterrupt:
            _save(ground.directory, config, started, "interrupted")
            raise KeyboardInterrupt(str(ground.directory.path)) from None
        return _save(ground.directory, config, started, status)


def _save(directory: RunDirectory, config: EvalConfig, started: float, status: str) -> EvalResult:
    """Write and return the result of what the log says so far."""
    events = list(read_events(directory.events))
    rows, episodes = rows_of(events), list(past_episodes(events).values())
    result = EvalResult.model_validate(
        {
            "status": status,
            "env": next((event["env"] for event in events if event["kind"] == "started"), config.env),
            "repeats": config.repeats,
            "rows": [row.model_dump() for row in rows],
            "over_runs": {split: found.model_dump() for split, found in _over_runs(rows, config.splits).items()},
            "episodes": len(episodes),
            "turns": sum(episode.turns for episode in episodes),
            "tokens": sum(episode.tokens + episode.lost for episode in episodes),
            "paid": {role: each.model_dump() for role, each in paid(events, config.allowance).items()},
            "wall_s": round(time.monotonic() - started, 3),
            "run": str(directory.path),
        }
    )
    directory.save_result(result.model_dump(mode="json"))
    return result


def rows_of(events: Sequence[Event]) -> list[Row]:
    """Every subject that the events of an evaluation tell of, with the splits it has played to their end.

    Raises:
        RunError: For an event that lacks what this version writes.
    """
    at_best = next((float(event["at_best"]) for event in events if event["kind"] == "started"), 1.0)
    known = past_episodes(events)
    return [
        _row(event, _splits(events, event["place"], known, at_best)) for event in events if event["kind"] == "subject"
    ]


def _row(subject: Event, splits: dict[str, Evaluated]) -> Row:
    return Row(
        run=subject["run"],
        generation=subject["generation"],
        seed=subject["seed"],
        fingerprint=subject["fingerprint"],
        has_skill=bool(subject["skill"]),
        splits=splits,
    )


def _splits(events: Sequence[Event], place: int, known: dict[str, Episode], at_best: float) -> dict[str, Evaluated]:
    """The splits of one subject: the episodes between the event that begins to play one and that of its end."""
    splits: dict[str, Evaluated] = {}
    own: list[Episode] = []
    for event in events:
        if event["kind"] == "playing":
            own = []
        elif event["kind"] == "episode":
            own.append(known[str(event["id"])])
        elif event["kind"] == "measured" and event["subject"] == place:
            splits[event["split"]] = evaluated(own, at_best=at_best)
    return splits


def _over_runs(rows: Sequence[Row], splits: Sequence[str]) -> dict[str, OverRuns]:
    found = {
        split: over_runs([row.splits[split] for row in rows if row.run is not None and split in row.splits])
        for split in splits
    }
    return {split: over for split, over in found.items() if over is not None}

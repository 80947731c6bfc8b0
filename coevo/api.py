"""The commands `search` and `tune` as functions: the loops from below, and whoever is to follow them."""

from collections.abc import Collection, Iterable
from pathlib import Path
from typing import Any

from coevo.errors import ConfigError
from coevo.records.event_log import Listener
from coevo.reporting.trackers.tracking import tracking
from coevo.searching.api import run_search
from coevo.searching.config import make_config
from coevo.searching.idle import refuse_idle
from coevo.searching.result import SearchResult
from coevo.tuning.api import run_tuning
from coevo.tuning.config import make_tune_config
from coevo.tuning.result import TuneResult


def search(
    problem: str = "tsp",
    *,
    budget: int | None = None,
    recipe: str | None = None,
    runs_dir: str | Path = "runs",
    track: str | Iterable[str] = (),
    listeners: Collection[Listener] = (),
    **options: Any,
) -> SearchResult:
    """Search for a better heuristic: `coevo search` as a function.

    Args:
        problem: Name of a problem, or path of its folder.
        budget: Operator completions in all; 200 unless a recipe says otherwise.
        recipe: Name of published settings.
        runs_dir: Where the run directory is made.
        track: Trackers that get the numbers while the run goes on: tensorboard, wandb, mlflow or trackio.
        listeners: Called with every event of the run, in order, in the thread that called this function; an exception
            of theirs ends the run. See also `coevo.records.event_log.Follower`.
        options: Any other field of `SearchConfig`, e.g. `seed=1`, `es="off"`, `evolution_strategy={"sigma": 0.01}`.

    Returns:
        The result, as in the run's `result.json`.

    Raises:
        CoevoError: If an input cannot be used; nothing has been written then.
        KeyboardInterrupt: With the run's path, after it has been closed; `coevo resume` goes on with it.
    """
    values = {"problem": problem, **options}
    if budget is not None or recipe is None:
        values["budget"] = 200 if budget is None else budget
    refuse_idle(values)
    config = make_config(values, recipe)
    return run_search(config, runs_dir=Path(runs_dir), listeners=_following(track, listeners))


def tune(
    env: str = "sudoku",
    *,
    recipe: str | None = None,
    runs_dir: str | Path = "runs",
    track: str | Iterable[str] = (),
    listeners: Collection[Listener] = (),
    **options: Any,
) -> TuneResult:
    """Fine-tune an agent: `coevo tune` as a function.

    Args:
        env: Name of an environment, or path of its folder.
        recipe: Name of published settings.
        runs_dir: Where the run directory is made.
        track: As for `search`.
        listeners: As for `search`.
        options: Any other field of `TuneConfig`, e.g. `seed=1`, `options={"blanks": 10}`.

    Returns:
        The result, as in the run's `result.json`.

    Raises:
        CoevoError: If an input cannot be used; nothing has been written then.
        KeyboardInterrupt: With the run's path, after it has been closed; `coevo resume` goes on with it.
    """
    config = make_tune_config({"env": env, **options}, recipe)
    return run_tuning(config, runs_dir=Path(runs_dir), listeners=_following(track, listeners))


def _following(track: str | Iterable[str], listeners: Collection[Listener]) -> tuple[Listener, ...]:
    names = (track,) if isinstance(track, str) else tuple(track)
    if odd := [each for each in names if not isinstance(each, str)]:
        raise ConfigError(f"expected names of trackers, got {odd[0]!r}")
    if callable(listeners) or not all(callable(each) for each in listeners):
        raise ConfigError(f"expected listeners as several functions of an event, got {listeners!r:.80}")
    return (*tracking(names), *listeners)

"""Any run whose weights move, as replaying and exporting need it: of a search, a probe or a tuning run."""

from pathlib import Path

from coevo.errors import ConfigError, RunError
from coevo.experiments.probe_config import probe_config_of
from coevo.records.event_log import read_events
from coevo.records.run_directory import RunDirectory
from coevo.records.run_kind import PROBE, SEARCH, TUNE, check_kind
from coevo.searching.api import Run, load_run
from coevo.searching.config import SearchConfig
from coevo.tuning.config import TuneConfig, tune_config_of
from coevo.tuning.subjects import BEST, generation_of, last_generation


def load_any(path: str | Path) -> Run:
    """A run directory of any kind: the models of all move as a search's does.

    Raises:
        RunError: If it is none whose weights move, or was written by another version.
    """
    run = Path(path)
    kind = check_kind(run, SEARCH, PROBE, TUNE)
    if kind == TUNE:
        config = tune_config_of(run)
        if config.method != "es":
            raise RunError(
                f"expected a run with a history, got {run}, which was tuned by {config.method}; its best weights are "
                f"the model folder {run / 'gradient' / 'best'}"
            )
        return Run(run, _as_search(config), None)
    return Run(run, probe_config_of(run).as_search(), None) if kind == PROBE else load_run(run)


def generation_named(path: str | Path, name: str | None) -> int | None:
    """The generation that a user means: its number, "best" for the one that a tuning run chose, None for the last.

    Raises:
        ConfigError: If it is neither, or the run has chosen none.
        RunError: If there is no such run.
    """
    if name is None:
        return None
    run = Path(path)
    if name.isascii() and name.isdigit():
        last = last_generation(run, read_events(RunDirectory.open(run).events))
        if last and int(name) > last:
            raise ConfigError(f"expected a generation up to {last} of {run}, got {name}")
        return int(name)
    if name != BEST:
        raise ConfigError(f"expected the number of a generation or {BEST}, got {name!r}")
    if check_kind(run, SEARCH, PROBE, TUNE) != TUNE:
        raise ConfigError(f"expected a tuning run, which chooses its best weights, got {run}; name a generation")
    return generation_of(run, BEST)


def _as_search(config: TuneConfig) -> SearchConfig:
    """The search that has the same model, engine and noise."""
    shared = ("model", "engine", "tensor_parallel", "es", "evolution_strategy", "weights", "workers")
    return SearchConfig(budget=1, **{name: getattr(config, name) for name in shared})

"""What a folder of results is: the run of one kind or another, told by its `config.toml`, or a grid of runs.

Every reader of a run's configuration asks here first, so that a folder of another kind is refused in one sentence and
with what it is good for, not by the fields it lacks.
"""

from pathlib import Path

from coevo.errors import RunError
from coevo.records.run_directory import RunDirectory

SEARCH, TUNE, EVAL_AGENT, LANDSCAPE, PROBE, GRID = "", "tune", "eval-agent", "landscape", "probe", "grid"
"""Kinds as a configuration says them; that of a search says none, and a grid's folder has no configuration."""

GRID_FILES = ("grid.toml", "cells.csv")
"""What `coevo bench` writes into a grid's folder."""

_NAMES = {
    SEARCH: "a search",
    TUNE: "a tuning run",
    EVAL_AGENT: "an evaluation of agents",
    LANDSCAPE: "a landscape",
    PROBE: "a probe",
    GRID: "a grid",
}

_USES = {
    SEARCH: "coevo report {run} shows it, coevo compare RUN RUN sets searches side by side",
    TUNE: "coevo report {run} shows it, coevo eval-agent --run RUN --run RUN compares tuning runs",
    EVAL_AGENT: "its numbers are in {run}/result.json, its interrupted run goes on by: coevo resume {run}",
    LANDSCAPE: "coevo report {run} shows it, and its scores are in {run}/points.csv",
    PROBE: "coevo report {run} shows it",
    GRID: "coevo report {run} shows it, coevo bench goes on with it, and its runs are folders of their own",
}


def kind_of(run: Path) -> str:
    """What a run directory says it is: `TUNE`, `PROBE`, …, or `SEARCH` where it does not say.

    Raises:
        RunError: If it is no run directory.
    """
    return str(RunDirectory.open(run).config().get("kind", SEARCH))


def check_kind(run: Path, *wanted: str) -> str:
    """The kind of a folder, which is one of those wanted.

    Args:
        run: A run directory, or a grid's folder.
        wanted: The kinds that will do.

    Raises:
        RunError: If it is of another kind, or no folder of results.
    """
    kind = GRID if is_grid(run) else kind_of(run)
    if kind in wanted:
        return kind
    *others, last = (_NAMES[each] for each in wanted)
    expected = f"{', '.join(others)} or {last}" if others else last
    found = _NAMES.get(kind, f"a run of the kind {kind!r}")
    use = _USES.get(kind, "another version wrote it").format(run=run)
    raise RunError(f"expected {expected}, got {found} in {run}; {use}")


def is_grid(folder: Path) -> bool:
    """Whether a folder is one that `coevo bench` wrote its tables into."""
    return all((folder / name).is_file() for name in GRID_FILES)

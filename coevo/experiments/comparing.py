"""Runs side by side: their numbers, and the values of their configurations that differ."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from coevo.errors import ConfigError
from coevo.experiments.cell_folder import flat
from coevo.experiments.run_summary import RunSummary, summarise
from coevo.searching.api import config_of


@dataclass(frozen=True, slots=True)
class RunsSideBySide:
    """Several runs.

    Attributes:
        runs: One summary per run.
        configs: For every value that is not the same in all runs, its dotted name and the value of each.
    """

    runs: tuple[RunSummary, ...]
    configs: Mapping[str, tuple[Any, ...]]

    @property
    def splits(self) -> list[str]:
        """Every split that any run was measured on."""
        return list(dict.fromkeys(split for run in self.runs for split in run.splits))

    @property
    def operators(self) -> list[str]:
        """Every operator that made children in any run."""
        return list(dict.fromkeys(name for run in self.runs for name in run.operators))


def side_by_side(paths: Sequence[Path]) -> RunsSideBySide:
    """Read runs, finished or not.

    Raises:
        ConfigError: For fewer than two.
        RunError: If one is not the run directory of a search, or its result is not what its events say.
    """
    if len(paths) < 2:
        raise ConfigError(f"expected two run directories or more to compare, got {len(paths)}")
    runs = tuple(summarise(path) for path in paths)
    values = [flat(config_of(path)) for path in paths]
    names = dict.fromkeys(name for each in values for name in each)
    configs = {name: tuple(each.get(name) for each in values) for name in names}
    return RunsSideBySide(runs, {name: row for name, row in configs.items() if any(v != row[0] for v in row)})

"""The grid file: which arms are compared, on which problems, at which budgets, with which seeds.

    schema_version = 1
    title = "Does evolving the model help?"
    problems = ["tsp", "kp"]
    budgets = [400]
    seeds = 5                     # 0, 1, 2, 3, 4; or a list
    baseline = "frozen"           # every other arm is compared with it; or comparisons = [["es", "frozen"], …]

    [common]                      # values of every arm
    compare = false

    [arms.frozen]                 # any values of a search, `recipe`, and the tables evolution_strategy and weights
    es = "off"

    [arms.es]
    evolution_strategy = { members = 10 }

Optional: `compare_at = ["operator", "total"]` (see `coevo.experiments.cells`), a table `[test_splits]` with the splits
to measure and report of each problem (otherwise all but `search` and `val`), and `[overrides.PROBLEM]` with its own
`arms`, `budgets` or `settings`. The text `{budget}` in a recipe's name stands for the cell's budget.
"""

import tomllib
from collections.abc import Iterator
from itertools import chain
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, StrictStr, ValidationError, model_validator

from coevo.content import bundled_root
from coevo.errors import ConfigError
from coevo.explaining import explain

GIVEN = {"problem": "problems", "budget": "budgets", "seed": "seeds", "splits": "test_splits"}
"""Values of a search that a grid gives to each of its cells, and what of the grid they come from."""

Budget = Annotated[int, Field(strict=True, ge=1)]
Seed = Annotated[int, Field(strict=True, ge=0, lt=2**63)]
ArmName = Annotated[str, Field(max_length=64, pattern=r"^[A-Za-z0-9][A-Za-z0-9._+-]*$")]
Pair = tuple[str, str]
Meter = Literal["operator", "total"]

MOST_SEEDS = 1_000
MOST_CELLS = 10_000
"""Searches of one grid, those raised to equal totals included; resolving that many takes about a minute."""


def _counted(seeds: Any) -> Any:
    """The seeds 0, 1, 2, … for a count of them."""
    if not isinstance(seeds, int) or isinstance(seeds, bool):
        return seeds
    if seeds > MOST_SEEDS:
        raise ValueError(f"expected at most {MOST_SEEDS} seeds")
    return range(seeds)


def _whole(version: Any) -> Any:
    """A version as it is if it is a whole number: to Python, true and 1.0 equal 1."""
    if type(version) is not int:
        raise ValueError("expected a whole number")
    return version


class _Table(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid", use_attribute_docstrings=True)


class Override(_Table):
    """What is different for one problem."""

    arms: tuple[StrictStr, ...] | None = Field(default=None, min_length=1)
    """The arms that run on it; all if not given."""
    budgets: tuple[Budget, ...] | None = Field(default=None, min_length=1)
    settings: dict[str, Any] = {}
    """Values of a search; they win over those in `[common]` and give way to those of an arm."""


class Grid(_Table):
    """A grid file, checked as far as the file alone allows."""

    schema_version: Annotated[Literal[1], BeforeValidator(_whole)]
    title: StrictStr
    problems: tuple[StrictStr, ...] = Field(min_length=1)
    """Names of problems, or paths of problem folders."""
    budgets: tuple[Budget, ...] = Field(min_length=1)
    """Operator completions of each search."""
    seeds: Annotated[tuple[Seed, ...], BeforeValidator(_counted)] = Field(min_length=1, max_length=MOST_SEEDS)
    """The unit of all statistics; arms are paired by seed."""
    arms: dict[ArmName, dict[str, Any]] = Field(min_length=2)
    """Values of a search, by name of the arm."""
    baseline: StrictStr | None = None
    """The arm that every other one is compared with."""
    comparisons: tuple[tuple[StrictStr, StrictStr], ...] | None = Field(default=None, min_length=1)
    """Pairs of an arm and the arm it is compared with, in place of a baseline."""
    compare_at: tuple[Meter, ...] = ("operator",)
    """At equal operator completions and, where one arm has skills, at equal total completions."""
    common: dict[str, Any] = {}
    """Values of a search that all arms share."""
    test_splits: dict[str, Annotated[tuple[StrictStr, ...], Field(min_length=1)]] = {}
    """The splits to measure and to report of each problem."""
    overrides: dict[str, Override] = {}

    @model_validator(mode="after")
    def _fits_together(self) -> "Grid":
        for fault in chain(self._repetitions(), self._strangers(), self._misplaced(), self._unpaired(), self._crowd()):
            raise ValueError(fault)
        return self

    def _repetitions(self) -> Iterator[str]:
        lists = {"problems": self.problems, "budgets": self.budgets, "seeds": self.seeds}
        for name, values in (lists | {"comparisons": self.comparisons or ()}).items():
            if len(set(values)) < len(values):
                yield f"{name}: expected each value once, got {list(values)}"

    def _strangers(self) -> Iterator[str]:
        if (self.baseline is None) == (self.comparisons is None):
            yield "expected either baseline, the arm that the others are compared with, or comparisons, got " + (
                "neither" if self.baseline is None else "both"
            )
        for where, arm in self._mentions():
            if arm not in self.arms:
                yield f"{where}: expected one of the arms {', '.join(self.arms)}, got {arm!r}"
        for pair in self.comparisons or ():
            if pair[0] == pair[1]:
                yield f"comparisons: expected two different arms, got {pair[0]!r} twice"
        for table in ("test_splits", "overrides"):
            for problem in getattr(self, table):
                if problem not in self.problems:
                    yield f"{table}: expected one of the problems {', '.join(self.problems)}, got {problem!r}"

    def _mentions(self) -> Iterator[tuple[str, str]]:
        if self.baseline is not None:
            yield "baseline", self.baseline
        for pair in self.comparisons or ():
            yield from (("comparisons", arm) for arm in pair)
        for problem, override in self.overrides.items():
            yield from ((f"overrides.{problem}.arms", arm) for arm in override.arms or ())

    def _misplaced(self) -> Iterator[str]:
        tables = {"common": self.common, **{f"arms.{name}": values for name, values in self.arms.items()}}
        tables |= {f"overrides.{name}.settings": override.settings for name, override in self.overrides.items()}
        for where, values in tables.items():
            for name, source in GIVEN.items():
                if name in values:
                    yield f"{where}.{name}: a cell's {name} comes from the grid's {source}; drop it here"

    def _unpaired(self) -> Iterator[str]:
        for problem, override in self.overrides.items():
            if override.arms is not None and not self.pairs_of(problem):
                yield (
                    f"overrides.{problem}.arms: expected both arms of a comparison, got {', '.join(override.arms)}, "
                    "which leaves nothing to compare"
                )

    def _crowd(self) -> Iterator[str]:
        most = 0
        for problem in self.problems:
            searches = len(self.arms_of(problem)) + ("total" in self.compare_at) * len(self.pairs_of(problem))
            most += len(self.seeds) * len(self.budgets_of(problem)) * searches
        if most > MOST_CELLS:
            yield f"expected at most {MOST_CELLS} cells (problems × budgets × arms × seeds), got {most}"

    def arms_of(self, problem: str) -> tuple[str, ...]:
        """The arms that run on a problem, in the file's order."""
        override = self.overrides.get(problem)
        return tuple(self.arms) if override is None or override.arms is None else override.arms

    def budgets_of(self, problem: str) -> tuple[int, ...]:
        """The budgets of a problem."""
        override = self.overrides.get(problem)
        return self.budgets if override is None or override.budgets is None else override.budgets

    def pairs_of(self, problem: str) -> tuple[Pair, ...]:
        """The pairs (arm, baseline) to compare on a problem: those of which both run on it."""
        arms = self.arms_of(problem)
        pairs = self.comparisons or tuple((arm, str(self.baseline)) for arm in arms if arm != self.baseline)
        return tuple(pair for pair in pairs if pair[0] in arms and pair[1] in arms)


def read_grid(path: Path, *, model: str | None = None) -> Grid:
    """Read and check a grid file.

    Args:
        path: The file.
        model: Used by every arm that names none of its own, in place of the model in `[common]`.

    Raises:
        ConfigError: Naming the file and each field that does not fit.
    """
    try:
        values = tomllib.loads(path.read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError, RecursionError) as error:
        raise ConfigError(f"expected a grid file (TOML) at {path}, got: {error}") from error
    if model is not None and isinstance(values.setdefault("common", {}), dict):
        values["common"]["model"] = model
    try:
        return Grid.model_validate(values)
    except ValidationError as error:
        raise ConfigError(f"{path}: {explain(error, Grid)}") from error


def bundled_grids() -> dict[str, Path]:
    """The grids that ship with coevo, by name."""
    root = bundled_root()
    folders = (root / "grids", root / "runs" / "grids")
    return {file.stem: file for folder in folders for file in sorted(folder.glob("*.toml"))}


def find_grid(name_or_path: str) -> Path:
    """The file of a grid, by path or by the name of a bundled one.

    Raises:
        ConfigError: If there is none, with the names that exist.
    """
    path = Path(name_or_path)
    if path.is_file():
        return path
    known = bundled_grids()
    if name_or_path in known:
        return known[name_or_path]
    raise ConfigError(
        f"expected a grid file or the name of a bundled grid, got {name_or_path!r}; "
        f"bundled: {', '.join(known) or 'none'}"
    )

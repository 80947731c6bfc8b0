"""A grid's cells: one search for each problem, budget, arm and seed.

Equal totals. With `compare_at` holding "total", an arm with skills is also compared with a baseline that had as many
completions in all. For each seed the side without skills gets one more cell, whose budget is the grid's plus what the
side with skills was charged for skills with that very seed. So its arm is called `frozen@skills`, and it waits for the
cell it is measured by. Where no skill completion was charged, both comparisons are the same and no cell is added.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from itertools import combinations
from typing import Any

from coevo.content import ProblemFolder, find_problem
from coevo.errors import ConfigError, ContentError
from coevo.experiments.grid import Grid, Pair
from coevo.searching.config import TABLES, SearchConfig, absolute, make_config


@dataclass(frozen=True, slots=True)
class Cell:
    """One search of a grid.

    Attributes:
        problem: Name of the problem.
        budget: The grid's budget; that of an arm raised to equal totals is in its configuration alone.
        arm: Name of the arm; `arm@other` for one raised to the total of another.
        seed: Seed of everything random.
        config: What is run, with absolute paths.
        matches: The arm whose skill completions this cell's budget is raised by, or empty.
    """

    problem: str
    budget: int
    arm: str
    seed: int
    config: SearchConfig
    matches: str = ""

    @property
    def name(self) -> str:
        """What patterns select, and the cell's folder below `cells/`."""
        return f"{self.problem}/{self.budget}/{self.arm}/s{self.seed}"

    @property
    def measured_by(self) -> str:
        """Name of the cell that decides this cell's budget; empty for most."""
        return f"{self.problem}/{self.budget}/{self.matches}/s{self.seed}" if self.matches else ""

    def raised(self, completions: int) -> "Cell":
        """The same cell with a larger budget."""
        return replace(self, config=self.config.model_copy(update={"budget": self.budget + completions}))


@dataclass(frozen=True, slots=True)
class Comparison:
    """An arm against a baseline on one problem at one budget; `at` says which completions are equal."""

    at: str
    problem: str
    budget: int
    arm: str
    baseline: str


@dataclass(frozen=True, slots=True)
class Layout:
    """A grid, resolved.

    Attributes:
        cells: Seed by seed, so that drift of the machine falls on all arms alike.
        comparisons: In the order of the table.
        splits: The splits to report of each problem.
        senses: "min" or "max" of each problem.
    """

    grid: Grid
    cells: tuple[Cell, ...]
    comparisons: tuple[Comparison, ...]
    splits: Mapping[str, tuple[str, ...]]
    senses: Mapping[str, str]


def lay_out(grid: Grid) -> Layout:
    """Resolve a grid into cells and comparisons.

    Raises:
        ConfigError: If a problem, split or arm cannot be used, naming it.
    """
    folders = {name: _problem(name) for name in grid.problems}
    labels = {name: folder.spec.name for name, folder in folders.items()}
    if len(set(labels.values())) < len(labels):
        raise ConfigError(f"problems: expected different names, got {', '.join(labels.values())}")
    cells = tuple(cell for seed in grid.seeds for name in grid.problems for cell in _cells(grid, name, labels, seed))
    _check_different(grid, cells)
    comparisons = tuple(
        comparison
        for at in grid.compare_at
        for name in grid.problems
        for comparison in _compared(grid, name, labels, at)
    )
    splits = {labels[name]: _splits(grid, name, folder) for name, folder in folders.items()}
    return Layout(grid, cells, comparisons, splits, {labels[n]: f.spec.sense for n, f in folders.items()})


def _problem(name: str) -> ProblemFolder:
    try:
        return find_problem(name)
    except ContentError as error:
        raise ConfigError(f"problems: {error}") from error


def _splits(grid: Grid, name: str, folder: ProblemFolder) -> tuple[str, ...]:
    """The splits to report: those that the grid names, else all that a search neither sees nor chooses on, if any."""
    known = list(folder.spec.splits)
    unseen = tuple(split for split in known if split not in ("search", "val"))
    chosen = grid.test_splits.get(name, unseen or (folder.spec.choosing_split,))
    for split in chosen:
        if split not in known:
            raise ConfigError(f"test_splits.{name}: expected splits among {', '.join(known)}, got {split!r}")
    return chosen


def _cells(grid: Grid, name: str, labels: Mapping[str, str], seed: int) -> Iterator[Cell]:
    for budget in grid.budgets_of(name):
        for arm in grid.arms_of(name):
            yield Cell(labels[name], budget, arm, seed, configuration(grid, name, budget, arm, seed))
        for pair in grid.pairs_of(name) if "total" in grid.compare_at else ():
            if (sides := _raised_side(grid, name, budget, pair)) is not None:
                own, other = sides
                config = configuration(grid, name, budget, own, seed)
                yield Cell(labels[name], budget, f"{own}@{other}", seed, config, matches=other)


def _compared(grid: Grid, name: str, labels: Mapping[str, str], at: str) -> Iterator[Comparison]:
    for budget in grid.budgets_of(name):
        for pair in grid.pairs_of(name):
            arm, baseline = pair
            if at == "total":
                if (sides := _raised_side(grid, name, budget, pair)) is None:
                    continue
                own, other = sides
                arm, baseline = (f"{side}@{other}" if side == own else side for side in pair)
            yield Comparison(at, labels[name], budget, arm, baseline)


def _raised_side(grid: Grid, name: str, budget: int, pair: Pair) -> Pair | None:
    """The arm of a pair to give more completions, and the one with skills that it is to match; None if none has."""
    skilled = [configuration(grid, name, budget, arm, grid.seeds[0]).skill_every is not None for arm in pair]
    if all(skilled):
        raise ConfigError(
            f"compare_at: equal totals need one side without skills, got {pair[0]} and {pair[1]}, which both have "
            'them; name other comparisons, or take compare_at = ["operator"]'
        )
    if not any(skilled):
        return None
    return (pair[1], pair[0]) if skilled[0] else pair


def configuration(grid: Grid, name: str, budget: int, arm: str, seed: int) -> SearchConfig:
    """The search of a cell: `[common]`, then the problem's settings, then the arm's.

    Measured in the end are exactly the splits to be reported. There is one worker, unless these say otherwise.

    Raises:
        ConfigError: Naming the arm and each field that does not fit.
    """
    override = grid.overrides.get(name)
    values: dict[str, Any] = {"workers": 1, "splits": _splits(grid, name, _problem(name))}
    for layer in (grid.common, override.settings if override else {}, grid.arms[arm]):
        for key, value in layer.items():
            inner = values.get(key)
            merges = key in TABLES and isinstance(inner, dict) and isinstance(value, dict)
            values[key] = {**(inner or {}), **value} if merges else value
    recipe = values.pop("recipe", None)
    try:
        if recipe is not None:
            recipe = _recipe(recipe, budget)
        return absolute(make_config({**values, "problem": name, "budget": budget, "seed": seed}, recipe))
    except ConfigError as error:
        raise ConfigError(f"arms.{arm} on problem {name} at budget {budget}: {error}") from error


def _recipe(name: object, budget: int) -> str:
    """The name of a recipe at a budget."""
    if not isinstance(name, str):
        raise ConfigError(f"expected the name of a recipe, got {type(name).__name__}")
    return name.replace("{budget}", str(budget))


def _check_different(grid: Grid, cells: tuple[Cell, ...]) -> None:
    """Refuse two arms that are the same search everywhere: they can only tie, at twice the cost."""
    found: dict[str, dict[tuple[str, int, int], SearchConfig]] = {arm: {} for arm in grid.arms}
    for cell in cells:
        if not cell.matches:
            found[cell.arm][cell.problem, cell.budget, cell.seed] = cell.config
    for one, other in combinations(grid.arms, 2):
        shared = found[one].keys() & found[other].keys()
        if shared and all(found[one][key] == found[other][key] for key in shared):
            raise ConfigError(f"arms: expected different arms, got {one} and {other}, whose settings are the same")

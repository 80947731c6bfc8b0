"""What problems there are, from their metadata alone: none of their code is imported."""

import re
from dataclasses import dataclass
from functools import cache
from importlib.metadata import PackageNotFoundError, distribution, requires
from pathlib import Path

from coevo.content import ProblemSpec, Solver, declared_roots, find_problem, problem_paths
from coevo.errors import ContentError


@dataclass(frozen=True, slots=True)
class SolverRow:
    """A reference solver. `is_installed` is None where the installation does not say what its extra brings."""

    name: str
    extra: str
    licence: str
    gives: str
    is_installed: bool | None


@dataclass(frozen=True, slots=True)
class Row:
    """One problem.

    Attributes:
        origin: "bundled", or the package that declares it under the entry point group.
    """

    name: str
    title: str
    origin: str
    path: str
    sense: str
    heuristic: str
    splits: dict[str, str]
    reads: str
    solvers: tuple[SolverRow, ...]


def list_problems() -> tuple[list[Row], list[ContentError]]:
    """Every problem that can be named, in search order; one hidden behind an earlier one of its name is left out.

    Returns:
        The problems, and beside them what is wrong with each whose metadata does not parse.

    Raises:
        ContentError: If a package declares what is no folder.
    """
    first: dict[str, Path] = {}
    for path in problem_paths():
        first.setdefault(path.name, path)
    rows, faults = [], []
    for name, path in first.items():
        try:
            rows.append(_row(find_problem(name).spec, path))
        except ContentError as fault:
            faults.append(fault)
    return rows, faults


def _row(spec: ProblemSpec, path: Path) -> Row:
    return Row(
        name=spec.name,
        title=spec.title,
        origin=declared_roots()[path.parents[1]],
        path=str(path),
        sense=spec.sense,
        heuristic=f"{spec.heuristic.function}({', '.join(a.name for a in spec.heuristic.arguments)})",
        splits=spec.splits,
        reads=spec.reads,
        solvers=tuple(_solver(solver) for solver in spec.solvers),
    )


def _solver(solver: Solver) -> SolverRow:
    packages = _packages_of(solver.extra)
    is_installed = all(map(_is_installed, packages)) if packages else None
    return SolverRow(solver.name, solver.extra, solver.licence, solver.gives, is_installed)


@cache
def _packages_of(extra: str) -> tuple[str, ...]:
    """The packages that an extra of coevo brings, as the installed coevo declares them."""
    try:
        declared = requires("coevo") or []
    except PackageNotFoundError:
        return ()
    marked = [line.partition(";") for line in declared]
    marker = re.compile(rf"extra\s*==\s*['\"]{re.escape(extra)}['\"]")
    return tuple(re.split(r"[^\w.-]", package, maxsplit=1)[0] for package, _, when in marked if marker.search(when))


@cache
def _is_installed(package: str) -> bool:
    try:
        distribution(package)
    except PackageNotFoundError:
        return False
    return True

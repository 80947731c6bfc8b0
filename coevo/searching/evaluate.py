"""Measure one heuristic file outside any run: on a split, or on instance files of the user's."""

import logging
import math
import os
import statistics
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from coevo.candidate import Evaluation
from coevo.content import ProblemFolder, find_problem
from coevo.errors import CoevoError, ConfigError, ContentError
from coevo.evaluation import EvaluationPool
from coevo.evaluation.fresh_seeds import fresh
from coevo.interfaces import Instance
from coevo.searching.assemble import read_heuristic
from coevo.searching.drawing import draw_solution, drawing_format
from coevo.searching.finish import instances_of, reference_of
from coevo.searching.instance_files import read_instance_files
from coevo.searching.result import gap

logger = logging.getLogger(__name__)


@dataclass(frozen=True, kw_only=True)
class Measurement:
    """What to measure a heuristic on, and how.

    Attributes:
        split: A split of the problem; the search split if neither this nor `files` is given.
        files: Instance files to use instead of a split.
        options: What the files leave unsaid, by name.
        solver: Reference solver whose solutions give the gap, instead of what is known.
        seeds: Fresh seeds to average a random objective over; 0 for the instances' own.
        draw: File for a drawing of one solution, `.svg` or `.png`; made if the heuristic is valid.
        instance: Name of the instance to draw; the first by default.
        workers: Processes; one per core by default.
        unsafe: Run without bubblewrap.
    """

    split: str | None = None
    files: Sequence[str | Path] = ()
    options: Mapping[str, str] = field(default_factory=dict)
    solver: str | None = None
    seeds: int = 0
    draw: str | Path | None = None
    instance: str | None = None
    workers: int | None = None
    unsafe: bool = False


@dataclass(frozen=True, slots=True)
class _Group:
    """Instances that are evaluated together: a split, or one file. A failure is the whole group's."""

    name: str
    instances: Sequence[Instance]
    references: Sequence[float | None]


def evaluate_file(file: str | Path, problem: str, split: str | None = None, **settings: Any) -> dict[str, Any]:
    """Run a heuristic file on a split or on instance files, in the sandbox.

    Args:
        file: Python source that defines the problem's heuristic.
        problem: Name or path of the problem.
        split: One of the problem's splits.
        **settings: Any other field of `Measurement`, e.g. `files=["a.tsp"]`, `solver="lkh"`.

    Returns:
        `problem`, `split` (None for files), `sense`, `status`, `detail`, `objective` (mean, own sense), `spread` (over
        fresh seeds), `gap` (of the means), `cpu_s`, `wall_s` and `instances` with `name`, `objective`, `reference`,
        `gap`, `cpu_s` (mean over its group), `status` and `detail`; values are None where unknown.

    Raises:
        CoevoError: If an input cannot be used.
    """
    folder = find_problem(problem)
    measurement = Measurement(split=split, **settings)
    _check(folder, measurement)
    code = read_heuristic(Path(file), folder).code
    groups = _with_solver(folder, measurement.solver, _groups(folder, measurement))
    to_draw = None if measurement.draw is None else _chosen(groups, measurement.instance)
    started = time.monotonic()
    verdicts = _verdicts(folder, code, groups, measurement)
    wall_s = time.monotonic() - started
    if to_draw is not None and all(verdict.is_ok for row in verdicts for verdict in row):
        draw_solution(folder, code, to_draw, Path(str(measurement.draw)), unsafe=measurement.unsafe)
    rows = [row for group, verdict in zip(groups, verdicts, strict=True) for row in _rows(folder, group, verdict)]
    return {
        "problem": folder.spec.name,
        "split": None if measurement.files else measurement.split or "search",
        "sense": folder.spec.sense,
        **_summary(folder, groups, verdicts),
        "wall_s": round(wall_s, 3),
        "instances": rows,
    }


def _check(folder: ProblemFolder, measurement: Measurement) -> None:
    """Refuse what can be refused before anything is run."""
    spec = folder.spec
    if measurement.files and measurement.split is not None:
        raise ConfigError(f"expected --split or --instances, got both ({measurement.split!r} and files)")
    if measurement.options and not measurement.files:
        raise ConfigError(f"--option goes with --instances; got {', '.join(measurement.options)} for a split")
    if not measurement.files and (measurement.split or "search") not in spec.splits:
        raise ContentError(f"expected a split among {', '.join(spec.splits)} of {spec.name}, got {measurement.split!r}")
    if measurement.seeds < 0:
        raise ConfigError(f"expected a number of fresh seeds from 0 up, got --seeds {measurement.seeds}")
    if measurement.seeds and not spec.is_random:
        raise ConfigError(
            f"expected --seeds for a problem with a random objective, got {measurement.seeds} for {spec.name}"
        )
    if measurement.instance is not None and measurement.draw is None:
        raise ConfigError(f"--instance says what to --draw; got {measurement.instance!r} without --draw FILE")
    if measurement.draw is not None:
        drawing_format(folder, Path(measurement.draw))


def _groups(folder: ProblemFolder, measurement: Measurement) -> list[_Group]:
    if measurement.files:
        read = read_instance_files(folder, [Path(file) for file in measurement.files], measurement.options)
        return [_Group(f"file {n}: {f.path}", f.instances, f.references) for n, f in enumerate(read)]
    split = measurement.split or "search"
    instances = instances_of(folder, split)
    known = reference_of(folder, split, len(instances))
    return [_Group(split, instances, [None] * len(instances) if known is None else known.tolist())]


def _with_solver(folder: ProblemFolder, name: str | None, groups: list[_Group]) -> list[_Group]:
    """The same groups with the objectives of a reference solver's solutions in place of what is known."""
    if name is None:
        return groups
    problem: Any = folder.load()
    solvers = problem.solvers() if hasattr(problem, "solvers") else {}
    if name not in solvers:
        raise ConfigError(
            f"expected a reference solver of {folder.spec.name} ({', '.join(solvers) or 'it has none'}), got {name!r}"
        )
    count = sum(len(group.instances) for group in groups)
    logger.info("solving %d of %s with %s", count, folder.spec.name, name)
    return [_Group(g.name, g.instances, [_solved(folder, solvers[name], name, i) for i in g.instances]) for g in groups]


def _solved(folder: ProblemFolder, solver: Any, name: str, instance: Instance) -> float:
    try:
        return float(folder.load().objective(instance, solver(instance)))
    except CoevoError:
        raise
    except Exception as error:
        raise ContentError(f"the solver {name} fails on {instance.name}: {type(error).__name__}: {error}") from error


def _verdicts(
    folder: ProblemFolder, code: str, groups: Sequence[_Group], measurement: Measurement
) -> list[list[Evaluation]]:
    """For each group its verdicts: one, or one per fresh seed."""
    workers = len(os.sched_getaffinity(0)) if measurement.workers is None else measurement.workers
    extra = {group.name: group.instances for group in groups} if measurement.files else {}
    with EvaluationPool(folder, workers=workers, unsafe=measurement.unsafe, extra_splits=extra) as pool:
        draws = range(1, measurement.seeds + 1) or [0]
        names = [[fresh(group.name, draw) if draw else group.name for draw in draws] for group in groups]
        futures = [[pool.submit(code, name) for name in row] for row in names]
        return [[future.result() for future in row] for row in futures]


def _rows(folder: ProblemFolder, group: _Group, verdicts: Sequence[Evaluation]) -> list[dict[str, Any]]:
    """One row per instance; over fresh seeds, the mean objective."""
    failed = next((verdict for verdict in verdicts if not verdict.is_ok), None)
    cpu_s = statistics.fmean(verdict.cpu_s for verdict in verdicts) / len(group.instances)
    rows = []
    for place, (instance, reference) in enumerate(zip(group.instances, group.references, strict=True)):
        objective = None if failed else statistics.fmean(verdict.objectives[place] for verdict in verdicts)
        rows.append(
            {
                "name": instance.name,
                "objective": objective,
                "reference": reference,
                "gap": gap(folder.sign(), objective, reference),
                "cpu_s": round(cpu_s, 6),
                "status": failed.status if failed else "ok",
                "detail": failed.detail if failed else "",
            }
        )
    return rows


def _summary(
    folder: ProblemFolder, groups: Sequence[_Group], verdicts: Sequence[Sequence[Evaluation]]
) -> dict[str, Any]:
    """The whole: the first failure, or means over all instances."""
    cpu_s = round(math.fsum(verdict.cpu_s for row in verdicts for verdict in row), 6)
    failed = next((verdict for row in verdicts for verdict in row if not verdict.is_ok), None)
    nothing = {"objective": None, "spread": None, "gap": None, "cpu_s": cpu_s}
    if failed is not None:
        return {"status": failed.status, "detail": failed.detail, **nothing}
    means = []
    for draw in zip(*verdicts, strict=True):
        values = [value for verdict in draw for value in verdict.objectives]
        means.append(math.fsum(values) / len(values))
    objective = statistics.fmean(means)
    known = [reference for group in groups for reference in group.references]
    reference = None if any(r is None for r in known) else math.fsum(r for r in known if r is not None) / len(known)
    return {
        "status": "ok",
        "detail": "",
        "objective": objective,
        "spread": statistics.stdev(means) if len(means) > 1 else None,
        "gap": gap(folder.sign(), objective, reference),
        "cpu_s": cpu_s,
    }


def _chosen(groups: Sequence[_Group], name: str | None) -> Instance:
    instances = [instance for group in groups for instance in group.instances]
    found = [instance for instance in instances if name in (None, instance.name)]
    if not found:
        raise ConfigError(
            f"expected the name of an instance to draw, such as {instances[0].name!r}, got {name!r}; see --json for all"
        )
    return found[0]

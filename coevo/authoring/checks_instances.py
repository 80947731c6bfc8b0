"""Checks of a problem's module and its instances; they run its code in this process."""

import json
import numbers
from typing import Any

import numpy as np

from coevo.authoring.findings import Check, Finding, failed, ok
from coevo.authoring.fresh import NotFinishedError, ask_fresh
from coevo.authoring.subject import Subject, content, digest
from coevo.evaluation.judge import checked_instance
from coevo.interfaces import Instance, Problem


def module(subject: Subject) -> Finding:
    """`problem.py` can be imported and has the functions of a problem."""
    assert isinstance(subject.problem, Problem)
    optional = ("reference", "classics", "read", "read_reference", "solvers", "draw")
    found = [name for name in optional if hasattr(subject.problem, name)]
    if broken := [name for name in found if not callable(getattr(subject.problem, name))]:
        return failed(f"expected functions in problem.py, got something else called {', '.join(broken)}")
    return ok("instances, solve, objective" + "".join(f", {name}" for name in found))


def instances(subject: Subject) -> Finding:
    """Instances are plain numbers under names and seeds of their own, and no split shares one with another."""
    for split, given in subject.splits.items():
        if not given:
            return failed(f"the split {split} has no instance")
        for instance in map(checked_instance, given):
            if isinstance(instance.seed, bool) or not isinstance(instance.seed, int) or instance.seed < 0:
                return failed(f"expected a seed from 0 up as an int in instance {instance.name}, got {instance.seed!r}")
        if twice := _first_repeated([instance.name for instance in given]):
            return failed(f"the split {split} has two instances called {twice}")
    return _distinct([instance for given in subject.splits.values() for instance in given], subject)


def _distinct(every: list[Instance], subject: Subject) -> Finding:
    names = {id(instance): f"{instance.name}" for instance in every}
    for what, keys in (("seed", [str(i.seed) for i in every]), ("data", [content(i) for i in every])):
        if twice := _first_repeated(keys):
            pair = [names[id(i)] for i, key in zip(every, keys, strict=True) if key == twice][:2]
            return failed(f"{pair[0]} and {pair[1]} have the same {what}; every instance of every split needs its own")
    counts = ", ".join(f"{split} {len(given)}" for split, given in subject.splits.items())
    return ok(f"{len(every)} instances, all different: {counts}")


def _first_repeated(keys: list[str]) -> str:
    seen: set[str] = set()
    for key in keys:
        if key in seen:
            return key
        seen.add(key)
    return ""


def reproducible(subject: Subject) -> Finding:
    """Instances are the same again, and in a fresh process with another hash seed, bit for bit."""
    expected = {split: digest(given) for split, given in subject.splits.items()}
    again = {split: digest(subject.problem.instances(split)) for split in expected}
    try:
        elsewhere = json.loads(ask_fresh(subject.folder.path, "digest", deadline_s=subject.deadline_s))
    except NotFinishedError as error:
        return failed(f"another process does not make the instances: {error}")
    for split, value in expected.items():
        if again[split] != value:
            return failed(f"the instances of {split} differ the second time; draw them from a generator with a seed")
        if elsewhere[split] != value:
            return failed(f"the instances of {split} differ in another process; do they depend on hash() or a set?")
    return ok("the same again, and in another process with another hash seed, bit for bit")


def solving(subject: Subject) -> Finding:
    """Every baseline solves instances alike twice: a numeric array with a finite objective."""
    for name, heuristic in subject.heuristics.items():
        for instance, _ in subject.examples:
            solution = subject.solve(heuristic, instance)
            if solution.dtype.kind not in "biuf":
                return failed(f"solve gives an array of {solution.dtype} with {name}, expected numbers")
            if not _same(solution, subject.solve(heuristic, instance)):
                return failed(f"{name} on {instance.name} gives another solution the second time")
            value = subject.problem.objective(instance, solution)
            if isinstance(value, bool) or not isinstance(value, numbers.Real) or not np.isfinite(float(value)):
                return failed(f"expected a finite number from objective with {name}, got {value!r:.60}")
    return ok(f"{', '.join(subject.heuristics)}: feasible, and the same the second time")


def _same(first: Any, second: Any) -> bool:
    return bool(first.dtype == second.dtype and first.shape == second.shape and first.tobytes() == second.tobytes())


CHECKS = (
    Check("module", "problem.py has the functions of a problem", module, ("metadata",)),
    Check("instances", "instances are plain numbers, and no two are alike", instances, ("module",)),
    Check("reproducible", "instances are the same in every process", reproducible, ("instances",)),
    Check("solving", "baselines solve instances, alike each time", solving, ("instances",)),
)

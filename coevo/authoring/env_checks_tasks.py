"""Checks of an environment's tasks: what there is to learn from, to choose by and to report."""

from collections.abc import Sequence
from itertools import combinations

from coevo.authoring.env_subject import EnvironmentSubject, content
from coevo.authoring.findings import Check, Finding, failed, ok
from coevo.environments.contract import plain_json, shown
from coevo.environments.spec import SPLITS
from coevo.interfaces import Task


def module(subject: EnvironmentSubject) -> Finding:
    """`environment.py` can be imported and defines what every environment has."""
    assert subject.module is not None
    return ok("tasks and open are there")


def tasks(subject: EnvironmentSubject) -> Finding:
    """Every split has tasks, with names of their own and data of plain JSON, the same whenever they are asked for."""
    for split, found in subject.splits.items():
        if problem := _problem(found):
            return failed(f"split {split}: {problem}")
        if [(t.name, content(t)) for t in subject.read(split)] != [(t.name, content(t)) for t in found]:
            return failed(f"split {split}: asked twice, tasks gives different ones")
    return ok(", ".join(f"{split} {len(found)}" for split, found in subject.splits.items()))


def _problem(found: Sequence[Task]) -> str:
    """What is wrong with the tasks of a split; empty for nothing."""
    if not found:
        return "there are no tasks"
    for task in found:
        if not isinstance(task, Task):
            return f"expected a coevo.interfaces.Task, got {shown(task)}"
        if not isinstance(task.name, str) or not task.name:
            return f"expected a name, got {shown(task.name)}"
        if (problem := plain_json(task.data)) is not None:
            return f"task {task.name}: data has to be plain JSON, {problem}"
    names = [task.name for task in found]
    twice = next((name for name in names if names.count(name) > 1), None) if len(set(names)) < len(names) else None
    return f"two tasks are called {twice}" if twice is not None else ""


def splits(subject: EnvironmentSubject) -> Finding:
    """No task to learn from is one to choose by, and neither is reported again as another split's."""
    contents = {split: {content(task): task.name for task in found} for split, found in subject.splits.items()}
    for first, second in combinations(contents, 2):
        if first not in SPLITS and second not in SPLITS:
            continue
        if both := contents[first].keys() & contents[second].keys():
            some = min(both)
            return failed(
                f"{len(both)} tasks of {first} are in {second} too, by their data: {contents[first][some]} is "
                f"{contents[second][some]}"
            )
    return ok(f"{', '.join(SPLITS)} share no task with each other or with another split")


CHECKS = (
    Check("module", "environment.py can be imported and is complete", module, needs=("needs",)),
    Check("tasks", "every split has tasks of plain data, always the same", tasks, needs=("module",)),
    Check("splits", "no task to learn from is one to choose by or to report", splits, needs=("tasks",)),
)

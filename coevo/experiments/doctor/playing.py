"""The environment: what it needs, and one episode of it opened."""

from collections.abc import Callable, Sequence

from coevo.environments.spec import Need
from coevo.errors import EnvironmentFault
from coevo.experiments.doctor.finding import Finding, failed, passed, refused
from coevo.interfaces import Environment, Task

NAME = "environment"
_SEED = 1
_NO_ACTION = "?"
"""Whatever an agent says is answered in the episode, so this is, too."""


def needs(name: str, missing: Sequence[Need]) -> Finding | None:
    """A failure that names what is missing; None where nothing is.

    Args:
        name: Of the environment.
        missing: What it needs and this machine lacks.
    """
    if not missing:
        return None
    names = ", ".join(
        f"the program {need.program}" if need.program else f"the package {need.package}" for need in missing
    )
    installs = dict.fromkeys(need.install for need in missing)
    return failed(NAME, f"{name} cannot run here without {names}", f"run: {'; '.join(installs)}")


def environment(name: str, open_one: Callable[[], Environment], task: Task) -> Finding:
    """Whether an episode begins, and takes an action.

    Args:
        name: Of the environment.
        open_one: Opens it.
        task: What is to be played.
    """
    try:
        opened = open_one()
        try:
            messages = opened.reset(task, _SEED)
            opened.step(_NO_ACTION)
        finally:
            opened.close()
    except EnvironmentFault as fault:
        return refused(NAME, fault, f"run: coevo env check {name}")
    told = sum(len(message.content) for message in messages)
    return passed(NAME, f"{name}: an episode of {task.name} opens, tells {told} characters and takes an action")

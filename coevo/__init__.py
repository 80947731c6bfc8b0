"""coevo: heuristic programs and the language model that writes them evolve together.

The public API is what `__all__` lists; each name is loaded when it is first used, so `import coevo` stays light.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from coevo.api import search, tune
    from coevo.content import find_problem as load_problem
    from coevo.environments.loading import find_environment as load_environment
    from coevo.interfaces import (
        Completion,
        Engine,
        Environment,
        Instance,
        Member,
        Message,
        Problem,
        Request,
        Step,
        Task,
        Update,
    )
    from coevo.searching.api import load_run
    from coevo.searching.evaluate import evaluate_file as evaluate

__version__ = "0.1.0"

_WHERE = {
    "search": ("coevo.api", "search"),
    "tune": ("coevo.api", "tune"),
    "evaluate": ("coevo.searching.evaluate", "evaluate_file"),
    "load_problem": ("coevo.content", "find_problem"),
    "load_environment": ("coevo.environments.loading", "find_environment"),
    "load_run": ("coevo.searching.api", "load_run"),
    "Problem": ("coevo.interfaces", "Problem"),
    "Instance": ("coevo.interfaces", "Instance"),
    "Engine": ("coevo.interfaces", "Engine"),
    "Request": ("coevo.interfaces", "Request"),
    "Completion": ("coevo.interfaces", "Completion"),
    "Member": ("coevo.interfaces", "Member"),
    "Update": ("coevo.interfaces", "Update"),
    "Environment": ("coevo.interfaces", "Environment"),
    "Message": ("coevo.interfaces", "Message"),
    "Step": ("coevo.interfaces", "Step"),
    "Task": ("coevo.interfaces", "Task"),
}

__all__ = [
    "Completion",
    "Engine",
    "Environment",
    "Instance",
    "Member",
    "Message",
    "Problem",
    "Request",
    "Step",
    "Task",
    "Update",
    "evaluate",
    "load_environment",
    "load_problem",
    "load_run",
    "search",
    "tune",
]


def __getattr__(name: str) -> Any:
    if name not in _WHERE:
        raise AttributeError(f"module 'coevo' has no attribute {name!r}")
    module, attribute = _WHERE[name]
    return getattr(import_module(module), attribute)

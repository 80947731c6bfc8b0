"""coevo: heuristic programs and the language model that writes them evolve together.

The public API is what `__all__` lists; each name is loaded when it is first used, so `import coevo` stays light.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from coevo.content import find_problem as load_problem
    from coevo.interfaces import Completion, Engine, Instance, Member, Problem, Request, Update
    from coevo.searching.api import load_run, search
    from coevo.searching.evaluate import evaluate_file as evaluate

__version__ = "0.1.0"

_WHERE = {
    "search": ("coevo.searching.api", "search"),
    "evaluate": ("coevo.searching.evaluate", "evaluate_file"),
    "load_problem": ("coevo.content", "find_problem"),
    "load_run": ("coevo.searching.api", "load_run"),
    "Problem": ("coevo.interfaces", "Problem"),
    "Instance": ("coevo.interfaces", "Instance"),
    "Engine": ("coevo.interfaces", "Engine"),
    "Request": ("coevo.interfaces", "Request"),
    "Completion": ("coevo.interfaces", "Completion"),
    "Member": ("coevo.interfaces", "Member"),
    "Update": ("coevo.interfaces", "Update"),
}

__all__ = [
    "Completion",
    "Engine",
    "Instance",
    "Member",
    "Problem",
    "Request",
    "Update",
    "evaluate",
    "load_problem",
    "load_run",
    "search",
]


def __getattr__(name: str) -> Any:
    if name not in _WHERE:
        raise AttributeError(f"module 'coevo' has no attribute {name!r}")
    module, attribute = _WHERE[name]
    return getattr(import_module(module), attribute)

"""Published settings by name: Agentic ESOpt (arXiv:2608.17310, tables 13 and 19), training time.

Every value that a recipe sets is visible in the `config.toml` of the run. The model is the user's to name: published
were Qwen3.5-4B (Sudoku, math, documents) and Qwen3.5-27B (web). Measurements are made on the split `val`, where the
published runs looked at their test sets.
"""

from collections.abc import Mapping
from typing import Any

_NON_THINKING = {"temperature": 0.7, "top_p": 0.8, "top_k": 20, "presence_penalty": 1.5}
_TOOLS = {"temperature": 1.0, "top_p": 1.0, "top_k": 40, "presence_penalty": 2.0, "turns": 50}
_COSINE = {"schedule": "cosine", "alpha": 5e-4, "alpha_rule": "constant", "children": 1}


def _sudoku(blanks: int, sigma: float, sigma_end: float) -> dict[str, Any]:
    """All 32 training boards in every generation, 32 members."""
    return {
        "env": "sudoku",
        "options": {"blanks": blanks, "data": "published"},
        "generations": 100,
        "tasks": 32,
        "every": 10,
        "repeats": 3,
        "seeds": "independent",
        "answers": {**_NON_THINKING, "turns": 3 * blanks, "turn_tokens": 64},
        "evolution_strategy": {"members": 32, "sigma": sigma, "sigma_end": sigma_end, **_COSINE},
    }


def _with_tools(env: str, generations: int, data: str, limits: Mapping[str, int]) -> dict[str, Any]:
    """16 members on 16 tasks each; one pass or less over the training tasks."""
    return {
        "env": env,
        "options": {"data": data} if data else {},
        "generations": generations,
        "tasks": 16,
        "every": 10,
        "seeds": "independent",
        "answers": {**_TOOLS, **limits},
        "evolution_strategy": {"members": 16, "sigma": 1e-3, "sigma_end": 5e-4, **_COSINE},
    }


_WEB: dict[str, Any] = {
    "env": "webarena",
    "options": {},
    "generations": 70,
    "tasks": 8,
    "every": 10,
    "seeds": "independent",
    "answers": {**_NON_THINKING, "turns": 30, "turn_tokens": 2048},
    "evolution_strategy": {
        "members": 8, "sigma": 1.5e-3, "sigma_end": 1.5e-3, "schedule": "constant", "alpha": 2.5e-4, "children": 1,
    },
}  # fmt: skip

RECIPES: Mapping[str, Mapping[str, Any]] = {
    "sudoku-5": _sudoku(5, 1e-3, 2.5e-4),
    "sudoku-10": _sudoku(10, 1e-3, 2.5e-4),
    "sudoku-15": _sudoku(15, 7e-4, 5e-4),
    "math": _with_tools("math", 25, "dapo", {"turn_tokens": 4096}),
    "docvqa": _with_tools("docvqa", 40, "", {"turn_tokens": 512}),
    "web": _WEB,
}
"""Name -> fields of `TuneConfig`."""

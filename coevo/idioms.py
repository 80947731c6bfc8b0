"""Idioms: the building blocks a heuristic can be seen to use, told by its syntax tree alone.

The list is closed, so that a small model can be taught it: a prompt in slots may name idioms to use or to avoid
(`coevo.codec`), and statistics over children speak of the same ones (`coevo.skills`).
"""

import ast

_CALLS = {
    "mean": ("mean", "average"),
    "median": ("median", "quantile", "percentile"),
    "spread": ("std", "var", "ptp"),
    "sum": ("sum", "cumsum", "dot", "prod"),
    "max": ("max", "maximum", "argmax", "amax"),
    "min": ("min", "minimum", "argmin", "amin"),
    "rank": ("sort", "argsort", "sorted", "argpartition", "partition", "searchsorted"),
    "exp": ("exp", "expm1"),
    "log": ("log", "log1p", "log2", "log10"),
    "root": ("sqrt", "cbrt"),
    "abs": ("abs", "absolute", "fabs"),
    "choice": ("where", "clip", "select"),
}
_CALLED = {name: idiom for idiom, names in _CALLS.items() for name in names}
_SYNTAX = {
    "ratio": (ast.Div, ast.FloorDiv),
    "power": (ast.Pow,),
    "remainder": (ast.Mod,),
    "loop": (ast.For, ast.While),
    "comprehension": (ast.ListComp, ast.GeneratorExp, ast.SetComp, ast.DictComp),
    "threshold": (ast.Compare,),
    "branch": (ast.If, ast.IfExp),
    "lambda": (ast.Lambda,),
}

IDIOMS: tuple[str, ...] = (*_CALLS, *_SYNTAX)
"""Every idiom, in a fixed order."""


def idioms_of(source: str) -> frozenset[str]:
    """The idioms a piece of Python uses; none if it does not parse."""
    try:
        tree = ast.parse(source)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return frozenset()
    found = set()
    for node in ast.walk(tree):
        found |= {idiom for idiom, kinds in _SYNTAX.items() if isinstance(node, kinds)}
        if isinstance(node, ast.Call):
            function = node.func
            name = function.attr if isinstance(function, ast.Attribute) else getattr(function, "id", "")
            found |= {_CALLED[name]} if name in _CALLED else set()
    return frozenset(found)

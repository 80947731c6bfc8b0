"""Idioms: the building blocks a heuristic can be seen to use, told by its syntax tree alone.

The list is closed, so that a small model can be taught it: a prompt in slots may name idioms to use or to avoid
(`coevo.codec`), and statistics over children speak of the same ones (`coevo.skills`). Each of them varies: there is a
kind of heuristic that the embedded model writes sometimes with it and sometimes without.
"""

import ast
from collections.abc import Callable

_CALLS = {
    "mean": ("mean", "average", "median"),
    "spread": ("std", "var", "ptp"),
    "sum": ("sum", "cumsum", "dot"),
    "max": ("max", "amax"),
    "argmax": ("argmax",),
    "bound": ("maximum", "minimum", "fmax", "fmin", "clip"),
    "sort": ("sort", "argsort", "sorted", "argpartition", "partition", "searchsorted"),
    "exp": ("exp", "expm1"),
    "log": ("log", "log1p", "log2", "log10"),
    "root": ("sqrt", "cbrt"),
    "abs": ("abs", "absolute", "fabs"),
    "norm": ("norm", "hypot"),
    "angle": ("cos", "sin", "tan", "arctan2"),
    "choice": ("where", "select", "choose"),
    "count": ("count", "count_nonzero", "bincount"),
    "size": ("len",),
    "position": ("arange", "enumerate"),
    "zip": ("zip",),
}
_CALLED = {name: idiom for idiom, names in _CALLS.items() for name in names}


def _called(node: ast.AST) -> str:
    """Name of the function or method that a call calls; empty for everything else."""
    if not isinstance(node, ast.Call):
        return ""
    return node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", "")


def _is_binary(node: ast.AST, *operators: type[ast.operator]) -> bool:
    return isinstance(node, (ast.BinOp, ast.AugAssign)) and isinstance(node.op, operators)


def _is_rank(node: ast.AST) -> bool:
    """Whether it is the argsort of an argsort: the places of the elements in their order."""
    sorted_twice = [*node.args[:1], getattr(node.func, "value", node)] if isinstance(node, ast.Call) else []
    return _called(node) == "argsort" and any(_called(inner) == "argsort" for inner in sorted_twice)


def _is_scale(node: ast.AST) -> bool:
    """Whether it divides by what a call returns, such as a maximum, a mean or a length."""
    return _is_binary(node, ast.Div) and isinstance(getattr(node, "right", getattr(node, "value", None)), ast.Call)


def _is_ratio(node: ast.AST) -> bool:
    return _is_binary(node, ast.Div, ast.FloorDiv) and not _is_scale(node)


def _is_product(node: ast.AST) -> bool:
    """Whether it multiplies two things neither of which is a plain constant."""
    factors = (node.left, node.right) if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Mult) else ()
    return bool(factors) and not any(isinstance(factor, (ast.Constant, ast.UnaryOp)) for factor in factors)


def _is_pairwise(node: ast.AST) -> bool:
    """Whether it makes a new axis, x[:, None], so that every element meets every other."""
    return isinstance(node, ast.Subscript) and any(
        isinstance(part, ast.Constant) and part.value is None for part in ast.walk(node.slice)
    )


def _is_slice(node: ast.AST) -> bool:
    """Whether it is a slice with a bound or a step, x[:3] or x[::2]."""
    return isinstance(node, ast.Slice) and (node.lower or node.upper or node.step) is not None


_SHAPES: dict[str, Callable[[ast.AST], bool]] = {
    "rank": _is_rank,
    "scale": _is_scale,
    "ratio": _is_ratio,
    "power": lambda node: _is_binary(node, ast.Pow),
    "remainder": lambda node: _is_binary(node, ast.Mod),
    "product": _is_product,
    "pairwise": _is_pairwise,
    "slice": _is_slice,
    "threshold": lambda node: isinstance(node, ast.Compare),
    "branch": lambda node: isinstance(node, (ast.If, ast.IfExp)),
    "comprehension": lambda node: isinstance(node, (ast.ListComp, ast.GeneratorExp, ast.SetComp, ast.DictComp)),
}

IDIOMS: tuple[str, ...] = (*_CALLS, *_SHAPES)
"""Every idiom, in a fixed order."""


def idioms_of(source: str) -> frozenset[str]:
    """The idioms a piece of Python uses; none if it does not parse."""
    try:
        nodes = list(ast.walk(ast.parse(source)))
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return frozenset()
    called = {_CALLED[name] for name in map(_called, nodes) if name in _CALLED}
    return frozenset(called | {idiom for idiom, fits in _SHAPES.items() if any(map(fits, nodes))})

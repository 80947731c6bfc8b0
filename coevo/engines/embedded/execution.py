"""Run generated programs on small random inputs: what does not return a legal answer is not taught."""

import ast
import re
import warnings
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from coevo.engines.embedded.families import Family

Inputs = Mapping[str, Any]
"""Value of every argument kind."""


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


_NAMES = _words(
    "np abs bool dict enumerate float int len list max min range round set sorted sum tuple zip True False None"
)
_BANNED = _words("load save savez savetxt fromfile tofile memmap genfromtxt loadtxt lib ctypeslib f2py DataSource")


def is_harmless(tree: ast.AST) -> bool:
    """Whether a program has no import, no `while`, no underscored name and calls nothing but numpy and plain builtins.

    This is not a sandbox: it lets a small model's text be tried in this process while it is measured.
    """
    stored = {node.id for node in ast.walk(tree) if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store)}
    stored |= {node.arg for node in ast.walk(tree) if isinstance(node, ast.arg)}
    for node in ast.walk(tree):
        if isinstance(node, (ast.While, ast.ImportFrom, ast.ClassDef, ast.Global)):
            return False
        if isinstance(node, ast.Import) and [alias.name for alias in node.names] != ["numpy"]:
            return False
        if isinstance(node, ast.Attribute) and (node.attr.startswith("_") or node.attr in _BANNED):
            return False
        if isinstance(node, ast.Name) and node.id not in stored | _NAMES:
            return False
    return True


def random_inputs(rng: np.random.Generator, family: Family) -> Inputs:
    """One set of arguments in the ranges that real problems have."""
    makers: dict[str, Callable[[np.random.Generator], Inputs]] = {
        "next_node": _node_inputs, "next_item": _item_inputs, "priority": _tuple_inputs, "square": _square_inputs,
        "routing": _routing_inputs, "packing": _packing_inputs, "online": _online_inputs,
    }  # fmt: skip
    return makers[family.name](rng)


def compile_body(body: str, kinds: tuple[str, ...]) -> Callable[..., Any]:
    """The function with a slot body, its arguments in the order of `kinds`.

    Raises:
        SyntaxError: If the text is no function body.
    """
    text = re.sub(r"<a(\d+)>", r"slot\1", body)
    namespace: dict[str, Any] = {"np": np}
    exec(f"def heuristic({', '.join(f'slot{p}' for p in range(len(kinds)))}):\n{text}", namespace)
    return namespace["heuristic"]  # type: ignore[no-any-return]


def failure(body: str, kinds: tuple[str, ...], family: Family, inputs: list[Inputs]) -> str:
    """Why the body does not answer all inputs legally, in a word or two; "" if it does.

    Meant for text the grammar or the embedded model wrote, whose vocabulary holds nothing dangerous; never for the
    programs of other models, which belong in the sandbox.
    """
    try:
        with warnings.catch_warnings(), np.errstate(all="ignore"):
            warnings.simplefilter("ignore")
            heuristic = compile_body(body, kinds)
            for values in inputs:
                answer = heuristic(
                    *(np.copy(values[k]) if isinstance(values[k], np.ndarray) else values[k] for k in kinds)
                )
                if not _is_legal(family, answer, values):
                    return "illegal answer"
    except Exception as error:  # whatever a program raises is the finding
        return type(error).__name__
    return ""


def _is_legal(family: Family, answer: Any, values: Inputs) -> bool:
    if family.name == "next_node":
        return bool(np.ndim(answer) == 0 and answer in values["nodes"])
    if family.name == "next_item":
        return bool(
            int(answer) == answer
            and 0 <= answer < len(values["weights"])
            and values["weights"][int(answer)] <= values["number"]
        )
    if family.name == "priority":
        return bool(np.ndim(answer) == 0 and np.isfinite(float(answer)))
    if family.name == "online":
        return bool(np.shape(answer) == values["bins"].shape and np.isfinite(answer).all())
    size = len(values["matrix"] if "matrix" in values else values["demands"])
    return bool(np.shape(answer) == (size, size) and np.isfinite(np.asarray(answer, dtype=float)).all())


def _distances(rng: np.random.Generator, size: int) -> tuple[Any, Any]:
    points = rng.random((size, 2))
    return points, np.linalg.norm(points[:, None] - points[None], axis=2)


def _node_inputs(rng: np.random.Generator) -> Inputs:
    size = int(rng.integers(12, 20))
    left = rng.permutation(np.arange(2, size))[: int(rng.choice((1, 2, 3, int(rng.integers(1, size - 2)))))]
    return {"node": 1, "destination": 0, "nodes": left, "matrix": _distances(rng, size)[1]}


def _item_inputs(rng: np.random.Generator) -> Inputs:
    count = int(rng.integers(1, 16))
    if rng.random() < 0.5:
        weights, values = rng.random(count) + 1e-3, rng.random(count) + 1e-3
    else:
        weights, values = rng.integers(1, 30, count).astype(float), rng.integers(1, 30, count).astype(float)
    return {
        "number": float(weights.min() * 1.01 + rng.random() * weights.sum() / 2),
        "weights": weights,
        "values": values,
    }


def _tuple_inputs(rng: np.random.Generator) -> Inputs:
    length = 3 * int(rng.integers(2, 6))
    return {"tuple": tuple(int(x) for x in rng.integers(0, 3, length)), "length": length, "integer": length * 2 // 3}


def _square_inputs(rng: np.random.Generator) -> Inputs:
    points, matrix = _distances(rng, int(rng.integers(12, 16)))
    if rng.random() < 0.3:
        np.fill_diagonal(matrix, 1.0)
    return {"matrix": matrix, "points": points}


def _routing_inputs(rng: np.random.Generator) -> Inputs:
    inputs = _square_inputs(rng)
    demands = rng.integers(1, 10, len(inputs["matrix"])) * rng.choice((1, 1.0))
    demands[0] = 0
    return {**inputs, "demands": demands, "number": 50}


def _packing_inputs(rng: np.random.Generator) -> Inputs:
    return {"demands": rng.integers(20, 101, int(rng.integers(6, 14))), "number": 150}


def _online_inputs(rng: np.random.Generator) -> Inputs:
    item = int(rng.integers(5, 60))
    return {"item": item, "bins": rng.integers(item, 101, int(rng.integers(1, 14))) * rng.choice((1, 1.0))}

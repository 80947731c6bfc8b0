"""Symmetric constant-weight admissible sets: a heuristic scores vectors, and a greedy takes the best admissible ones.

The construction is that of FunSearch (Romera-Paredes et al., Nature 2024), as Agentic-ESOpt evaluates it: the vectors
of length n with w entries other than 0, one of each orbit under rotation of groups of three entries, get one score
each, once. The best is taken, what it excludes is dropped, and so on until none is left; the size of the set counts
every rotation. Where that evaluator let a score of NaN win over all others and took infinite ones, here a score that is
not finite makes the candidate infeasible. It searched on (15, 10), which is also a test setting there; so it is here,
and since there are no instances to spare there is no split `val`.

Scores are what crosses the sandbox; the greedy runs outside, in `objective`.
"""

import numpy as np

from coevo.errors import ConfigError, Infeasible
from coevo.interfaces import Heuristic, Instance, Solution

from .admissible import expand, is_admissible, is_symmetric_admissible
from .drawing import draw_set
from .greedy import BAD_TABLE, ORBITS, TRIPLES, WEIGHTS, choose_greedily

__all__ = ["draw", "expand", "instances", "is_admissible", "objective", "reference", "solve"]

SPLITS = {"search": (15, 10), "12-7": (12, 7), "21-15": (21, 15), "24-17": (24, 17)}
"""Length and weight of each split's one instance."""

BEST_KNOWN = {(12, 7): 792, (15, 10): 3003, (21, 15): 43596, (24, 17): 237984}
"""Largest symmetric sets in print (FunSearch, Nature 2024). The first two are optimal: one vector per support."""

CHUNK = 4096
"""Vectors turned into tuples at a time, which bounds what they take to some megabytes."""


def instances(split: str) -> list[Instance]:
    """The one instance of a split: `n`, `w`, and `vectors` (children, n), int8, in the order of the symbols.

    Nothing is random; the seed, 100·n + w, is there for heuristics that draw numbers.

    Raises:
        ConfigError: If there is no such split.
    """
    n, w = _settings(split)
    return [make_instance(n, w)]


def make_instance(n: int, w: int) -> Instance:
    """The instance of length n, a multiple of three, and weight w, at most n; both at least 0."""
    vectors = np.array(TRIPLES, dtype=np.int8)[children(n // 3, w)].reshape(-1, n)
    vectors.flags.writeable = False
    return Instance(f"{n}-{w}", 100 * n + w, {"n": n, "w": w, "vectors": vectors})


def children(groups: int, weight: int) -> np.ndarray:
    """All rows of that many symbols with that total weight, in lexicographic order: int8, shape (children, groups)."""
    rows, totals = np.zeros((1, 0), dtype=np.int8), np.zeros(1, dtype=np.int64)
    for groups_after in range(groups - 1, -1, -1):
        symbols = np.tile(np.arange(7, dtype=np.int8), len(rows))
        rows, totals = np.column_stack((np.repeat(rows, 7, axis=0), symbols)), np.repeat(totals, 7) + WEIGHTS[symbols]
        can_end = (totals <= weight) & (totals + 3 * groups_after >= weight)
        rows, totals = rows[can_end], totals[can_end]
    return np.ascontiguousarray(rows[totals == weight])


def solve(heuristic: Heuristic, instance: Instance) -> Solution:
    """Ask the heuristic for the score of every vector, in order, as a tuple of Python integers.

    Integers, floats, NumPy ones and arrays of size 1 are scores.

    Returns:
        The scores, float64, shape (children,).

    Raises:
        TypeError: If the heuristic returns something that is not a real number.
    """
    n, w = int(instance.data["n"]), int(instance.data["w"])
    vectors = instance.data["vectors"]
    scores = np.empty(len(vectors))
    for start in range(0, len(vectors), CHUNK):
        for row, vector in enumerate(vectors[start : start + CHUNK].tolist(), start):
            value = heuristic(tuple(vector), n, w)
            scores[row] = value if type(value) is float else _as_score(value)
    return scores


def objective(instance: Instance, solution: Solution) -> float:
    """Number of vectors, rotations included, in the set that greedy builds by these scores, maximised.

    Of equal scores the first wins. The set is checked before it is counted.

    Raises:
        Infeasible: If the scores are not one finite float64 per vector.
    """
    symbols, chosen = _choose(instance, solution)
    if not is_symmetric_admissible(symbols[chosen], WEIGHTS, BAD_TABLE):
        raise AssertionError(f"the greedy built a set that is not admissible, on instance {instance.name}")
    return float(ORBITS[symbols[chosen]].prod(axis=1).sum())


def reference(split: str) -> np.ndarray:
    """Size of the largest set known, float64, shape (1,)."""
    return np.array([BEST_KNOWN[_settings(split)]], dtype=np.float64)


def draw(instance: Instance, solution: Solution) -> str:
    """The chosen vectors as SVG text, one column each, in the order of choice. Raises `Infeasible`."""
    _, chosen = _choose(instance, solution)
    title = f"{instance.name}: {len(chosen)} orbits, {objective(instance, solution):.0f} vectors"
    return draw_set(instance.data["vectors"][chosen], title)


def _settings(split: str) -> tuple[int, int]:
    if split not in SPLITS:
        raise ConfigError(f"expected a split of the problem asp ({', '.join(SPLITS)}), got {split!r}")
    return SPLITS[split]


def _choose(instance: Instance, solution: Solution) -> tuple[np.ndarray, np.ndarray]:
    """Symbols of all children, and the rows of the chosen ones in the order of choice."""
    vectors, scores = instance.data["vectors"], np.asarray(solution)
    if scores.shape != (len(vectors),) or scores.dtype != np.float64:
        raise Infeasible(f"expected {len(vectors)} float64 scores, got {scores.dtype} of shape {scores.shape}")
    wrong = np.flatnonzero(~np.isfinite(scores))
    if wrong.size:
        raise Infeasible(f"the score of vector {wrong[0]}, {_digits(vectors[wrong[0]])}, is {scores[wrong[0]]}")
    symbol_of = np.zeros((3, 3, 3), dtype=np.int8)
    symbol_of[tuple(np.array(TRIPLES).T)] = np.arange(len(TRIPLES))
    groups = vectors.reshape(len(vectors), -1, 3)
    symbols = symbol_of[groups[:, :, 0], groups[:, :, 1], groups[:, :, 2]]
    return symbols, choose_greedily(symbols, scores)


def _digits(vector: np.ndarray) -> str:
    return "".join(map(str, vector.tolist()))


def _as_score(value: object) -> float:
    if isinstance(value, np.ndarray) and value.size == 1:
        value = value.item()
    if isinstance(value, (int, float, np.integer, np.floating)) and not isinstance(value, bool):
        try:
            return float(value)
        except OverflowError:
            raise TypeError(
                f"expected priority to return a number, got one too large for a float: {value!r:.20}"
            ) from None
    raise TypeError(f"expected priority to return a number, got {type(value).__name__} {value!r:.40}")

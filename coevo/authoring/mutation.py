"""Solutions that something was done to: broken ones, which have to be refused, and changed ones, which may be worse."""

from collections.abc import Callable, Iterator

import numpy as np

from coevo.interfaces import Solution

HUGE = 2**62


def broken(solution: Solution) -> Iterator[tuple[str, Solution]]:
    """Arrays that are no solution of anything, each with a word for it.

    A matrix of scores may well be full of −1, so only integers, which number things, must not be negative or huge.
    """
    yield "filled with NaN", np.full(solution.shape, np.nan)
    yield "with one more dimension", solution[None]
    if solution.ndim:
        yield "a single number", np.zeros((), dtype=solution.dtype)
    if solution.dtype.kind in "iu":
        yield "filled with -1", np.full(solution.shape, -1, dtype=np.int64)
        yield f"filled with {HUGE}", np.full(solution.shape, HUGE, dtype=np.int64)


def changed(solution: Solution, rng: np.random.Generator) -> Solution:
    """A solution after one, rarely two or three random small changes that suit its type; the shape may change."""
    moves = (*_BY_KIND[solution.dtype.kind], *(_ORDER if solution.ndim else ()))
    for _ in range(min(int(rng.geometric(0.6)), 3)):
        solution = moves[int(rng.integers(len(moves)))](solution, rng)
    return solution


def _swap(solution: Solution, rng: np.random.Generator) -> Solution:
    flat = solution.flatten()
    if flat.size > 1:
        first, second = rng.choice(flat.size, 2, replace=False)
        flat[[first, second]] = flat[[second, first]]
    return flat.reshape(solution.shape)


def _shuffle(solution: Solution, rng: np.random.Generator) -> Solution:
    return rng.permutation(solution.ravel()).reshape(solution.shape)


def _drop_last(solution: Solution, rng: np.random.Generator) -> Solution:
    return solution[:-1]


def _drop_one(solution: Solution, rng: np.random.Generator) -> Solution:
    return np.delete(solution, int(rng.integers(len(solution))), axis=0) if len(solution) else solution


def _repeat_one(solution: Solution, rng: np.random.Generator) -> Solution:
    if not len(solution):
        return solution
    place = int(rng.integers(len(solution)))
    return np.insert(solution, int(rng.integers(len(solution) + 1)), solution[place], axis=0)


def _change_number(solution: Solution, rng: np.random.Generator) -> Solution:
    """One entry becomes another whole number from the smallest to one above the largest."""
    flat = solution.flatten()
    if flat.size:
        flat[int(rng.integers(flat.size))] = rng.integers(int(flat.min()), int(flat.max()) + 2)
    return flat.reshape(solution.shape)


def _new_number(solution: Solution, rng: np.random.Generator) -> Solution:
    """One entry becomes one above the largest, as when an item gets a bin of its own."""
    flat = solution.flatten()
    if flat.size:
        # An array, not a number: where the type ends, it begins again, and nothing is raised.
        flat[[int(rng.integers(flat.size))]] = flat.max(keepdims=True) + np.ones(1, flat.dtype)
    return flat.reshape(solution.shape)


def _flip(solution: Solution, rng: np.random.Generator) -> Solution:
    flat = solution.flatten()
    if flat.size:
        flat[int(rng.integers(flat.size))] ^= True
    return flat.reshape(solution.shape)


def _negate(solution: Solution, rng: np.random.Generator) -> Solution:
    return -solution


def _disturb(solution: Solution, rng: np.random.Generator) -> Solution:
    return solution + rng.normal(size=solution.shape) * (np.abs(solution).max(initial=0.0) or 1.0)


_Move = Callable[[Solution, np.random.Generator], Solution]
_ORDER: tuple[_Move, ...] = (_swap, _shuffle, _drop_last, _drop_one, _repeat_one)
_BY_KIND: dict[str, tuple[_Move, ...]] = {
    "b": (_flip,),
    "i": (_change_number, _new_number),
    "u": (_change_number, _new_number),
    "f": (_negate, _disturb),
}

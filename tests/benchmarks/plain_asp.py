"""Two plain versions of the greedy for admissible sets: loops as one would write them first, and vectorised NumPy.

Oracles and opponents of the kernel in `problems/asp/greedy.py`, of which they use nothing.
"""

from collections.abc import Sequence
from itertools import product

import numpy as np

Child = tuple[int, ...]

SYMBOLS = ((0, 0, 0), (0, 0, 1), (0, 0, 2), (0, 1, 2), (0, 2, 1), (1, 1, 1), (2, 2, 2))
WEIGHTS = (0, 1, 1, 2, 2, 3, 3)


def rotations(symbol: int) -> list[tuple[int, ...]]:
    """The distinct rotations of a symbol's triple."""
    triple = SYMBOLS[symbol]
    return sorted({triple[i:] + triple[:i] for i in range(3)})


def is_bad(a: int, b: int, c: int) -> bool:
    """Whether some rotations of three symbols have no position with entries {0, 1, 2}, {0, 0, 1} or {0, 0, 2}."""
    good = {(0, 1, 2), (0, 0, 1), (0, 0, 2)}
    return any(
        not any(tuple(sorted(entries)) in good for entries in zip(*choice, strict=True))
        for choice in product(rotations(a), rotations(b), rotations(c))
    )


BAD = frozenset(each for each in product(range(7), repeat=3) if is_bad(*each))


def children(n: int, w: int) -> list[Child]:
    """All rows of n/3 symbols with total weight w, in lexicographic order."""
    return [row for row in product(range(7), repeat=n // 3) if sum(WEIGHTS[symbol] for symbol in row) == w]


def entries(child: Child) -> tuple[int, ...]:
    """The vector of a row of symbols."""
    return sum((SYMBOLS[symbol] for symbol in child), ())


def size(chosen: Sequence[Child]) -> int:
    """Vectors in the set of these orbits."""
    total = 0
    for child in chosen:
        count = 1
        for symbol in child:
            count *= len(rotations(symbol))
        total += count
    return total


def choose_with_loops(rows: Sequence[Child], scores: Sequence[float]) -> list[int]:
    """The greedy choice in loops: row numbers in the order of choice."""
    left, chosen = list(range(len(rows))), list[int]()
    while left:
        best = max(left, key=scores.__getitem__)
        earlier = [rows[each] for each in chosen]
        left = [each for each in left if not _excluded(rows[each], rows[best], earlier)]
        chosen.append(best)
    return chosen


def _excluded(child: Child, new: Child, earlier: Sequence[Child]) -> bool:
    pairs = [(WEIGHTS[c], WEIGHTS[d]) for c, d in zip(child, new, strict=True)]
    if all(a <= b for a, b in pairs) or all(a >= b for a, b in pairs):
        return True
    for old in earlier:
        for triple in zip(old, new, child, strict=True):
            if triple not in BAD:
                break
        else:
            return True
    return False


def choose_with_numpy(rows: Sequence[Child], scores: Sequence[float]) -> list[int]:
    """The same, all earlier vectors against all children left at once."""
    table = np.array([[[(a, b, c) in BAD for c in range(7)] for b in range(7)] for a in range(7)])
    weights = np.array(WEIGHTS)
    left, symbols, values = np.arange(len(rows)), np.array(rows), np.array(scores)
    chosen, earlier = list[int](), np.empty((0, symbols.shape[1]), dtype=np.int64)
    while left.size:
        best = int(np.argmax(values))
        new = symbols[best]
        chosen.append(int(left[best]))
        heavier, own = weights[symbols], weights[new]
        keep = ~(np.all(heavier <= own, axis=1) | np.all(heavier >= own, axis=1))
        left, symbols, values = left[keep], symbols[keep], values[keep]
        bad = np.ones((len(earlier), len(left)), dtype=bool)
        for group, symbol in enumerate(new):
            bad &= table[symbol][earlier[:, group, None], symbols[None, :, group]]
        keep = ~bad.any(axis=0)
        left, symbols, values = left[keep], symbols[keep], values[keep]
        earlier = np.vstack((earlier, new))
    return chosen

"""Admissible sets by their definition, apart from the greedy that builds them.

An admissible set holds vectors over {0, 1, 2} of one length, all with the same number of entries that are not 0 but no
two with these at the same positions, such that any three of them have a position where their entries are {0, 1, 2},
{0, 0, 1} or {0, 0, 2}. It is symmetric if rotating one of its groups of three entries never leads out of it; then one
vector of each orbit describes it.
"""

from itertools import product

import numpy as np
from numba import njit


def expand(vectors: np.ndarray) -> np.ndarray:
    """Every vector that rotations of groups make of these.

    Args:
        vectors: Shape (vectors, n), n a multiple of three, int8.

    Returns:
        Shape (expanded, n), int8; each once if no two of the given vectors are rotations of each other.
    """
    found = []
    for vector in vectors.tolist():
        groups = [tuple(vector[i : i + 3]) for i in range(0, len(vector), 3)]
        orbits = [sorted({group[i:] + group[:i] for i in range(3)}) for group in groups]
        found += [sum(choice, ()) for choice in product(*orbits)]
    return np.array(found, dtype=np.int8).reshape(len(found), vectors.shape[1])


@njit(cache=True)
def is_admissible(vectors):
    """Whether an expanded set is admissible: every pair and every triple is looked at, O(size³·n).

    Args:
        vectors: Shape (size, n), int8, entries 0 to 2.
    """
    for a in range(len(vectors)):
        for b in range(a):
            if not _is_pair(vectors, a, b):
                return False
            for c in range(b):
                if not _has_witness(vectors, a, b, c):
                    return False
    return True


# Row numbers instead of rows: a view per triple would cost more than looking at it.
@njit(cache=True)
def _is_pair(vectors, a, b):
    """Whether two vectors have the same number of entries that are not 0, but not at the same positions."""
    only_a = only_b = 0
    for i in range(vectors.shape[1]):
        only_a += vectors[a, i] > 0 and vectors[b, i] == 0
        only_b += vectors[b, i] > 0 and vectors[a, i] == 0
    return only_a == only_b > 0


@njit(cache=True)
def _has_witness(vectors, a, b, c):
    """Whether three vectors have a position with entries {0, 1, 2}, {0, 0, 1} or {0, 0, 2}."""
    for i in range(vectors.shape[1]):
        x, y, z = vectors[a, i], vectors[b, i], vectors[c, i]
        zeros = (x == 0) + (y == 0) + (z == 0)
        # Three entries with one 0 are {0, 1, 2} if they add up to 3; {0, 1, 1} adds up to 2, {0, 2, 2} to 4.
        if zeros == 2 or (zeros == 1 and x + y + z == 3):
            return True
    return False


@njit(cache=True)
def is_symmetric_admissible(symbols, weights, bad_table):
    """The same for orbits, each given by its symbols: no two alike in weight, no three bad in every group, O(size³).

    Args:
        symbols: One orbit per row, shape (orbits, groups), int8.
        weights: Entries of each symbol that are not 0.
        bad_table: For two symbols the set of third ones that are bad with them, uint8 (7, 7).
    """
    size, groups = symbols.shape
    bad = np.empty(groups, np.uint8)
    for a in range(size):
        for b in range(a):
            are_alike = True
            for g in range(groups):
                are_alike &= weights[symbols[a, g]] == weights[symbols[b, g]]
                bad[g] = bad_table[symbols[a, g], symbols[b, g]]
            if are_alike:
                return False
            for c in range(b):
                g = 0
                while g < groups and bad[g] >> symbols[c, g] & 1:
                    g += 1
                if g == groups:
                    return False
    return True

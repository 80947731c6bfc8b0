"""The greedy choice of an admissible set, with everything that a chosen vector rules out crossed off at once.

All children have the same weight, so a child whose groups weigh at least as much as the chosen one's everywhere, or at
most as much, has the same weight in every group. What is ruled out, by that or by a pair of chosen vectors, is then a
product: in each group a set of symbols, whatever the other groups hold. A tree over the groups that counts the children
left under each prefix lets such a product be walked without touching what is gone already.
"""

import numpy as np
from numba import njit

TRIPLES = ((0, 0, 0), (0, 0, 1), (0, 0, 2), (0, 1, 2), (0, 2, 1), (1, 1, 1), (2, 2, 2))
"""The symbols: one triple of each orbit under rotation."""

WEIGHTS = np.array([sum(entry > 0 for entry in triple) for triple in TRIPLES])
"""Entries of each symbol that are not 0."""

ORBITS = np.array([len({triple[i:] + triple[:i] for i in range(3)}) for triple in TRIPLES])
"""How many vectors the rotations of each symbol give: 1 for the constant ones, else 3."""

BAD = (
    "000 011 022 033 044 055 066 111 112 122 123 124 133 144 155 166 222 233 244 255 266 333 334 344 345 346 355 366 "
    "444 455 466 555 556 566 666"
)
"""Three symbols, sorted, for which some rotations of theirs have no position that makes three vectors admissible.

The list of FunSearch (Romera-Paredes et al., Nature 2024); a test derives it from the definition.
"""


def _bad_table() -> np.ndarray:
    table = np.zeros((7, 7), dtype=np.uint8)
    for word in BAD.split():
        for a, b, c in {(word[i], word[j], word[3 - i - j]) for i in range(3) for j in range(3) if i != j}:
            table[int(a), int(b)] |= 1 << int(c)
    return table


BAD_TABLE = _bad_table()
"""For two symbols, the set of third ones that are bad with them: uint8 (7, 7), bit c for symbol c."""

_SAME_WEIGHT = np.array([sum(1 << c for c in range(7) if WEIGHTS[c] == weight) for weight in WEIGHTS], dtype=np.uint8)


def choose_greedily(symbols: np.ndarray, scores: np.ndarray) -> np.ndarray:
    """Children in the order in which greedy chooses them: the best score that is not ruled out, the first of equals.

    Args:
        symbols: Children as rows of symbols 0 to 6, of one weight and all different, int8, shape (children, groups).
        scores: Shape (children,), float64, finite.

    Returns:
        Row numbers, shape (chosen,), int64.
    """
    order = np.argsort(-scores, kind="stable")
    return choose_in_order(symbols, order, BAD_TABLE, _SAME_WEIGHT)


@njit(cache=True)
def choose_in_order(symbols, order, bad_table, same_weight):
    """Take each child in turn that nothing before it has ruled out.

    Args:
        symbols: Shape (children, groups), int8.
        order: Row numbers in the order of choice, int64.
        bad_table: As `BAD_TABLE`.
        same_weight: For each symbol the set of those of the same weight, uint8, bit c for symbol c.
    """
    count, groups = symbols.shape
    starts = _level_starts(groups)
    left = _count_prefixes(symbols, starts)
    chosen, size = np.empty(count, np.int64), 0
    ruled_out = np.empty(groups, np.uint8)
    for row in order:
        if left[_leaf(symbols, row, starts)] == 0:
            continue
        for g in range(groups):
            ruled_out[g] = same_weight[symbols[row, g]]
        _cross_off(left, starts, ruled_out)
        for place in range(size):
            for g in range(groups):
                ruled_out[g] = bad_table[symbols[chosen[place], g], symbols[row, g]]
            _cross_off(left, starts, ruled_out)
        chosen[size] = row
        size += 1
    return chosen[:size].copy()


@njit(cache=True)
def _level_starts(groups):
    """Where each level of the complete tree with seven children per node begins, the root at 0."""
    starts = np.zeros(groups + 1, np.int64)
    width = 1
    for level in range(groups):
        starts[level + 1] = starts[level] + width
        width *= 7
    return starts


@njit(cache=True)
def _leaf(symbols, row, starts):
    """Place of a child in the tree."""
    groups = symbols.shape[1]
    code = 0
    for g in range(groups):
        code = 7 * code + int(symbols[row, g])
    return starts[groups] + code


@njit(cache=True)
def _count_prefixes(symbols, starts):
    """Children under each node of the tree, int32."""
    count, groups = symbols.shape
    left = np.zeros(starts[groups] + 7**groups, np.int32)
    left[0] = count
    for row in range(count):
        code = 0
        for g in range(groups):
            code = 7 * code + int(symbols[row, g])
            left[starts[g + 1] + code] += 1
    return left


@njit(cache=True)
def _cross_off(left, starts, ruled_out):
    """Remove every child whose symbol in each group is in that group's set, visiting only prefixes with children left.

    Args:
        left: Children left under each node; changed.
        starts: First node of each level.
        ruled_out: Set of symbols of each group, uint8, shape (groups,).
    """
    groups = len(ruled_out)
    waiting = np.empty(groups, np.uint8)
    codes = np.zeros(groups, np.int64)
    level = 0
    waiting[0] = ruled_out[0]
    while level >= 0:
        symbols = waiting[level]
        if symbols == 0 or left[starts[level] + codes[level]] == 0:
            level -= 1
            continue
        symbol = 0
        while symbols >> symbol & 1 == 0:
            symbol += 1
        waiting[level] = symbols & (symbols - 1)
        code = 7 * codes[level] + symbol
        if left[starts[level + 1] + code] == 0:
            continue
        if level < groups - 1:
            level += 1
            codes[level] = code
            waiting[level] = ruled_out[level]
            continue
        for above in range(groups, -1, -1):
            left[starts[above] + code] -= 1
            code //= 7

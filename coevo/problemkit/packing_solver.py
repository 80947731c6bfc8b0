"""Proven packings: column generation (Gilmore and Gomory 1961), and minimum bin slack (Gupta and Ho 1999) to round.

A pattern is what one bin can hold: how many items of each distinct size. The linear program over patterns bounds the
number of bins from below, and its rounded-up bound is almost always reached: first by filling bins as full as they go,
else by taking patterns from the linear program and filling the rest so, else by an integer program over all patterns
that a packing with so few bins can use. OR-Tools solves the linear programs (GLOP) and the integer program (CP-SAT),
and is imported only when a solver is called.

Nothing rests on floating point. The bound is recomputed from dual values cut to integers: if a bin can earn at most K
and all items together earn P, at least P/K bins are needed, whatever the earnings. And a packing is checked by others.
"""

import logging
import time
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from coevo.problemkit.extras import import_extra
from coevo.problemkit.packing import best_fit_decreasing, count_bins, first_fit_decreasing, sum_bound
from coevo.problemkit.packing_master import PURPOSE, Master
from coevo.problemkit.packing_slack import fill_bins

IntArray = NDArray[np.int64]

logger = logging.getLogger(__name__)

_SCALE = 10**7
"""A dual value of 1 as an integer: a pattern that earns more than this improves the linear program."""

_MOST_CELLS = 2 * 10**7
"""Most cells (distinct sizes × capacity) of the knapsack table; beyond that the textbook packings have to do."""

_MOST_PATTERNS = 20_000
"""Most patterns that are enumerated for the integer program."""

_TRIES = 20
"""Randomised fillings of the same items before something else is done."""


@dataclass(frozen=True, slots=True)
class Proof:
    """A packing and how far it is proven.

    Attributes:
        packing: The bin of each item, shape (n,).
        bound: No packing has fewer bins.
    """

    packing: IntArray
    bound: int

    @property
    def is_complete(self) -> bool:
        """Whether the packing has as few bins as possible."""
        return count_bins(self.packing) == self.bound


def prove_packing(sizes: IntArray, capacity: int, *, seconds: float) -> Proof:
    """A packing of fewest bins and its proof, or the best ones found when the time is up.

    Deterministic unless the time runs out.

    Args:
        sizes: Shape (n,), each from 1 to the capacity.
        capacity: Of every bin.
        seconds: Longest wall time, give or take one linear program.

    Raises:
        ExtraMissingError: If OR-Tools is not installed.
    """
    for module in ("ortools.linear_solver.python.model_builder", "ortools.sat.python.cp_model"):
        import_extra(module, "solvers", PURPOSE)
    textbook = min((best_fit_decreasing(sizes, capacity), first_fit_decreasing(sizes, capacity)), key=count_bins)
    proof = Proof(textbook, sum_bound(sizes, capacity))
    if proof.is_complete or len(np.unique(sizes)) * capacity > _MOST_CELLS:
        return proof
    return _Search(sizes, capacity, time.monotonic() + seconds).run(proof)


def solver_packing(sizes: IntArray, capacity: int, *, seconds: float) -> IntArray:
    """The packing of `prove_packing`; a warning in the log says so if it is not proven optimal.

    Raises:
        ExtraMissingError: If OR-Tools is not installed.
    """
    proof = prove_packing(sizes, capacity, seconds=seconds)
    if not proof.is_complete:
        logger.warning(
            "the best packing found in %g s has %d bins; proven is only that %d are needed",
            seconds, count_bins(proof.packing), proof.bound,
        )  # fmt: skip
    return proof.packing


class _Search:
    """The patterns found so far, and what is built from them."""

    def __init__(self, sizes: IntArray, capacity: int, deadline: float):
        self.sizes, self.capacity, self.deadline = sizes, capacity, deadline
        widths, counts = np.unique(sizes, return_counts=True)
        self.widths, self.counts = widths[::-1].tolist(), counts[::-1].astype(np.int64)
        self.master = Master(np.minimum(self.counts, capacity // widths[::-1]).tolist())
        # Fixed: the same items get the same packing every time.
        self.rng = np.random.default_rng(1)

    def run(self, proof: Proof) -> Proof:
        """A better proof than the one given, if there is one in time."""
        proof = self.fill(proof, [], self.counts)
        if proof.is_complete:
            return proof
        _, profits = self.converge(self.counts)
        table = self.knapsack(profits, self.counts)
        most, earned = int(table[0, -1]), int(self.counts @ profits)
        proof = self.dive(Proof(proof.packing, max(proof.bound, -(-earned // most))))
        full = self.knapsack(np.array(self.widths), self.counts)
        while not proof.is_complete and not self.is_late():
            # A bin that earned less, or was filled less, would leave the others more than they can take.
            least = most - (proof.bound * most - earned)
            slack = proof.bound * self.capacity - int(self.sizes.sum())
            patterns = list(self.enumerate([(profits, table, least), (self.widths, full, self.capacity - slack)]))
            is_all = len(patterns) <= _MOST_PATTERNS
            cover, is_impossible = self.cover(patterns, proof.bound, exactly=is_all)
            if cover:
                proof = self.better(proof, cover)
            elif is_impossible and is_all:
                proof = Proof(proof.packing, proof.bound + 1)
            else:
                break
        return proof

    def is_late(self) -> bool:
        """Whether the time is up."""
        return time.monotonic() > self.deadline

    def converge(self, counts: IntArray) -> tuple[list[float], IntArray]:
        """Generate patterns until none improves the linear program for these counts, or the time is up.

        Returns:
            How often each pattern is used, and the dual values cut to integers.
        """
        while True:
            usage, duals = self.master.solve(counts)
            profits = np.floor(np.maximum(duals, 0.0) * _SCALE).astype(np.int64)
            table = self.knapsack(profits, counts)
            pattern = self.best_pattern(profits, counts, table)
            if table[0, -1] <= _SCALE or not self.master.add(pattern) or self.is_late():
                return usage, profits

    def knapsack(self, profits: IntArray, counts: IntArray) -> IntArray:
        """Cell (i, c): the most that items of width i and smaller earn in room c; shape (widths + 1, capacity + 1)."""
        table = np.zeros((len(self.widths) + 1, self.capacity + 1), dtype=np.int64)
        for i in range(len(self.widths) - 1, -1, -1):
            width = self.widths[i]
            table[i] = table[i + 1]
            for copies in range(1, min(int(counts[i]), self.capacity // width) + 1):
                earned = table[i + 1, : self.capacity + 1 - copies * width] + copies * profits[i]
                np.maximum(table[i, copies * width :], earned, out=table[i, copies * width :])
        return table

    def best_pattern(self, profits: IntArray, counts: IntArray, table: IntArray) -> IntArray:
        """The pattern that earns what the table says."""
        pattern, room = np.zeros(len(self.widths), dtype=np.int64), self.capacity
        for i, width in enumerate(self.widths):
            copies = 0
            while table[i + 1, room - copies * width] + copies * profits[i] != table[i, room]:
                copies += 1
            pattern[i] = copies
            room -= copies * width
        return pattern

    def dive(self, proof: Proof) -> Proof:
        """Take the whole part of the linear program, then that of what is left, and so on; fill the rest each time.

        Where no pattern is used once or more, the one that is used most is rounded up.
        """
        left, chosen = self.counts.copy(), []
        while left.any() and not proof.is_complete and not self.is_late():
            usage, _ = self.converge(left)
            whole = [int(value + 1e-6) for value in usage]
            if not any(whole):
                whole[int(np.argmax(usage))] = 1
            for pattern, times in zip(self.master.patterns, whole, strict=False):
                chosen += [pattern] * times
                left = np.maximum(left - times * pattern, 0)
            proof = self.fill(proof, chosen, left)
        return proof

    def fill(self, proof: Proof, chosen: list[IntArray], left: IntArray) -> Proof:
        """The proof with a better packing, if one comes of these patterns and of filling bins with what is left."""
        for _ in range(_TRIES):
            if proof.is_complete or self.is_late():
                break
            proof = self.better(proof, chosen + fill_bins(self.widths, left, self.capacity, self.rng))
        return proof

    def enumerate(self, needs: list[tuple[Any, IntArray, int]]) -> Iterator[IntArray]:
        """Every pattern that meets the needs, stopping after one more than are wanted.

        Args:
            needs: What an item of each width earns, the table of the most that can be earned, the least that has to be.
        """
        found = 0
        start: tuple[int, int, tuple[int, ...], tuple[int, ...]] = (
            0,
            self.capacity,
            tuple(each[2] for each in needs),
            (),
        )
        stack = [start]
        while stack and found <= _MOST_PATTERNS:
            i, room, missing, pattern = stack.pop()
            if any(table[i, room] < least for (_, table, _), least in zip(needs, missing, strict=True)):
                continue
            if i == len(self.widths):
                found += 1
                yield np.array(pattern, dtype=np.int64)
                continue
            for copies in range(min(int(self.counts[i]), room // self.widths[i]) + 1):
                earned = (least - copies * int(each[i]) for (each, _, _), least in zip(needs, missing, strict=True))
                stack.append((i + 1, room - copies * self.widths[i], tuple(earned), (*pattern, copies)))

    def cover(self, patterns: list[IntArray], bound: int, *, exactly: bool) -> tuple[list[IntArray], bool]:
        """At most `bound` of the patterns that hold all items, or none; and whether that is known to be impossible.

        Args:
            patterns: What a packing may use.
            bound: Number of bins.
            exactly: Whether these are all patterns, so that none need hold an item that another holds; else those of
                the linear program may be used too.
        """
        cp_model = import_extra("ortools.sat.python.cp_model", "solvers", PURPOSE)
        columns = np.array(patterns if exactly else patterns + self.master.patterns).reshape(-1, len(self.widths))
        model = cp_model.CpModel()
        usage = [model.new_int_var(0, bound, "") for _ in columns]
        for row, count in zip(columns.T, self.counts.tolist(), strict=True):
            total = cp_model.LinearExpr.weighted_sum(usage, row.tolist())
            model.add(total == count if exactly else total >= count)
        model.add(cp_model.LinearExpr.sum(usage) <= bound)
        solver = cp_model.CpSolver()
        solver.parameters.num_workers = 1
        solver.parameters.random_seed = 1
        solver.parameters.max_time_in_seconds = max(0.1, self.deadline - time.monotonic())
        status = solver.solve(model)
        if status not in (cp_model.OPTIMAL, cp_model.FEASIBLE):
            return [], status == cp_model.INFEASIBLE
        return [column for column, times in zip(columns, usage, strict=True) for _ in range(solver.value(times))], False

    def pack(self, patterns: list[IntArray]) -> IntArray:
        """The packing that patterns describe; what they cover twice is packed once."""
        waiting = [np.flatnonzero(self.sizes == width).tolist()[::-1] for width in self.widths]
        packing = np.full(len(self.sizes), -1, dtype=np.int64)
        for number, pattern in enumerate(patterns):
            for items, copies in zip(waiting, pattern.tolist(), strict=True):
                for _ in range(min(copies, len(items))):
                    packing[items.pop()] = number
        _, packing = np.unique(packing, return_inverse=True)
        return packing.astype(np.int64)

    def better(self, proof: Proof, patterns: list[IntArray]) -> Proof:
        """The proof with the packing that patterns describe, if that has fewer bins."""
        return Proof(min((proof.packing, self.pack(patterns)), key=count_bins), proof.bound)

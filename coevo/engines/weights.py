"""The one place where weights move: the state machine of what is served.

State is base or one member. Whatever interrupts a switch leaves a mixture that passes for neither, and the next switch
writes everything again; an interrupted update cannot be repaired, and is said.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor, wait
from typing import Any

from numpy.typing import NDArray

from coevo.block import Block
from coevo.engines.cells import Cell
from coevo.interfaces import Member, Update

Job = Callable[[], None]


class Weights:
    """The weights of one model copy, or of one shard of it, and what they stand for at the moment.

    Args:
        cells: Every block of served memory, serving the base.
        threads: Threads that share the writing. Never changes a bit.
    """

    def __init__(self, cells: Sequence[Cell], threads: int = 1) -> None:
        self._cells = tuple(cells)
        self._pool = ThreadPoolExecutor(threads) if threads > 1 else None
        self._is_settled = True
        self._is_torn = False
        self._active: Member | None = None
        self._last: tuple[int, int] | None = None

    @property
    def active(self) -> Member | None:
        """The member that is served, or None for the base."""
        return self._active

    @property
    def extra_bytes(self) -> int:
        """Bytes kept beside the served weights."""
        return sum(cell.nbytes() for cell in self._cells)

    def activate(self, member: Member | None) -> None:
        """Serve a member, or the base for None; at once if it is served already.

        Raises:
            RuntimeError: If an update was interrupted.
        """
        if self._is_torn:
            raise RuntimeError("an update was interrupted half-way: load the model and replay its history")
        if self._is_settled and member == self._active:
            return
        self._is_settled = False
        self._do(job for cell in self._cells for job in cell.serve(member))
        self._active, self._is_settled = member, True

    def commit(self, update: Update) -> None:
        """Move the base along an update and serve it.

        Raises:
            ValueError: If this step, or a later one of its run, has been applied already.
            RuntimeError: If an update was interrupted.
        """
        if self._last is not None and update.run_key == self._last[0] and update.step <= self._last[1]:
            raise ValueError(
                f"expected an update of a step after {self._last[1]}, got step {update.step}: applied already"
            )
        self.activate(None)
        self._is_torn = True
        self._do(job for cell in self._cells for job in cell.move(update))
        self._is_torn, self._last = False, (update.run_key, update.step)

    def parts(self) -> Iterator[tuple[Block, int]]:
        """What each block adds to the fingerprint of the unperturbed weights; parts are summed modulo 2⁶⁴."""
        self.activate(None)
        return ((cell.block, cell.fingerprint()) for cell in self._cells)

    def fingerprint(self) -> int:
        """Fingerprint of the unperturbed weights, where the blocks are the whole model."""
        return sum(part for _, part in self.parts()) % 2**64

    def bases(self) -> Iterator[tuple[Block, NDArray[Any]]]:
        """Every block with its exact base, shape (rows, cols), not to be written to."""
        self.activate(None)
        return ((cell.block, cell.base()) for cell in self._cells)

    def _do(self, jobs: Iterable[Job]) -> None:
        if self._pool is None:
            for job in jobs:
                job()
            return
        ready = list(jobs)  # what cannot even be begun must not leave others writing
        running = [self._pool.submit(job) for job in ready]
        wait(running)  # a failure must not leave others writing behind the next switch
        for done in running:
            done.result()

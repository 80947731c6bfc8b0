"""The sandboxed side of the checks: a problem's baselines, and whatever else is written, under two real judges."""

from collections.abc import Sequence
from concurrent.futures import Future
from concurrent.futures import TimeoutError as FutureTimeoutError
from contextlib import ExitStack
from dataclasses import dataclass, field
from functools import cached_property
from types import TracebackType
from typing import Self

from coevo.candidate import Evaluation
from coevo.content import ProblemFolder
from coevo.evaluation import EvaluationPool
from coevo.evaluation.limits import WALL_GUARD
from coevo.sandbox.launcher import find_bwrap

NUM_JUDGES = 2


class StuckError(Exception):
    """A judge does not answer: the problem's `objective` does not return."""


@dataclass
class Bench:
    """Two pools of one judge each, started when first needed. A context manager.

    Args:
        folder: The problem.
        deadline_s: What a judge may take on the clock beyond the candidate's own limit.
        unsafe: Run without bubblewrap.
    """

    folder: ProblemFolder
    deadline_s: float
    unsafe: bool = False
    _stack: ExitStack = field(default_factory=ExitStack)

    @cached_property
    def pools(self) -> tuple[EvaluationPool, ...]:
        """Pools that share nothing, so that each forms its own verdict.

        Raises:
            SandboxError: If the sandbox does not take the problem.
            ContentError: If the problem's code cannot be used.
        """
        return tuple(
            self._stack.enter_context(EvaluationPool(self.folder, workers=1, unsafe=self.unsafe))
            for _ in range(NUM_JUDGES)
        )

    @cached_property
    def baselines(self) -> dict[str, tuple[Evaluation, ...]]:
        """Every judge's verdict on each baseline on the search split, by name; raises like `pools`, or `StuckError`."""
        asked = {name: [pool.submit(code) for pool in self.pools] for name, code in self.folder.baselines().items()}
        return {name: tuple(self._wait(future) for future in futures) for name, futures in asked.items()}

    def verdicts(self, codes: Sequence[str]) -> list[Evaluation]:
        """Verdicts on candidates on the search split, in order; the judges share the work."""
        futures = [self.pools[number % NUM_JUDGES].submit(code) for number, code in enumerate(codes)]
        return [self._wait(future) for future in futures]

    def _wait(self, future: "Future[Evaluation]") -> Evaluation:
        # Whoever was before it at its judge has been waited for, so this is about one candidate alone.
        limit_s = self.deadline_s + WALL_GUARD * self.folder.spec.limits.cpu_s
        try:
            return future.result(timeout=limit_s)
        except FutureTimeoutError:
            raise StuckError(f"no verdict after {limit_s:g} s; does objective return?") from None

    def __enter__(self) -> Self:
        if not self.unsafe:
            find_bwrap()  # a machine that cannot contain code is not the problem's fault
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self._stack.close()

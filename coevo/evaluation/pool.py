"""The evaluation pool: a queue of candidates before a row of judges, and a memory of their verdicts."""

import logging
import queue
import threading
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import CancelledError, Future
from dataclasses import dataclass, replace
from functools import partial
from types import TracebackType
from typing import Self

from coevo.candidate import Evaluation
from coevo.content import ProblemFolder
from coevo.errors import CoevoError, ConfigError, SandboxError
from coevo.evaluation.fresh_seeds import parse_split
from coevo.evaluation.judge_process import (
    Brief,
    JudgeDiedError,
    JudgeHandle,
    JudgeLostError,
    JudgeProcess,
)
from coevo.evaluation.limits import split_into_parts
from coevo.evaluation.verdict import merge
from coevo.interfaces import Instance
from coevo.sandbox.launcher import find_bwrap

logger = logging.getLogger(__name__)

LOSSES = 5
"""Judges that may be lost, with their nodes, over one candidate before the run ends instead of going on for ever."""


@dataclass(frozen=True, slots=True)
class _Job:
    """One question to a judge: a whole split, or one part of it."""

    code: str
    split: str
    docket: "_Docket"
    index: int = 0
    part: tuple[int, int] | None = None
    losses: int = 0


class _Docket:
    """Collects the verdicts on the parts of one split and settles the future that everybody waits on."""

    def __init__(self, sign: float):
        self.future: Future[Evaluation] = Future()
        # Running from the start: a verdict is shared, so no single holder may cancel it.
        self.future.set_running_or_notify_cancel()
        self._sign = sign
        self._lock = threading.Lock()
        self._parts: list[Evaluation | None] = [None]
        self._first_failure = 0

    def expect(self, parts: int) -> None:
        """Say how many parts will come; before that, one is expected."""
        self._parts = [None] * parts
        self._first_failure = parts

    def is_moot(self, index: int) -> bool:
        """Whether an earlier part has failed already, so that this one cannot change the verdict."""
        return self.future.done() or self._first_failure < index

    def add(self, index: int, verdict: Evaluation) -> None:
        """Note the verdict on a part; with the last one that matters, settle the future."""
        with self._lock:
            self._parts[index] = verdict
            if not verdict.is_ok:
                self._first_failure = min(self._first_failure, index)
            needed = self._parts[: self._first_failure + 1]
            known = [part for part in needed if part is not None]
            if len(known) == len(needed) and not self.future.done():
                self.future.set_result(merge(known, self._sign))

    def fail(self, error: BaseException) -> None:
        """Settle the future with an error that is not the candidate's."""
        with self._lock:
            if not self.future.done():
                self.future.set_exception(error)


class EvaluationPool:
    """Evaluates candidates of one problem on `workers` judges, each with a sandbox of its own. A context manager.

    The same source on the same split is evaluated once: whoever asks again gets the same future.

    Args:
        problem: The problem folder.
        workers: Judges to keep, at least 1; one core each is what they use.
        unsafe: Run candidates without bubblewrap. Resource limits and the system call filter still hold, but
            candidates can read the user's files.
        extra_splits: Further splits by name, such as instances read from the user's files.
        open_judge: Makes each judge in the place of a process here; the two before are its own matter then.

    Raises:
        SandboxError: If untrusted code cannot be contained on this machine.
        ContentError: If the problem's code cannot be used.
        ConfigError: If `workers` is not positive.
    """

    def __init__(
        self,
        problem: ProblemFolder,
        *,
        workers: int,
        unsafe: bool = False,
        extra_splits: Mapping[str, Sequence[Instance]] | None = None,
        open_judge: Callable[[], JudgeHandle] | None = None,
    ):
        if workers < 1:
            raise ConfigError(f"expected at least one worker, got {workers}")
        extra = dict(extra_splits or {})
        self._splits = {**problem.spec.splits, **extra}
        self._problem = problem
        self._jobs: queue.SimpleQueue[_Job | None] = queue.SimpleQueue()
        self._dockets: dict[tuple[str, str], _Docket] = {}
        self._lock = threading.Lock()
        self._is_closed = False
        if open_judge is None:
            brief = Brief(problem, None if unsafe else find_bwrap(), problem.kernel_cache(), extra)
            open_judge = partial(JudgeProcess, brief)
        self._judges = [open_judge() for _ in range(workers)]
        self._working = workers
        self._failure: BaseException | None = None
        self._threads: list[threading.Thread] = []
        try:
            self._open()
        except BaseException:
            self.close()
            raise

    def _open(self) -> None:
        """Start a thread per judge and wait until all are ready; raises what the first of them raised."""
        started: list[Future[None]] = []
        for number, judge in enumerate(self._judges):
            started.append(Future())
            thread = threading.Thread(
                target=self._work, args=(judge, started[-1]), name=f"coevo-judge-{number}", daemon=True
            )
            thread.start()
            self._threads.append(thread)
        for ready in started:
            ready.result()

    def submit(self, code: str, split: str = "search") -> Future[Evaluation]:
        """Queue a candidate's source for the first free judge.

        The split may be one under fresh seeds (`coevo.evaluation.fresh_seeds`).

        A bad candidate is an `Evaluation`; the future raises only what is not the candidate's fault: `SandboxError`,
        `ContentError`, or `CancelledError` once the pool is closed. It cannot be cancelled, because it is shared.

        Raises:
            ConfigError: If the problem has no such split.
            RuntimeError: If the pool is closed.
        """
        if not {split, parse_split(split)[0]} & self._splits.keys():
            raise ConfigError(
                f"expected a split of problem {self._problem.spec.name}, got {split!r}; "
                f"known: {', '.join(self._splits)}"
            )
        with self._lock:
            if self._is_closed:
                raise RuntimeError("the evaluation pool is closed")
            docket = self._dockets.get((code, split))
            if docket is None:
                docket = self._dockets[code, split] = _Docket(self._problem.sign())
                self._jobs.put(_Job(code, split, docket))
                if self._failure is not None:
                    docket.fail(self._failure)
            return docket.future

    def evaluate(self, code: str, split: str = "search") -> Evaluation:
        """Evaluate a candidate's source and wait for the verdict; raises like `submit` and its future."""
        return self.submit(code, split).result()

    def close(self) -> None:
        """End every judge and sandbox at once and reap them; what is unanswered raises `CancelledError`. Idempotent."""
        with self._lock:
            self._is_closed = True
        for judge in self._judges:
            judge.terminate()
        for judge in self._judges:
            judge.join()
            self._jobs.put(None)
        for thread in self._threads:
            thread.join()
        for judge in self._judges:
            judge.close()
        for docket in self._dockets.values():
            docket.fail(CancelledError("the evaluation pool was closed"))

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self.close()

    def _work(self, judge: JudgeHandle, ready: "Future[None]") -> None:
        """A judge's thread: start it, then hand it one job after the other."""
        try:
            judge.start()
        except BaseException as error:
            ready.set_exception(error)
            return
        ready.set_result(None)
        while (job := self._jobs.get()) is not None and not self._is_closed:
            if job.docket.is_moot(job.index):
                continue
            if job.losses and not judge.is_there():  # it may have been where the one before it was lost
                if not self._restarted(judge, job):
                    return
            elif not self._handle(judge, job):
                return

    def _handle(self, judge: JudgeHandle, job: _Job) -> bool:
        """Settle a job, or give it back; whether the judge can take another one."""
        try:
            answer = judge.evaluate(job.code, job.split, job.part)
        except JudgeLostError as error:
            return self._renew(judge, job, error)
        except JudgeDiedError:
            job.docket.fail(CancelledError("the evaluation pool was closed"))
        except CoevoError as error:
            job.docket.fail(error)
        except BaseException as error:
            # A fault of ours: whoever waits must hear of it, or it would wait for ever.
            logger.exception("evaluation failed")
            job.docket.fail(error)
        else:
            self._file(job, answer)
        return True

    def _renew(self, judge: JudgeHandle, job: _Job, error: JudgeLostError) -> bool:
        """Let any judge take the job of one that was lost, and start that one anew, or do without it.

        That a judge was lost is never a verdict: it says nothing of the candidate, and verdicts last.
        """
        logger.warning("a judge was lost (%s); it is started anew", error)
        if job.losses + 1 < LOSSES:
            return self._restarted(judge, replace(job, losses=job.losses + 1))
        job.docket.fail(
            SandboxError(
                f"{LOSSES} judges were lost over one candidate ({error}); see to the nodes, then resume the run"
            )
        )
        return self._started(judge)

    def _restarted(self, judge: JudgeHandle, job: _Job) -> bool:
        """Give a job back before a judge that was lost is started anew; whether it was."""
        self._jobs.put(job)
        return self._started(judge)

    def _started(self, judge: JudgeHandle) -> bool:
        try:
            judge.start()
        except JudgeDiedError:
            return False  # the pool is being closed, and fails what is left
        except BaseException as error:
            self._do_without(error)
            return False
        return True

    def _do_without(self, error: BaseException) -> None:
        """Go on with the other judges; without any, everything that waits hears why."""
        with self._lock:
            self._working -= 1
            self._failure = None if self._working else error
            waiting = list(self._dockets.values()) if self._failure else []
        logger.warning("a judge is given up (%s)", error)
        for docket in waiting:
            docket.fail(error)

    def _file(self, job: _Job, answer: Evaluation | int) -> None:
        if isinstance(answer, Evaluation):
            job.docket.add(job.index, answer)
            return
        parts = split_into_parts(answer, self._problem.spec.limits.at_once)
        job.docket.expect(len(parts))
        for index, part in enumerate(parts):
            self._jobs.put(_Job(job.code, job.split, job.docket, index, part))

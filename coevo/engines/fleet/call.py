"""One call of `generate` on several engines: a queue of jobs, and the answers as they come."""

import queue
import threading
from collections import deque
from collections.abc import Iterator, Sequence

from coevo.engines.fleet.faults import EngineLost
from coevo.engines.fleet.jobs import Job
from coevo.interfaces import Completion


class Call:
    """What the threads of the engines and the caller share; every method may be called from any thread.

    Both queues are bounded by what the call asks for, which the caller holds in any case.

    Args:
        jobs: In the order in which they are to be taken.
        engines: Threads that are going to take them; each says `leave` in the end.
    """

    def __init__(self, jobs: Sequence[Job], engines: int) -> None:
        self._pending = deque(jobs)
        self._awaited = sum(len(job.requests) for job in jobs)
        self._answers: queue.SimpleQueue[Completion | BaseException] = queue.SimpleQueue()
        self._change = threading.Condition()
        self._in_flight = 0
        self._engines = engines
        self._last_error: BaseException = EngineLost("expected an engine to answer, but none is left")
        self.is_over = False

    def answers(self) -> Iterator[Completion]:
        """Every completion once, as it comes; however it ends, the call is over then.

        Raises:
            BaseException: What ended the call before all was answered.
        """
        try:
            for _ in range(self._awaited):
                answer = self._answers.get()
                if isinstance(answer, BaseException):
                    raise answer
                yield answer
        finally:
            self.end()

    def take(self) -> Job | None:
        """The next job, waiting while another engine may still give one back; None when there is none any more."""
        with self._change:
            self._change.wait_for(lambda: self.is_over or self._pending or not self._in_flight)
            if self.is_over or not self._pending:
                return None
            self._in_flight += 1
            return self._pending.popleft()

    def answer(self, job: Job, completion: Completion) -> None:
        """Hand on a completion; one that answers nothing that is open in its job is left out."""
        if job.requests.pop(completion.request_id, None) is not None:
            self._answers.put(completion)

    def give_back(self, job: Job, error: BaseException | None = None) -> None:
        """End with a job; what is left unanswered in it is done before anything else.

        The second engine that fails over a job with the same error is taken at its word: the call ends with it.

        Args:
            job: From `take`.
            error: What the engine failed with; one that was merely lost is no word against the job.
        """
        with self._change:
            self._in_flight -= 1
            self._last_error = error or self._last_error
            if job.requests:
                self._pending.appendleft(job)
                self._blame(job, error)
            self._change.notify_all()

    def leave(self) -> None:
        """An engine takes no more jobs; the last one to leave work undone ends the call with the last error."""
        with self._change:
            self._engines -= 1
            is_undone = self._engines == 0 and bool(self._pending)
        if is_undone:
            self.end(self._last_error)

    def end(self, error: BaseException | None = None) -> None:
        """Let no engine take another job, and wake those that wait for one; safe to call twice."""
        with self._change:
            if not self.is_over:
                self._answers.put(error or RuntimeError("this call of generate was abandoned for another one"))
            self.is_over = True
            self._change.notify_all()

    def _blame(self, job: Job, error: BaseException | None) -> None:
        if error is None or isinstance(error, EngineLost):
            return
        word = f"{type(error).__name__}: {error}"
        if word in job.errors:
            self.end(error)
        job.errors.add(word)

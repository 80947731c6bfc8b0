"""Verdicts on candidates: from the run's past where it has one, else from the evaluation pool; recorded once each."""

from concurrent.futures import Future
from typing import Literal

from coevo.candidate import Candidate, Evaluation
from coevo.evaluation import EvaluationPool
from coevo.records.event_log import EventLog
from coevo.records.past import verdicts
from coevo.records.run_directory import RunDirectory

Role = Literal["candidate", "baseline"]
"""Whether a verdict is on a candidate of the run or on a yardstick from the problem's folder."""


class Examiner:
    """Evaluates candidates and records each verdict, and each candidate's source, exactly once.

    A verdict that is in the log is never recomputed: a time limit measured twice can fall either way.
    """

    def __init__(self, pool: EvaluationPool, log: EventLog, directory: RunDirectory):
        self._pool = pool
        self._log = log
        self._directory = directory
        self._past = verdicts(log.recorded)
        self._settled: dict[tuple[str, str], Evaluation] = {}
        self._pending: dict[tuple[str, str], Future[Evaluation]] = {}

    def begin(self, candidate: Candidate, split: str = "search") -> None:
        """Start evaluating a candidate, unless its verdict is known or on its way."""
        key = (candidate.identity, split)
        if key in self._past or key in self._pending or key in self._settled:
            return
        self._directory.save_candidate(candidate)
        self._pending[key] = self._pool.submit(candidate.code, split)

    def verdict(self, candidate: Candidate, split: str = "search", role: Role = "candidate") -> Evaluation:
        """Wait for a verdict and record it if it is new. Call in an order that does not depend on timing."""
        key = (candidate.identity, split)
        if key in self._settled:
            return self._settled[key]
        self.begin(candidate, split)
        evaluation = self._past[key] if key in self._past else self._pending.pop(key).result()
        self._settled[key] = evaluation
        self._log.emit(
            "verdict",
            clock={"cpu_s": round(evaluation.cpu_s, 6)},
            candidate=candidate.identity,
            split=split,
            role=role,
            status=evaluation.status,
            detail=evaluation.detail,
            cost=evaluation.cost,
            objective=evaluation.objective,
        )
        return evaluation

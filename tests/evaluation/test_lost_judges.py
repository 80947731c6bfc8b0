"""A pool whose judges are elsewhere and get lost: every job is judged once, by whoever is there."""

import itertools
import threading

import pytest

from coevo.candidate import Evaluation
from coevo.errors import SandboxError
from coevo.evaluation import EvaluationPool
from coevo.evaluation.judge_process import ATTEMPTS, JudgeDiedError, JudgeLostError

GENEROUS_S = 60.0
OK = Evaluation("ok", cost=1.0, objective=1.0, objectives=(1.0,))


class Fake:
    """A judge that is lost when its court says so."""

    def __init__(self, court):
        self._court = court
        self._is_closed = False

    def start(self):
        """Once it was lost, only as often as its court lets judges start again."""
        if self._is_closed:
            raise JudgeDiedError("closed")
        error = next(self._court.start_failures, None)
        if error is not None:
            raise error

    def evaluate(self, code, split, part):
        """A verdict, noted."""
        if self._court.loses(code):
            raise JudgeLostError("its node is gone")
        self._court.judged.append(code)
        return OK

    def terminate(self):
        """Ends it."""
        self._is_closed = True

    def join(self):
        """Nothing to wait for."""

    def close(self):
        """Ends it."""
        self.terminate()


class Court:
    """What happens to the judges of a pool.

    Args:
        loses: Whether the judge of a candidate is lost this time.
        start_failures: What each start raises, the first ones of all judges included.
    """

    def __init__(self, loses, start_failures=()):
        self._loses = loses
        self._lock = threading.Lock()
        self.judged = []
        self.start_failures = iter(start_failures)

    def loses(self, code):
        """Asked once for each evaluation."""
        with self._lock:
            return self._loses(code)

    def judge(self):
        """Another judge."""
        return Fake(self)


@pytest.mark.parametrize("workers", [1, 3])
def test_a_job_of_a_lost_judge_is_judged_once(tsp, workers):
    """Every third evaluation loses its judge: each candidate still has one verdict, and it was judged once."""
    turns = itertools.count()
    court = Court(lambda code: next(turns) % 3 == 0)
    codes = [f"# {number}" for number in range(20)]
    with EvaluationPool(tsp, workers=workers, open_judge=court.judge) as pool:
        verdicts = [future.result(GENEROUS_S) for future in [pool.submit(code) for code in codes]]
    judged = [code for code, verdict in zip(codes, verdicts, strict=True) if verdict.is_ok]
    assert sorted(court.judged) == sorted(judged)
    assert all(verdict.is_ok or "were lost" in verdict.detail for verdict in verdicts)


def test_the_second_loss_under_a_candidate_is_its_verdict(tsp):
    """What takes every judge down is a crash, and those after it are judged."""
    court = Court(lambda code: code == "bad")
    with EvaluationPool(tsp, workers=2, open_judge=court.judge) as pool:
        bad, good = pool.submit("bad"), pool.submit("good")
        assert bad.result(GENEROUS_S).status == "crash"
        assert bad.result().detail.startswith(f"{ATTEMPTS} judges were lost under this candidate")
        assert good.result(GENEROUS_S).is_ok
    assert court.judged == ["good"]


def test_a_judge_that_cannot_be_started_again_is_done_without(tsp, caplog):
    """The other one judges what it left."""
    lost = iter([True])
    court = Court(lambda code: next(lost, False), [None, None, SandboxError("no room")])
    with EvaluationPool(tsp, workers=2, open_judge=court.judge) as pool:
        verdicts = [future.result(GENEROUS_S) for future in [pool.submit(f"# {number}") for number in range(9)]]
    assert all(verdict.is_ok for verdict in verdicts)
    assert len(court.judged) == len(set(court.judged)) == 9
    assert "a judge is given up (no room)" in caplog.text


def test_without_any_judge_all_that_waits_hears_why(tsp):
    """And so does whoever asks afterwards."""
    court = Court(lambda code: True, [None, SandboxError("no room")])
    with EvaluationPool(tsp, workers=1, open_judge=court.judge) as pool:
        waiting = [pool.submit(f"# {number}") for number in range(3)]
        for future in waiting:
            with pytest.raises(SandboxError, match="no room"):
                future.result(GENEROUS_S)
        with pytest.raises(SandboxError, match="no room"):
            pool.evaluate("# later")

"""A pool whose judges are elsewhere and get lost: every job is judged once, by whoever is there."""

import itertools
import threading

import pytest

from coevo.candidate import Evaluation
from coevo.errors import SandboxError
from coevo.evaluation import EvaluationPool
from coevo.evaluation.judge_process import JudgeDiedError, JudgeLostError
from coevo.evaluation.pool import LOSSES

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

    def is_there(self):
        """As its court says."""
        return self._court.is_there(self)

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

    def is_there(self, judge):
        """A judge that is lost shows it only when it is asked."""
        return True

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
    assert all(verdict.is_ok for verdict in verdicts)
    assert sorted(court.judged) == sorted(codes)


class Region:
    """A court whose judges stand on nodes; some nodes go down once, under whoever is at work on them.

    A judge on a node that is down knows nothing of it until it is asked, and stands elsewhere once it is started anew.
    """

    def __init__(self, judges_on_lost_nodes, judges):
        self._lock = threading.Lock()
        self.judged = []
        self._down, self._stands = set(), True
        self._lost, self._count = judges_on_lost_nodes, itertools.count()
        self.judges = judges

    def judge(self):
        """Another judge: the first ones stand where nodes go down."""
        court, number = self, next(self._count)

        class Standing(Fake):
            def start(self):
                with court._lock:
                    court._down.discard(number)
                super().start()

            def is_there(self):
                with court._lock:
                    return number not in court._down

            def evaluate(self, code, split, part):
                with court._lock:
                    if number < court._lost and court._stands:
                        court._down, court._stands = set(range(court._lost)), False
                    if number in court._down:
                        raise JudgeLostError("its node is gone")
                    court.judged.append(code)
                return OK

        self.start_failures = iter(())
        return Standing(self)


@pytest.mark.parametrize(("lost", "judges"), [(1, 1), (3, 3), (6, 6), (12, 13)])
def test_a_node_that_goes_down_is_no_verdict_however_many_judges_it_had(tsp, lost, judges):
    """Its idle judges take no work of others that they would only lose."""
    court = Region(lost, judges)
    codes = [f"# {number}" for number in range(30)]
    with EvaluationPool(tsp, workers=judges, open_judge=court.judge) as pool:
        verdicts = [future.result(GENEROUS_S) for future in [pool.submit(code) for code in codes]]
    assert all(verdict.is_ok for verdict in verdicts)
    assert sorted(court.judged) == sorted(codes)


def test_a_candidate_over_which_every_judge_is_lost_ends_the_run(tsp):
    """A loss is never a verdict, which would last; those after it are judged."""
    court = Court(lambda code: code == "bad")
    with EvaluationPool(tsp, workers=2, open_judge=court.judge) as pool:
        bad, good = pool.submit("bad"), pool.submit("good")
        with pytest.raises(SandboxError, match=f"{LOSSES} judges were lost over one candidate .*resume the run"):
            bad.result(GENEROUS_S)
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

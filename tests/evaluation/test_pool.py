import math
import os
import signal
from collections.abc import Callable

import numpy as np
import pytest

import coevo.evaluation.pool as pool_module
from coevo.content import ProblemFolder
from coevo.errors import ConfigError, ContentError, SandboxError
from coevo.evaluation import EvaluationPool
from coevo.interfaces import Instance

Make = Callable[..., str]
Plain = Callable[[ProblemFolder, str], tuple[float, ...]]
Settled = Callable[[int, int], int]
Variant = Callable[[str], ProblemFolder]

CHAIN = 5
"""Processes per worker: judge, bubblewrap, server, supervisor, waiting candidate."""


def test_a_baseline_gets_the_objectives_of_plain_calls(
    pool: EvaluationPool, toy: ProblemFolder, by_plain_calls: Plain
) -> None:
    """Through both processes and back, every objective is the same to the bit."""
    verdict = pool.evaluate(toy.baselines()["nearest"])
    expected = by_plain_calls(toy, "search")
    assert (verdict.status, verdict.detail) == ("ok", "")
    assert verdict.objectives == expected
    assert verdict.objective == verdict.cost == math.fsum(expected) / 3
    assert verdict.cpu_s > 0


def test_the_same_question_is_asked_once(pool: EvaluationPool, toy: ProblemFolder, heuristic: Make) -> None:
    """Same source and split share one future; another split or source has one of its own."""
    source = heuristic("pass")
    first = pool.submit(source)
    assert pool.submit(source, "search") is first
    assert pool.submit(source, "val") is not first
    assert pool.submit(source + "#") is not first
    assert not first.cancel()


def test_an_unknown_split_is_refused_with_the_known_ones(pool: EvaluationPool) -> None:
    """The error lists what there is."""
    with pytest.raises(ConfigError, match=r"got 'tset'; known: search, val, large"):
        pool.submit("", "tset")


def test_at_least_one_worker(toy: ProblemFolder) -> None:
    """A pool without workers would never answer."""
    with pytest.raises(ConfigError, match="at least one worker, got 0"):
        EvaluationPool(toy, workers=0)


def test_a_long_split_in_parts_equals_the_whole(
    toy: ProblemFolder, pool: EvaluationPool, by_plain_calls: Plain
) -> None:
    """300 instances, cut and merged, give the objectives of plain calls in order."""
    verdict = pool.evaluate(toy.baselines()["nearest"], "large")
    assert verdict.objectives == by_plain_calls(toy, "large")
    assert verdict.objective == pytest.approx(np.mean(verdict.objectives))


def test_the_first_failure_in_instance_order_decides(toy: ProblemFolder, heuristic: Make) -> None:
    """With two judges and a failure in several parts, the detail names the first instance that fails."""
    fails_on = "sys._getframe(1).f_locals['instance'].seed"
    source = heuristic(f"if {fails_on} in (100, 101, 280): raise ValueError({fails_on})")
    with EvaluationPool(toy, workers=2) as pool:
        verdict = pool.evaluate(source, "large")
    assert verdict.status == "crash"
    assert verdict.detail == "ValueError in line 4: 100 (on instance large-100 (101 of 300))"


def test_judges_ignore_ctrl_c(pool: EvaluationPool, heuristic: Make) -> None:
    """SIGINT to a judge in the middle of an evaluation changes nothing."""
    judge = pool._judges[0]
    waiting = pool.submit(heuristic("import time; time.sleep(0.1)", "# interrupted"))
    before = judge.pid
    assert before is not None
    os.kill(before, signal.SIGINT)
    assert waiting.result().status == "ok"
    assert judge.pid == before


def test_instances_of_the_users_own_are_a_split_too(toy: ProblemFolder) -> None:
    """An extra split is evaluated like the problem's own."""
    mine = [Instance("square", 1, {"points": np.array([[0.0, 0], [0, 1], [1, 1], [1, 0], [0, 0.5]])})]
    with EvaluationPool(toy, workers=1, extra_splits={"files": mine}) as pool:
        verdict = pool.evaluate(toy.baselines()["nearest"], "files")
    assert verdict.objectives == (4.0,)


def test_a_machine_without_bubblewrap_is_an_error_at_the_start(
    toy: ProblemFolder, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The pool does not open, and says so before any candidate is asked for."""

    def refuse() -> str:
        raise SandboxError("no namespaces here")

    monkeypatch.setattr(pool_module, "find_bwrap", refuse)
    with pytest.raises(SandboxError, match="no namespaces here"):
        EvaluationPool(toy, workers=1)


def test_a_split_that_fails_later_is_raised_by_its_future(variant: Variant, heuristic: Make) -> None:
    """The error belongs to whoever asked for that split; other splits go on."""
    problem = variant("whole = instances\ndef instances(split): return whole({'search': 'search'}[split])")
    with EvaluationPool(problem, workers=1) as pool:
        with pytest.raises(ContentError, match="split 'val'"):
            pool.evaluate(heuristic("pass"), "val")
        assert pool.evaluate(heuristic("pass")).status == "ok"


def test_a_maximised_problem_has_negative_costs(toy: ProblemFolder, heuristic: Make) -> None:
    """The pool turns the objective's sense into cost."""
    spec = toy.spec.model_copy(update={"sense": "max"})
    with EvaluationPool(ProblemFolder(toy.path, spec, toy.description), workers=1) as pool:
        verdict = pool.evaluate(heuristic("pass"))
    assert verdict.objective is not None
    assert verdict.cost == -verdict.objective


def test_the_limits_are_those_of_the_spec_at_hand(toy: ProblemFolder, heuristic: Make) -> None:
    """A caller may tighten a problem's limits; judges go by what they are given, not by the file."""
    limits = toy.spec.limits.model_copy(update={"cpu_s": 0.1})
    spec = toy.spec.model_copy(update={"limits": limits})
    with EvaluationPool(ProblemFolder(toy.path, spec, toy.description), workers=1) as pool:
        assert "CPU limit of 0.1 s" in pool.evaluate(heuristic("while True: pass")).detail

import math
import signal
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from coevo.candidate import Evaluation
from coevo.errors import Infeasible
from coevo.evaluation.verdict import Part, judge, merge, printable_line
from coevo.interfaces import Instance
from coevo.sandbox.confine import Limits
from coevo.sandbox.results import DONE, Failure, encode_failure, encode_solution
from coevo.sandbox.supervisor import Outcome

LIMITS = Limits(cpu_s=2.0, wall_s=10.0, memory_bytes=1, max_result_bytes=1 << 20)
PART = Part([Instance("a", 0, {}), Instance("b", 1, {})], start=4, total=9)
FINITE = st.floats(-1e300, 1e300)


class _Sum:
    """A problem whose objective is the sum of the solution."""

    def objective(self, instance: Instance, solution: np.ndarray) -> Any:
        return solution.sum()


class _Returns:
    """A problem whose objective gives, or raises, one thing."""

    def __init__(self, value: Any):
        self._value = value

    def objective(self, instance: Instance, solution: np.ndarray) -> Any:
        if isinstance(self._value, Exception):
            raise self._value
        return self._value


def _two(*, end: bytes = DONE) -> bytearray:
    return bytearray(encode_solution([1, 2]) + encode_solution([3.5]) + end)


def test_two_solutions_are_priced_in_order() -> None:
    """A complete result gives one objective per instance and the CPU time that was measured."""
    verdict = judge(_Sum(), PART, Outcome(0, 0.25, None, _two()), LIMITS)
    assert verdict == Evaluation("ok", objectives=(3.0, 3.5), cpu_s=0.25)


@pytest.mark.parametrize(
    ("outcome", "status", "detail"),
    [
        (Outcome(-9, 2.0, "cpu"), "timeout", "CPU limit of 2 s reached on instance a (5 of 9)"),
        (Outcome(-9, 2.1), "timeout", "CPU limit of 2 s reached on instance a (5 of 9)"),
        (Outcome(-9, 0.1, "wall"), "timeout", "still running after 10 s on the clock, on instance a (5 of 9)"),
        (Outcome(-9, 0.1, "size"), "invalid", "the result is larger than 1 MiB"),
        (Outcome(-9, 0.1), "memory", "killed by the kernel, out of memory, on instance a (5 of 9)"),
        (Outcome(-signal.SIGSEGV), "crash", "SIGSEGV on instance a (5 of 9)"),
        (Outcome(-60), "crash", "signal 60 on instance a (5 of 9)"),
        (Outcome(3), "crash", "exited with code 3 before its result, on instance a (5 of 9)"),
        (Outcome(0, output=_two(end=b"")), "crash", "exited with code 0 before its result, after the last instance"),
        (Outcome(0, output=_two()[:-4]), "invalid", "the result is garbled: 8 bytes announced, 5 there"),
        (Outcome(0, output=bytearray(DONE)), "invalid", "the result is garbled: 0 of 2 solutions"),
    ],
)
def test_each_ending_has_its_verdict(outcome: Outcome, status: str, detail: str) -> None:
    """Limits first, then signals, then what the bytes say; the detail names the instance that was being solved."""
    verdict = judge(_Sum(), PART, outcome, LIMITS)
    assert (verdict.status, verdict.detail) == (status, detail)
    assert verdict.cpu_s == outcome.cpu_s


@pytest.mark.parametrize(
    ("failure", "detail"),
    [
        (Failure("crash", "ValueError", "no\nway", 7), r"ValueError in line 7: no\nway (on instance b (6 of 9))"),
        (Failure("crash", "TypeError", "odd"), "TypeError: odd (on instance b (6 of 9))"),
        (Failure("memory", "MemoryError", ""), "out of memory, on instance b (6 of 9)"),
        (Failure("invalid", "", "no function"), "no function (on instance b (6 of 9))"),
        (Failure("infeasible", "", "too heavy"), "too heavy (on instance b (6 of 9))"),
    ],
)
def test_reported_failures_keep_their_kind(failure: Failure, detail: str) -> None:
    """A failure record becomes the status it claims, with type, line, message and instance on one line."""
    output = bytearray(encode_solution([1]) + encode_failure(failure))
    verdict = judge(_Sum(), PART, Outcome(0, output=output), LIMITS)
    assert (verdict.status, verdict.detail) == (failure.kind, detail)


@pytest.mark.parametrize(
    ("value", "status", "detail"),
    [
        (Infeasible("node 3 twice"), "infeasible", "node 3 twice (on instance a (5 of 9))"),
        (IndexError("5"), "invalid", "objective failed: IndexError: 5 (on instance a (5 of 9))"),
        (math.nan, "invalid", "the objective is nan (on instance a (5 of 9))"),
        (np.float64("-inf"), "invalid", "the objective is -inf (on instance a (5 of 9))"),
        (True, "invalid", "objective failed: TypeError: expected a real number, got bool (on instance a (5 of 9))"),
        (1j, "invalid", "objective failed: TypeError: expected a real number, got complex (on instance a (5 of 9))"),
        (None, "invalid", "objective failed: TypeError: expected a real number, got NoneType (on instance a (5 of 9))"),
    ],
)
def test_only_finite_real_numbers_are_objectives(value: Any, status: str, detail: str) -> None:
    """Whatever else an objective gives or raises is a verdict on the candidate, never an exception."""
    verdict = judge(_Returns(value), PART, Outcome(0, output=_two()), LIMITS)
    assert (verdict.status, verdict.detail) == (status, detail)


@given(st.lists(FINITE, min_size=1, max_size=30), st.data())
def test_the_mean_does_not_depend_on_the_cut(values: list[float], data: st.DataObject) -> None:
    """Merging the parts of any cut gives, to the bit, what the whole gives."""
    cut = data.draw(st.integers(1, len(values)))
    parts = [Evaluation("ok", objectives=tuple(part)) for part in (values[:cut], values[cut:]) if part]
    whole = merge([Evaluation("ok", objectives=tuple(values))], 1.0)
    assert merge(parts, 1.0) == whole
    assert whole.objectives == tuple(values)


@given(st.lists(FINITE, min_size=1, max_size=5))
def test_cost_is_minimised_whatever_the_sense(values: list[float]) -> None:
    """The objective keeps its own sense; cost is its negative where larger is better."""
    part = [Evaluation("ok", objectives=tuple(values))]
    assert merge(part, 1.0).cost == merge(part, 1.0).objective
    assert merge(part, -1.0).cost == -(merge(part, -1.0).objective or 0.0)


def test_the_first_failed_part_decides() -> None:
    """Of two failures the one that comes first in instance order is the verdict; CPU time adds up."""
    good = Evaluation("ok", objectives=(1.0,), cpu_s=0.25)
    parts = [good, Evaluation("crash", "first", cpu_s=0.5), good, Evaluation("timeout", "second")]
    assert merge(parts, 1.0) == Evaluation("crash", "first", cpu_s=1.0)


def test_a_mean_beyond_the_floats_is_invalid() -> None:
    """Finite objectives whose sum overflows are no cost."""
    verdict = merge([Evaluation("ok", objectives=(1.7e308, 1.7e308))], 1.0)
    assert (verdict.status, verdict.cost) == ("invalid", None)


@given(st.text())
def test_untrusted_text_becomes_one_printable_line(text: str) -> None:
    """No control character, line break or surrogate survives, nor more than 300 characters."""
    line = printable_line(text)
    assert len(line) <= 300
    assert line == "" or line.isprintable()
    assert "\n" not in line
    if text.isprintable() and len(text) <= 300:
        assert line == text

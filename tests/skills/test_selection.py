import random

from hypothesis import given
from hypothesis import strategies as st

from coevo.skills import Trace
from coevo.skills.selection import distinct, failure_counts, select

TRACES = st.lists(
    st.builds(
        Trace,
        id=st.integers(0, 999).map(lambda n: f"{n // 100}.m1.{n % 100}"),
        task=st.just("t"),
        outcome=st.sampled_from(["good", "bad", "neutral"]),
        passages=st.just(()),
        value=st.none() | st.floats(-5, 5),
        subject=st.sampled_from(["", "a", "b", "c", "d", "e"]),
        reason=st.sampled_from(["", "crash", "timeout"]),
    ),
    max_size=30,
    unique_by=lambda trace: trace.id,
)


@given(TRACES, st.integers(1, 12), st.randoms(use_true_random=False))
def test_the_choice_does_not_depend_on_the_order(traces, count, chance):
    """The same traces in another order are the same choice."""
    shuffled = list(traces)
    chance.shuffle(shuffled)
    assert select(shuffled, count) == select(traces, count)


@given(TRACES, st.integers(1, 12))
def test_the_choice_is_bounded_balanced_and_without_repetitions(traces, count):
    """Never too many, no subject twice, and of good and bad equally many unless one kind ran out."""
    chosen = select(traces, count)
    assert len(chosen) == min(count, len(distinct(traces)))
    subjects = [trace.subject for trace in chosen if trace.subject]
    assert len(set(subjects)) == len(subjects)
    good, bad = (sum(t.outcome == kind for t in chosen) for kind in ("good", "bad"))
    there = {kind: sum(t.outcome == kind for t in distinct(traces)) for kind in ("good", "bad")}
    assert abs(good - bad) <= 1 or good == there["good"] or bad == there["bad"]


def test_best_worst_and_most_frequent_failures_come_first(trace):
    """The best good ones lead; bad ones come class by class, the most frequent first, the worst of each first."""
    bad = [
        trace("1", -1, reason="crash"),
        trace("2", -9, reason="crash"),
        trace("3", -2, reason="crash"),
        trace("4", -5),
        trace("5", -6),
        trace("6", -99, reason="timeout"),
    ]
    good = [trace("7", 1), trace("8", 3), trace("9", 2)]
    assert [t.id for t in select([*bad, *good], 8)] == ["8", "2", "9", "5", "7", "6", "3", "4"]


def test_the_first_trace_of_a_candidate_stays(trace):
    """Of several traces of one candidate the one with the lowest id counts."""
    traces = [trace("10.m1.0", subject="x"), trace("9.m1.0", subject="x"), trace("9.m1.1", subject="y")]
    assert [t.id for t in distinct(traces)] == ["9.m1.0", "9.m1.1"]


def test_failures_are_counted(trace):
    """Classes of failure by frequency, ties by name; what did not fail is not counted."""
    reasons = ["b", "a", "b", "", "c", "a"]
    random.Random(1).shuffle(reasons)
    traces = [trace(str(n), -1, reason=reason) for n, reason in enumerate(reasons)]
    assert failure_counts(traces) == [("a", 2), ("b", 2), ("c", 1)]

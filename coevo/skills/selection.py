"""Which traces an update looks at: few, of both kinds, the telling ones first; a function of the traces as a set."""

from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from itertools import chain, zip_longest

from coevo.skills.trace import Trace


def distinct(traces: Iterable[Trace]) -> list[Trace]:
    """One trace of each subject, that of the first id; in order of ids."""
    first: dict[str, Trace] = {}
    for trace in sorted(traces, key=lambda t: (t.order, t.id)):
        first.setdefault(f"subject {trace.subject}" if trace.subject else f"id {trace.id}", trace)
    return list(first.values())


def failure_counts(traces: Iterable[Trace]) -> list[tuple[str, int]]:
    """Classes of failure with how often each was met, most frequent first, ties by name."""
    counts = Counter(trace.reason for trace in traces if trace.reason)
    return sorted(counts.items(), key=lambda item: (-item[1], item[0]))


def select(traces: Sequence[Trace], count: int) -> list[Trace]:
    """At most this many traces: good and bad in turn, then neutral ones; each subject once.

    Of the good ones the best come first. Of the bad ones, one of each class of failure in turn, the most frequent
    class first and its worst trace first; a valid child that lost is a class too. Where one kind runs out, the other
    fills up.
    """
    candidates = distinct(traces)
    good = sorted((t for t in candidates if t.outcome == "good"), key=lambda t: (-_value(t), t.order))
    bad = _by_reason([t for t in candidates if t.outcome == "bad"])
    neutral = [t for t in candidates if t.outcome == "neutral"]
    in_turn = (t for pair in zip_longest(good, bad) for t in pair if t is not None)
    return list(chain(in_turn, neutral))[:count]


def _by_reason(bad: Sequence[Trace]) -> list[Trace]:
    classes: dict[str, list[Trace]] = defaultdict(list)
    for trace in sorted(bad, key=lambda t: (_value(t), t.order)):
        classes[trace.reason].append(trace)
    ordered = sorted(classes.items(), key=lambda item: (-len(item[1]), item[0]))
    rounds = zip_longest(*(members for _, members in ordered))
    return [trace for turn in rounds for trace in turn if trace is not None]


def _value(trace: Trace) -> float:
    return float("-inf") if trace.value is None else trace.value

import json
import os

import pytest
from hypothesis import given
from hypothesis import strategies as st

from coevo.errors import RunError
from coevo.records.event_log import read_events
from coevo.reporting.live.tail import EventTail, signature_of

TEXT = st.text(max_size=20)
EVENTS = st.lists(st.fixed_dictionaries({"kind": st.sampled_from(["child", "completion"]), "text": TEXT}), max_size=12)


class Told:
    """What a tail has told since the log last began anew."""

    def __init__(self, path, **options):
        self.events, self.begun = [], 0
        self.tail = EventTail(path, self.take, self.begin, **options)

    def begin(self):
        """Forget."""
        self.events, self.begun = [], self.begun + 1

    def take(self, event):
        """Note an event."""
        self.events.append(event)

    def read(self, until=float("inf")):
        """Read on."""
        return self.tail.read(until)


def encoded(events, escaped=True):
    """The bytes of a log, with or without characters beyond ASCII in them."""
    return b"".join(
        json.dumps(event, ensure_ascii=escaped, separators=(",", ":")).encode(errors="replace") + b"\n"
        for event in events
    )


@given(events=EVENTS, cuts=st.lists(st.integers(0, 2000), max_size=8), escaped=st.booleans())
def test_however_a_log_is_written_its_events_are_told_once(tmp_path_factory, events, cuts, escaped):
    """Whatever pieces the file grows by, also inside a character, the events told are those of the whole file."""
    path = tmp_path_factory.mktemp("tail") / "events.jsonl"
    whole, told = encoded(events, escaped), Told(path)
    places = sorted({min(cut, len(whole)) for cut in cuts} | {0, len(whole)})
    for begin, end in zip([0, *places], places, strict=False):
        with path.open("ab") as file:
            file.write(whole[begin:end])
        assert told.read()
        assert told.events == list(read_events(path))
    assert len(told.events) == len(events)
    assert told.begun == 0


@given(first=EVENTS, second=EVENTS, in_place=st.booleans())
def test_a_log_that_another_took_the_place_of_is_told_anew(tmp_path_factory, first, second, in_place):
    """After a log is shorter than what was read of it, or another file, what has been told is the new one's events."""
    folder = tmp_path_factory.mktemp("tail")
    path, told = folder / "events.jsonl", Told(folder / "events.jsonl")
    path.write_bytes(encoded([{"kind": "started", "first": True}, *first]))
    told.read()
    if in_place:
        path.write_bytes(b"")
        told.read()
        assert told.events == []
        path.write_bytes(encoded(second))
    else:
        (folder / "other").write_bytes(encoded(second))
        (folder / "other").replace(path)
    told.read()
    assert told.events == list(read_events(path))


def test_a_longer_log_with_another_past_is_told_anew(tmp_path):
    """A file that was written over between two looks is found out by what stands before the place reached."""
    told = Told(tmp_path / "log")
    (tmp_path / "log").write_bytes(encoded([{"kind": "a", "n": n} for n in range(4)]))
    told.read()
    (tmp_path / "log").write_bytes(encoded([{"kind": "b", "n": n} for n in range(9)]))
    told.read()
    assert [event["n"] for event in told.events if event["kind"] == "b"] == list(range(9))
    assert (len(told.events), told.begun) == (9, 1)


STORY = st.fixed_dictionaries({"kind": st.sampled_from(["child", "verdict"]), "n": st.integers(0, 9)})
ASIDES = st.one_of(
    STORY,
    STORY.map(lambda event: {**event, "aside": "note"}),
    STORY.map(lambda event: {**event, "aside": "ending"}),
    st.just({"kind": "resumed"}),
)


@given(events=st.lists(ASIDES, max_size=16), cuts=st.lists(st.integers(0, 1000), max_size=6))
def test_endings_that_were_gone_on_from_are_taken_back(tmp_path_factory, events, cuts):
    """At every time what has been told is what `read_events` gives: endings count until the run is resumed."""
    path = tmp_path_factory.mktemp("tail") / "events.jsonl"
    whole, told = encoded(events), Told(path)
    places = sorted({min(cut, len(whole)) for cut in cuts} | {0, len(whole)})
    for begin, end in zip([0, *places], places, strict=False):
        with path.open("ab") as file:
            file.write(whole[begin:end])
        while not told.read(until=float("-inf")):
            pass
        assert told.events == list(read_events(path))


def test_a_log_of_many_endings_is_read_twice_at_most(tmp_path):
    """However often a run was capped and resumed, its log begins anew once."""
    capped = [{"kind": "child"}, {"kind": "verdict", "aside": "ending"}, {"kind": "resumed"}]
    (tmp_path / "log").write_bytes(encoded(capped * 2000))
    told = Told(tmp_path / "log")
    assert told.read()
    assert told.begun == 1
    assert told.events == [{"kind": "child"}, {"kind": "resumed"}] * 2000


def test_a_log_that_is_not_there_yet_is_waited_for(tmp_path):
    """Nothing is told of a missing file; it is when it comes."""
    told = Told(tmp_path / "log")
    assert told.read()
    assert told.tail.share == 1.0
    (tmp_path / "log").write_bytes(encoded([{"kind": "started"}]))
    assert told.read()
    assert told.events == [{"kind": "started"}]


def test_reading_stops_when_its_time_is_over_and_goes_on(tmp_path):
    """With no time left a long log is told piece by piece, each event once."""
    events = [{"kind": "child", "n": n} for n in range(500)]
    (tmp_path / "log").write_bytes(encoded(events))
    told, shares = Told(tmp_path / "log"), []
    while not told.read(until=float("-inf")):
        shares.append(told.tail.share)
    assert told.events == events
    assert len(shares) > 3
    assert shares == sorted(set(shares))


def test_kinds_can_be_passed_over(tmp_path):
    """What nobody asks for is not even parsed."""
    log = b'{"kind":"completion","text":broken}\n{"kind": "completion", "x": 1}\n{"kind":"child"}\n'
    (tmp_path / "log").write_bytes(log)
    told = Told(tmp_path / "log", passed_over=frozenset({"completion"}))
    assert told.read()
    assert told.events == [{"kind": "child"}]


@pytest.mark.parametrize("line", [b"not JSON\n", b"[1]\n", b'{"no":"kind"}\n', b"\xff\xfe\n", b"[" * 100_000 + b"\n"])
def test_a_line_that_is_no_event_is_refused_until_the_log_is_another(tmp_path, line):
    """The refusal names file and line, comes again however the log grows, and ends with the log it was about."""
    good, path = encoded([{"kind": "started"}]), tmp_path / "log"
    path.write_bytes(good + line + good)
    told = Told(path)
    for _ in range(2):
        with pytest.raises(RunError, match=r"log:2: expected one JSON event"):
            told.read()
        with path.open("ab") as file:
            file.write(good)
    assert len(told.events) == 1
    path.write_bytes(good * 3)
    assert told.read()
    assert len(told.events) == 3


def test_only_regular_files_have_a_signature(tmp_path):
    """A pipe, which would block whoever opens it, and a folder are no logs."""
    os.mkfifo(tmp_path / "pipe")
    assert [signature_of(tmp_path / name) for name in ("pipe", ".", "none")] == [None] * 3
    assert Told(tmp_path / "pipe").read()

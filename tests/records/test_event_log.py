import json
import resource
import signal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from coevo.errors import RunError
from coevo.records.event_log import EventLog, read_events

facts = st.dictionaries(
    st.text(min_size=1, max_size=8).filter(lambda key: key not in ("kind", "clock", "self")),
    st.none()
    | st.booleans()
    | st.integers(-(2**63), 2**63)
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(),
    max_size=4,
)
events = st.lists(facts, max_size=8)


def without_clock(path):
    """The events as they are compared on resume."""
    return [{k: v for k, v in e.items() if k != "clock"} for e in read_events(path) if e["kind"] != "resumed"]


@given(story=events, data=st.data())
def test_a_log_cut_anywhere_and_continued_equals_the_uninterrupted_one(tmp_path_factory, story, data):
    """For every story and every byte at which the write was cut, telling the story again completes the same log."""
    folder = tmp_path_factory.mktemp("log")
    whole, cut = folder / "whole.jsonl", folder / "cut.jsonl"
    with EventLog(whole, now=lambda: 1.0) as log:
        for fact in story:
            log.emit("fact", **fact)
    blob = whole.read_bytes()
    cut.write_bytes(blob[: data.draw(st.integers(0, len(blob)))])
    with EventLog(cut, now=lambda: 2.0) as log:
        for fact in story:
            log.emit("fact", **fact)
    assert without_clock(cut) == without_clock(whole)


def test_a_resumed_event_marks_the_seam_once(tmp_path):
    """Repeating the past writes nothing; the first new event is preceded by one `resumed`."""
    path = tmp_path / "events.jsonl"
    with EventLog(path, now=lambda: 1.0) as log:
        log.emit("a")
    for _ in range(2):
        with EventLog(path, now=lambda: 2.0) as log:
            log.emit("a")
    assert [e["kind"] for e in read_events(path)] == ["a"]
    with EventLog(path, now=lambda: 3.0) as log:
        log.emit("a")
        log.emit("b")
        log.emit("c")
    assert [e["kind"] for e in read_events(path)] == ["a", "resumed", "b", "c"]


def test_a_loop_that_does_not_repeat_its_past_is_refused(tmp_path):
    """An event that differs from the recorded one names both."""
    path = tmp_path / "events.jsonl"
    with EventLog(path, now=lambda: 1.0) as log:
        log.emit("asked", id="1")
    with EventLog(path, now=lambda: 1.0) as log, pytest.raises(RunError, match=r'"id": "1".*got.*"id": "2"'):
        log.emit("asked", id="2")


def test_clock_fields_are_recorded_but_not_compared(tmp_path):
    """CPU times may differ on the second telling; the first one stays in the log."""
    path = tmp_path / "events.jsonl"
    for cpu_s in (0.5, 0.7):
        with EventLog(path, now=lambda: 1.0) as log:
            log.emit("verdict", clock={"cpu_s": cpu_s}, status="ok")
    assert [e["clock"] for e in read_events(path)] == [{"time": 1.0, "cpu_s": 0.5}]


def test_a_log_in_use_is_refused(tmp_path):
    """Two processes never write one log."""
    with EventLog(tmp_path / "events.jsonl", now=lambda: 1.0), pytest.raises(RunError, match="is in use by another"):
        EventLog(tmp_path / "events.jsonl", now=lambda: 1.0)


def test_a_corrupt_line_before_the_last_is_refused(tmp_path):
    """Only the last line may be torn; anything else is named with its line number."""
    path = tmp_path / "events.jsonl"
    for corrupt in ('{"kind"', "[1]", "3", "{}"):
        path.write_text(f'{{"kind":"a"}}\n{corrupt}\n{{"kind":"c"}}\n')
        with pytest.raises(RunError, match=r"events\.jsonl:2: expected one JSON event"):
            list(read_events(path))


def test_no_nan_enters_the_log(tmp_path):
    """NaN is not JSON: refusing it keeps every reader working."""
    with (
        EventLog(tmp_path / "events.jsonl", now=lambda: 1.0) as log,
        pytest.raises(ValueError, match="not JSON compliant"),
    ):
        log.emit("a", value=float("nan"))


def test_listeners_hear_past_and_present(tmp_path):
    """A view that joins a resumed run sees the whole of it."""
    path = tmp_path / "events.jsonl"
    with EventLog(path, now=lambda: 1.0) as log:
        log.emit("a")
    heard = []
    with EventLog(path, now=lambda: 1.0, listeners=(lambda e: heard.append(e["kind"]),)) as log:
        log.emit("a")
        log.emit("b")
    assert heard == ["a", "resumed", "b"]


def test_every_line_is_one_json_object(tmp_path):
    """Text with newlines and quotes stays on one line."""
    path = tmp_path / "events.jsonl"
    with EventLog(path, now=lambda: 1.0) as log:
        log.emit("completion", text='a\n"b"\u2028c')
    assert json.loads(path.read_bytes().splitlines()[0])["text"] == 'a\n"b"\u2028c'


@given(st.text(st.characters(exclude_categories=())))
def test_any_text_can_be_recorded(tmp_path_factory, text):
    """Half of a surrogate pair too, which is no UTF-8: it comes back as it was, and a resumed log agrees with it."""
    path = tmp_path_factory.mktemp("log") / "events.jsonl"
    for _ in range(2):
        with EventLog(path, now=lambda: 1.0) as log:
            log.emit("said", text=text)
    assert without_clock(path) == [{"kind": "said", "text": text}]


def test_a_full_disk_is_one_line_and_the_log_goes_on(tmp_path):
    """What could not be written is said with the run; what could be is whole, and a later session continues it."""
    path = tmp_path / "events.jsonl"
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    log = EventLog(path, now=lambda: 1.0)
    log.emit("small")
    before = signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (path.stat().st_size + 100, limits[1]))
    try:
        with pytest.raises(RunError, match=r"File too large.*coevo resume"):
            log.emit("large", text="x" * 100_000)
        log.close()
        log.close()
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)
        signal.signal(signal.SIGXFSZ, before)
    with EventLog(path, now=lambda: 2.0) as again:
        again.emit("small")
        again.emit("large", text="x")
    assert [event["kind"] for event in without_clock(path)] == ["small", "large"]

"""Notes and endings: recorded beside the story, never compared with it."""

from threading import Thread, get_ident

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from coevo.errors import RunError
from coevo.records.event_log import EventLog, read_events


def kinds(events):
    """Kinds of events, in order."""
    return [event["kind"] for event in events]


def opened(path, *listeners):
    """A log whose clock stands still."""
    return EventLog(path, now=lambda: 0.0, listeners=listeners)


def test_notes_differ_between_sessions_and_the_story_still_matches(tmp_path):
    """A resumed loop repeats its story between whatever notes there are, and says others."""
    path = tmp_path / "events.jsonl"
    with opened(path) as log:
        log.emit("a")
        log.note("sent", call=0)
        log.emit("b")
    with opened(path) as log:
        log.emit("a")
        log.emit("b")
        log.note("spent", call=0)
        log.emit("c")
    assert kinds(read_events(path)) == ["a", "sent", "b", "resumed", "spent", "c"]


def test_an_ending_is_forgotten_once_the_story_goes_on(tmp_path):
    """Read while it is the end, and not any more once a session has gone on; its verdicts stay known to the log."""
    path = tmp_path / "events.jsonl"
    with opened(path) as log:
        log.emit("a")
        with log.ending():
            log.emit("finished", status="cost")
    assert kinds(read_events(path)) == ["a", "finished"]
    with opened(path) as log:
        log.emit("a")
        log.emit("b")
        assert kinds(log.recorded) == ["a", "finished"]
    assert kinds(read_events(path)) == ["a", "resumed", "b"]


def test_listeners_are_told_by_the_thread_that_emits(tmp_path):
    """A note from another thread is durable at once, and told with the next event, in order."""
    told, path = [], tmp_path / "events.jsonl"
    with opened(path, lambda event: told.append((event["kind"], get_ident()))) as log:
        other = Thread(target=lambda: log.note("sent", call=0))
        other.start()
        other.join(60)
        assert kinds(read_events(path)) == ["sent"]
        assert told == []
        log.emit("a")
    assert told == [("sent", get_ident()), ("a", get_ident())]


def test_a_note_after_the_end_is_none(tmp_path):
    """What an engine has to say while it is closed comes too late, and harms nothing."""
    log = opened(tmp_path / "events.jsonl")
    log.close()
    log.note("spent", call=0)
    assert list(read_events(tmp_path / "events.jsonl")) == []


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=40)
@given(plan=st.lists(st.sampled_from("sne"), max_size=12), cut=st.integers(0, 12))
def test_a_follower_is_told_every_new_event_after_resumed(tmp_path, plan, cut):
    """Whatever stands beside a story that is cut anywhere, what comes before `resumed` was recorded before."""
    path = tmp_path / "events.jsonl"
    path.unlink(missing_ok=True)

    def tell(log, steps):
        for number, step in enumerate(steps):
            if step == "s":
                log.emit("story", number=number)
            elif step == "n" and number >= len(log.recorded):
                log.note("note", number=number)
            elif step == "e" and number >= len(log.recorded):
                with log.ending():
                    log.emit("ended", number=number)

    with opened(path) as log:
        tell(log, plan[:cut])
    before = len(list(read_events(path)))
    told = []
    with opened(path, told.append) as log:
        tell(log, plan)
        log.emit("story", number=-1)
    names = kinds(told)
    if before:
        new = told[names.index("resumed") + 1 :]
        assert all(event["number"] >= cut or event["number"] == -1 for event in new)
    assert names.count("resumed") == (before > 0)
    assert told[-1]["number"] == -1


def test_who_follows_is_told_of_beginning_and_end(tmp_path):
    """The file and what is recorded first; the end once, however often the log is closed."""
    said = []

    class Follower:
        """Writes down what it is told."""

        def __call__(self, event):
            said.append(event["kind"])

        def begin(self, path, recorded):
            """Note the beginning."""
            said.append((path.name, len(recorded)))

        def end(self):
            """Note the end."""
            said.append("end")

    log = opened(tmp_path / "events.jsonl", Follower())
    log.emit("a")
    log.close()
    log.close()
    assert said == [("events.jsonl", 0), "a", "end"]


def test_a_story_that_differs_is_still_found_out(tmp_path):
    """Notes between events do not hide that a loop no longer repeats itself."""
    path = tmp_path / "events.jsonl"
    with opened(path) as log:
        log.note("sent", call=0)
        log.emit("a")
    with opened(path) as log, pytest.raises(Exception, match="repeat its recorded event"):
        log.emit("b")


def test_an_event_that_differs_late_is_told_by_its_difference(tmp_path):
    """However much is the same before it."""
    path, same = tmp_path / "events.jsonl", {f"field{n}": n for n in range(100)}
    with opened(path) as log:
        log.emit("a", **same, budget=40)
    with opened(path) as log, pytest.raises(RunError) as caught:
        log.emit("a", **same, budget=60)
    assert '{"kind": "a", "budget": 40}, got {"kind": "a", "budget": 60}' in str(caught.value)

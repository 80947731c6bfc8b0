import json

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from coevo.records.event_log import EventLog, read_events
from coevo.reporting.live.lines import event_of, kind_of, text_of

FOOL = '","finish":"stop","tokens":1,"clock":{"time":1.0}}\n'
FACTS = st.fixed_dictionaries(
    {
        "id": st.text(max_size=8),
        "text": st.text(max_size=60) | st.just(FOOL),
        "finish": st.sampled_from(["stop", "length"]) | st.just(FOOL),
        "tokens": st.integers(0, 10**6),
    }
)


@given(facts=FACTS, time=st.floats(0, 1e12))
@example(facts={"id": "a", "text": FOOL * 2, "finish": "stop", "tokens": 3}, time=0.1 + 0.2)
@example(facts={"id": 'a"', "text": "\ud800", "finish": "stop", "tokens": 3}, time=1e300)
def test_a_completion_as_a_log_writes_it(tmp_path_factory, facts, time):
    """But for the text, which may be left out, the event is the log's, and the text is found in its line."""
    path = tmp_path_factory.mktemp("lines") / "events.jsonl"
    with EventLog(path, now=lambda: time) as log:
        log.emit("completion", **facts)
    line = path.read_bytes()
    (written,) = read_events(path)
    read = event_of(line)
    assert kind_of(line) == b"completion"
    assert read["text"] in ("", written["text"])
    assert {**read, "text": written["text"]} == written
    assert text_of(line, written["id"]) == written["text"]
    assert text_of(line, written["id"] + "x") == ""


def test_the_text_of_a_plain_completion_is_passed_over():
    """What most lines are is read without the text."""
    line = b'{"kind":"completion","id":"1.e1.0","text":"a\\"b","finish":"stop","tokens":3,"clock":{"time":1.5}}\n'
    read = event_of(line)
    assert read == {**json.loads(line), "text": ""}
    assert text_of(line, "1.e1.0") == 'a"b'


@given(
    event=st.dictionaries(
        st.text(max_size=5), st.recursive(st.integers() | st.text() | st.none(), st.lists, max_leaves=5), max_size=5
    ),
    kind=st.text(max_size=8),
)
def test_any_other_event_is_read_as_json(event, kind):
    """Whatever an event holds, it is what json makes of its line."""
    event.pop("kind", None)
    line = json.dumps({"kind": kind, **event}).encode() + b"\n"
    assert event_of(line) == json.loads(line)


@pytest.mark.parametrize(
    "line", [b"\n", b"[]\n", b"{}\n", b'{"kind":1}\n', b'{"kind":"a"} x\n', b"\xff\n", b'{"kind":"a"\n']
)
def test_what_is_no_event_is_refused(line):
    """A line that is no JSON object with a kind is refused."""
    with pytest.raises(ValueError, match=r"."):
        event_of(line)


@pytest.mark.parametrize("line", [b"", b"torn", b"[1]\n", b'{"id":"a"}\n', b'{"id":"b","text":"x"}\n'])
def test_a_line_that_is_another_by_now_has_no_text(line):
    """Where a log was replaced no text is shown, and nothing fails."""
    assert text_of(line, "a") == ""

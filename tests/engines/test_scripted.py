import json
from collections import Counter

import pytest

from coevo.engines.scripted import ScriptedAnswer, ScriptedEngine
from coevo.errors import ContentError
from coevo.interfaces import Engine, Message, Request, Sampling, Update


def test_it_is_an_engine():
    """The scripted engine has every method of the Protocol."""
    assert isinstance(ScriptedEngine(["a"]), Engine)


def test_a_function_is_asked_in_order():
    """Every request is answered once, in order, by the function, and counted."""
    engine = ScriptedEngine(lambda request: request.text.upper())
    answers = list(engine.generate([Request(str(n), f"text {n}", n) for n in range(3)]))
    assert [(a.request_id, a.text, a.finish, a.num_tokens) for a in answers] == [
        (str(n), f"TEXT {n}", "stop", 2) for n in range(3)
    ]
    assert engine.num_requests == 3


def test_answers_depend_on_id_and_seed_alone():
    """Order, batch and what was asked before do not matter, so a resumed run gets the same texts."""
    requests = [Request(f"id{n}", "same prompt", n) for n in range(30)]
    texts = [str(n) for n in range(7)]
    at_once = {a.request_id: a.text for a in ScriptedEngine(texts).generate(requests)}
    engine = ScriptedEngine(texts)
    one_by_one = {a.request_id: a.text for r in reversed(requests) for a in engine.generate([r])}
    assert at_once == one_by_one
    assert len(Counter(at_once.values())) > 4


def test_a_file_matches_on_the_prompt(tmp_path):
    """Of a script file, the entries whose `match` is in the prompt are dealt out, "length" ones too."""
    file = tmp_path / "script.json"
    answers = [{"match": "colour", "text": "red"}, {"match": "shape", "text": "round", "finish": "length"}]
    file.write_text(json.dumps(answers))
    engine = ScriptedEngine.from_file(file)
    found = list(engine.generate([Request("1", "which colour?", 0), Request("2", "which shape?", 0)]))
    assert [(a.text, a.finish) for a in found] == [("red", "stop"), ("round", "length")]
    with pytest.raises(ContentError, match=r"request '3'.*'which size"):
        list(engine.generate([Request("3", "which size?", 0)]))


def test_a_match_may_be_in_any_message():
    """Of a conversation all messages are searched, besides the plain text."""
    engine = ScriptedEngine([ScriptedAnswer(text="a", match="sums"), ScriptedAnswer(text="b", match="colours")])
    conversation = (Message("system", "you do sums"), Message("user", "1 + 1"))
    found = engine.generate([Request("1", "", 0, messages=conversation), Request("2", "which colours?", 0)])
    assert [answer.text for answer in found] == ["a", "b"]


def test_answers_end_at_stop_texts():
    """The first of them ends an answer, cut off or not; an answer without one is as it is written."""
    engine = ScriptedEngine([ScriptedAnswer(text="one two three", finish="length")])
    sampling = [Sampling(stop=stop) for stop in (("three", " two"), ("four",), ())]
    found = engine.generate([Request(str(n), "", 0, sampling=each) for n, each in enumerate(sampling)])
    assert [(answer.text, answer.finish, answer.num_tokens) for answer in found] == [
        ("one", "stop", 1),
        ("one two three", "length", 3),
        ("one two three", "length", 3),
    ]


@pytest.mark.parametrize("content", ["[", "[]", '[{"match": "x"}]', '[{"text": "x", "wrong": 1}]', '{"text": "x"}'])
def test_a_bad_file_is_refused(tmp_path, content):
    """A script that does not parse, or says nothing, names its file."""
    file = tmp_path / "script.json"
    file.write_text(content)
    with pytest.raises(ContentError, match=r"script\.json"):
        ScriptedEngine.from_file(file)


def test_a_missing_file_is_refused(tmp_path):
    """The path is in the message."""
    with pytest.raises(ContentError, match=r"none\.json"):
        ScriptedEngine.from_file(tmp_path / "none.json")


def test_an_empty_script_is_refused():
    """There has to be something to answer."""
    with pytest.raises(ValueError, match="at least one answer"):
        ScriptedEngine([])


def test_fingerprints_follow_the_history():
    """The same updates in the same order give the same fingerprint; any difference gives another."""
    first, second = Update(1, 0, (0, 1), (0.5, -0.5)), Update(1, 1, (0, 1), (0.25, 0.0))
    histories = ([first, second], [second, first], [first], [first, Update(1, 1, (0, 1), (0.25, 1e-9))], [])
    engines = [ScriptedEngine(["a"]) for _ in histories]
    for engine, history in zip(engines, histories, strict=True):
        assert [engine.commit(update) for update in history][-1:] == [engine.fingerprint()][: len(history)]
    assert len({engine.fingerprint() for engine in engines}) == len(histories)
    again = ScriptedEngine(["b"])
    assert [again.commit(first), again.commit(second)][1] == engines[0].fingerprint()


def test_export_writes_the_state(tmp_path):
    """The folder says which weights it stands for; closing twice is fine."""
    engine = ScriptedEngine([ScriptedAnswer(text="a")])
    engine.export(tmp_path / "out")
    assert json.loads((tmp_path / "out" / "scripted.json").read_text())["fingerprint"] == engine.fingerprint()
    engine.close()
    engine.close()

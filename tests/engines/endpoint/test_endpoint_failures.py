"""Failures on the way to a server: what is tried again, what is given up, what is said."""

import threading
from collections import Counter
from dataclasses import astuple, replace

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from scripted_server import KEY, QUICK, Reply, answer, ask, echo, prompt_of, refusal

from coevo.engines.endpoint import transport
from coevo.engines.endpoint.patience import Patience
from coevo.errors import ModelError
from coevo.interfaces import Sampling

PASSING = {
    "503": refusal(503, "overloaded"),
    "429": refusal(429, "slow down", headers=(("Retry-After", "0"),)),
    "408": refusal(408),
    "409": refusal(409),
    "cut": Reply(answer("lost").body, sent=40),
    "no body": Reply(answer("lost").body, sent=0),
    "page": Reply(b"<html>please wait</html>", 200),
    "error page": Reply(b"<html>bad gateway</html>", 502),
    "half": Reply(b'{"choices": [{"message": '),
    "empty": Reply(b""),
    "list": Reply([1]),
    "error inside": Reply({"error": {"message": "upstream", "code": 504}}),
    "no choices": Reply({"choices": [], "usage": {"prompt_tokens": 5, "completion_tokens": 3}}),
}


@settings(max_examples=25, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.data())
def test_every_request_is_answered_exactly_once(server, engines, data):
    """Whatever goes wrong on the way: one completion each, its own, and meters that add up to what the server saw."""
    trouble = st.lists(st.sampled_from(sorted(PASSING)), max_size=QUICK.attempts - 1)
    troubles = data.draw(st.lists(trouble, min_size=1, max_size=6))
    in_flight = data.draw(st.sampled_from(sorted(engines)))
    left = {f"prompt {n}": list(names) for n, names in enumerate(troubles)}

    def script(number, body):
        names = left[prompt_of(body)]
        return PASSING[names.pop(0)] if names else echo(number, body)

    server.script = script
    server.posts.clear()
    server.most = 0
    engine, requests = engines[in_flight], ask(len(troubles))
    before = engine.meter
    completions = list(engine.generate(requests))
    assert Counter(c.request_id for c in completions) == Counter(r.id for r in requests)
    texts = {r.id: f"echo {r.text}" for r in requests}
    assert all((c.text, c.finish, c.num_tokens) == (texts[c.request_id], "stop", 3) for c in completions)
    counted = len(requests) + sum(names.count("no choices") for names in troubles)
    expected = (len(requests), sum(len(names) for names in troubles), 5 * counted, 0, 3 * counted, 0)
    assert tuple(b - a for a, b in zip(astuple(before), astuple(engine.meter), strict=True)) == expected
    assert len(server.posts) == expected[0] + expected[1]
    assert server.most <= in_flight
    sent = Counter(prompt_of(body) for _, body in server.posts)
    assert sent == {f"prompt {n}": 1 + len(names) for n, names in enumerate(troubles)}


@pytest.fixture
def engines(connect):
    """Engines by how many requests they have under way at once."""
    return {in_flight: connect(in_flight=in_flight) for in_flight in (1, 3, 16)}


def test_seeds_survive_retries(connect, server):
    """A request that is sent again is the same request, seed included."""
    server.script = lambda number, body: refusal(500) if number < 3 else echo(number, body)
    assert len(list(connect().generate(ask(1)))) == 1
    assert server.posts == [server.posts[0]] * 4


@pytest.mark.parametrize("trouble", sorted(PASSING))
def test_what_does_not_pass_ends_in_one_line(connect, server, trouble):
    """After a bounded number of attempts the server's words are shown, with its address and what is left."""
    server.script = lambda number, body: PASSING[trouble]
    with pytest.raises(ModelError, match=r"attempt 4\); 1 of 1 requests are left unanswered") as caught:
        list(connect().generate(ask(1)))
    assert len(server.posts) == QUICK.attempts
    assert f"{server.url}/chat/completions" in str(caught.value)
    assert "resumed" in str(caught.value)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("status", "more", "advice"),
    [
        (400, {}, "see the server's log"),
        (401, {}, "set COEVO_API_KEY"),
        (402, {}, "no credit"),
        (403, {}, "set COEVO_API_KEY"),
        (404, {}, "check the name of the model"),
        (422, {}, "see the server's log"),
        (429, {"code": "insufficient_quota"}, "no credit"),
    ],
)
def test_what_cannot_pass_is_asked_once(connect, server, status, more, advice):
    """The message names address, status and the server's first 200 characters, and what could help; not the key."""
    server.script = lambda number, body: refusal(status, f"wrong: {KEY} is\nnot " + "x" * 300, **more)
    with pytest.raises(ModelError, match=rf"got status {status}: wrong: \*\*\* is not x+; .*{advice}") as caught:
        list(connect(routes=("chat",)).generate(ask(1)))
    assert len(server.posts) == 1
    assert KEY not in str(caught.value)
    assert "x" * 190 not in str(caught.value)
    assert caught.value.__cause__ is None


def test_the_key_is_in_no_log(connect, server, caplog):
    """Even if the server repeats it in every way, at every level of logging."""
    caplog.set_level("DEBUG")
    escaped = KEY.replace("/", "\\/")

    def script(number, body):
        if number == 0:
            return Reply(f'{{"error": {{"message": "seed {KEY} {escaped}"}}}}'.encode(), 400)
        return refusal(503, KEY) if number < 3 else refusal(403, f"no {KEY}")

    server.script = script
    engine = connect()
    with pytest.raises(ModelError) as caught:
        list(engine.generate(ask(1)))
    assert len(server.posts) == 4
    assert "s3cret" not in caplog.text + str(caught.value) + repr(transport.Server(server.url, KEY))
    assert "***" in caplog.text


@pytest.mark.parametrize("name", ["seed", "top_p", "temperature", "max_tokens"])
def test_a_refused_parameter_is_remembered(connect, server, caplog, name):
    """The request is put otherwise at once, later ones from the start, and the user is told once."""

    def script(number, body):
        if name in body:
            return refusal(400, f"Unsupported parameter: '{name}'", param=name)
        return echo(number, body)

    server.script = script
    engine = connect(in_flight=4)
    assert len(list(engine.generate(ask(8)))) == 8
    asked = len(server.posts)
    assert 9 <= asked <= 12
    assert len(list(engine.generate(ask(8, first=8)))) == 8
    assert len(server.posts) == asked + 8
    assert engine.meter.retries == asked - 8
    assert all(name not in body for _, body in server.posts[asked:])
    if name == "max_tokens":
        assert all(body["max_completion_tokens"] == 33 for _, body in server.posts[asked:])
    assert [record.levelname for record in caplog.records if name in record.getMessage()] == ["WARNING"]


def test_every_parameter_can_be_refused(connect, server, caplog):
    """A server that takes nothing but model and message is served all the same; answers still end at stop texts."""

    def script(number, body):
        extra = sorted(set(body) - {"model", "messages", "stream", "max_completion_tokens"})
        return refusal(422, f"unknown field {extra[0]}") if extra else echo(number, body)

    server.script = script
    sampling = Sampling(0.7, 0.9, 33, 20, 1.5, (" prompt",))
    requests = [replace(request, sampling=sampling) for request in ask(7)]
    found = list(connect(in_flight=3).generate(requests))
    assert [(answer.text, answer.finish) for answer in found] == [("echo", "stop")] * 7
    assert len(server.posts) <= 7 + 7 * 3
    for words in ("takes no top_k", "does not take this presence_penalty", "does not take these stop texts"):
        assert sum(words in record.getMessage() for record in caplog.records) == 1


@pytest.mark.parametrize("refused", [refusal(404, "Not Found"), refusal(400, "you must provide a chat template")])
def test_a_server_without_chat(connect, server, caplog, refused):
    """Then the bare prompt goes to /completions, from now on, and the user is told once."""

    def script(number, body):
        return refused if "messages" in body else echo(number, body)

    server.script = script
    engine = connect(in_flight=2)
    assert {c.text for c in engine.generate(ask(5))} == {f"echo prompt {n}" for n in range(5)}
    assert len(server.posts) <= 7
    assert sum("/completions is tried" in record.getMessage() for record in caplog.records) == 1


def test_chat_that_has_worked_is_not_given_up(connect, server):
    """A 404 from a server that is restarting must not turn a chat model's prompts into bare text."""
    server.script = lambda number, body: echo(number, body) if number == 0 else refusal(404, "Not Found")
    engine = connect()
    assert len(list(engine.generate(ask(1)))) == 1
    with pytest.raises(ModelError, match="got status 404"):
        list(engine.generate(ask(1, first=1)))
    assert [path for path, _ in server.posts] == ["/v1/chat/completions"] * 2


def test_a_prompt_that_is_too_long_is_a_cut_off_answer(connect, server, caplog):
    """A run must not stick at one prompt that no attempt can answer; the others are answered, the user is told."""
    too_long = refusal(400, "This model's maximum context length is 512 tokens. However, your prompt has 600", code=400)
    server.script = lambda number, body: too_long if "prompt 1" in prompt_of(body) else echo(number, body)
    completions = {c.request_id: c for c in connect().generate(ask(3))}
    assert [completions[f"r{n}"].finish for n in range(3)] == ["stop", "length", "stop"]
    assert (completions["r1"].text, completions["r1"].num_tokens) == ("", 0)
    assert "maximum context length is 512" in caplog.text


def test_when_one_request_fails_what_is_under_way_still_comes(connect, server):
    """Answers that were paid for are handed over before the error; nothing new is sent."""
    failed = threading.Event()

    def script(number, body):
        if prompt_of(body) == "prompt 1":
            failed.set()
            return refusal(403, "forbidden")
        failed.wait(30)
        return echo(number, body)

    server.script = script
    engine, seen = connect(in_flight=2), []
    answers = engine.generate(ask(9))
    with pytest.raises(ModelError, match=r"status 403: forbidden.*; [78] of 9 requests are left"):
        seen.extend(completion.request_id for completion in answers)
    assert "r0" in seen
    assert len(server.posts) <= 3
    server.script = echo
    assert len(list(engine.generate(ask(9)))) == 9


@pytest.mark.parametrize("way", ["hang", "drops"])
def test_a_server_that_never_ends_is_given_up(connect, server, way):
    """The time of an attempt is bounded as a whole, also for a server that sends a byte now and then."""
    server.script = lambda number, body: Reply(b" " * 100_000, way=way)
    patience = Patience(attempts=2, first_wait_s=0.001, longest_wait_s=0.001, attempt_s=0.3, total_s=60.0)
    with pytest.raises(ModelError, match=r"no answer in 0\.3 s \(attempt 2\)"):
        list(connect(patience=patience).generate(ask(1)))
    assert len(server.posts) == 2

"""The endpoint engine against a real HTTP server on this machine, whose behaviour each test scripts."""

import json
import signal
import socket
import struct
import sys
import threading
from collections import Counter
from dataclasses import astuple, dataclass
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import coevo
from coevo.engines.endpoint import transport
from coevo.engines.endpoint.client import Meter
from coevo.engines.endpoint.dialect import reduced_seed
from coevo.engines.endpoint.engine import open_endpoint
from coevo.engines.endpoint.patience import Patience
from coevo.errors import ConfigError, ExtraMissingError, ModelError
from coevo.interfaces import Engine, Member, Request, Sampling, Update
from coevo.searching.api import resume_search

KEY = "sk-s3cret/of-the-user"
QUICK = Patience(attempts=4, first_wait_s=0.002, longest_wait_s=0.004, attempt_s=20.0, total_s=60.0)


@dataclass
class Reply:
    """What the server does with one message: answer in whole, or only `sent` bytes of it, or in drops, or never."""

    body: object = b""
    status: int = 200
    headers: tuple = ()
    sent: int | None = None
    way: str = "whole"


class Server:
    """Serves /v1 with scripted replies and keeps what it was asked.

    Attributes:
        script: From the number of a POST (counted from 0) and its body to the reply.
        models: The reply to GET /v1/models.
        posts: Path and body of every POST, in the order of arrival.
        most: How many POSTs were under way at once, at most.
        over: Set when the test ends: what hangs lets go.
    """

    def __init__(self):
        self.script = lambda number, body: answer("text")
        self.models = Reply({"object": "list", "data": [{"id": "tiny"}]})
        self.posts, self.keys = [], []
        self.most = self.busy = 0
        self.lock, self.over = threading.Lock(), threading.Event()
        self.http = ThreadingHTTPServer(("127.0.0.1", 0), type("Handler", (Handler,), {"owner": self}))
        self.http.daemon_threads = True
        self.thread = threading.Thread(target=self.http.serve_forever, kwargs={"poll_interval": 0.01})
        self.thread.start()
        self.url = f"http://127.0.0.1:{self.http.server_port}/v1"

    def close(self):
        """Stop serving."""
        self.over.set()
        self.http.shutdown()
        self.thread.join()
        self.http.server_close()


class Handler(BaseHTTPRequestHandler):
    """Does what the owner's script says."""

    protocol_version = "HTTP/1.1"

    def do_GET(self):
        """The list of models."""
        self.owner.keys.append(self.headers.get("Authorization"))
        self.reply(self.owner.models)

    def do_POST(self):
        """One completion."""
        owner = self.owner
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        with owner.lock:
            number = len(owner.posts)
            owner.posts.append((self.path, body))
            owner.keys.append(self.headers.get("Authorization"))
            owner.busy += 1
            owner.most = max(owner.most, owner.busy)
        try:
            reply = owner.script(number, body)
        finally:
            with owner.lock:
                owner.busy -= 1
        self.reply(reply)

    def reply(self, reply):
        """Write a reply in the way it says."""
        content = reply.body if isinstance(reply.body, bytes) else json.dumps(reply.body).encode()
        if reply.way == "hang":
            self.owner.over.wait()
            return
        self.send_response(reply.status)
        for name, value in (*reply.headers, ("Content-Length", len(content))):
            self.send_header(name, str(value))
        self.end_headers()
        if reply.way == "drops":
            self.trickle()
        self.wfile.write(content[: reply.sent])
        if reply.sent is not None:
            self.wfile.flush()
            self.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
            self.close_connection = True

    def trickle(self):
        """A blank now and then, as servers send to keep a connection alive, until the test is over."""
        while not self.owner.over.wait(0.01):
            try:
                self.wfile.write(b" ")
            except OSError:
                return

    def log_message(self, *_):
        """Quiet."""


def answer(text, finish="stop", usage=(5, 3)):
    """A chat answer that can also be read as a bare completion."""
    choice = {"index": 0, "message": {"role": "assistant", "content": text}, "text": text, "finish_reason": finish}
    counted = {} if usage is None else {"usage": {"prompt_tokens": usage[0], "completion_tokens": usage[1]}}
    return Reply({"id": "x", "object": "chat.completion", "choices": [choice], **counted})


def refusal(status, message="no", headers=(), **more):
    """A refusal in the usual form."""
    return Reply({"error": {"message": message, **more}}, status, headers)


def prompt_of(body):
    """The prompt in a request's body."""
    return body["prompt"] if "prompt" in body else body["messages"][0]["content"]


def echo(number, body):
    """Answers with the prompt."""
    return answer(f"echo {prompt_of(body)}")


def ask(count, first=0):
    """Some requests with prompts and seeds of their own."""
    sampling = Sampling(0.7, 0.9, 33)
    return [Request(f"r{n}", f"prompt {n}", 2**60 + n, None, sampling) for n in range(first, first + count)]


@pytest.fixture(autouse=True)
def _environment(monkeypatch):
    """A key of the user's, and no proxy between the tests and this machine."""
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")
    monkeypatch.setenv("COEVO_API_KEY", KEY)
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)


@pytest.fixture
def server():
    """A running server."""
    running = Server()
    yield running
    running.close()


@pytest.fixture
def connect(server):
    """Opens engines on the server, and closes them."""
    opened = []

    def make(**options):
        opened.append(open_endpoint(f"{server.url}#tiny", **{"patience": QUICK, **options}))
        return opened[-1]

    yield make
    for engine in opened:
        engine.close()


def test_it_is_an_engine_with_frozen_weights(connect, server, tmp_path):
    """It has every method of the Protocol; what would need weights is refused in one line that says what to do."""
    engine = connect()
    assert isinstance(engine, Engine)
    assert engine.fingerprint() == 0
    perturbed = [Request("r", "text", 1, Member(1, 0, 0, 1, 0.1))]
    frozen = [
        lambda: engine.commit(Update(1, 0, (0,), (0.5,))),
        lambda: engine.export(tmp_path),
        lambda: engine.generate(perturbed),
    ]
    for refused in frozen:
        with pytest.raises(ConfigError, match=r"behind an endpoint cannot .*--es off"):
            refused()
    assert server.posts == []


def test_what_is_sent(connect, server):
    """Model, one user message, the knobs, the reduced seed, the key in its header; and what comes back."""
    server.script = lambda number, body: answer("done", usage=(11, 7))
    (completion,) = connect().generate([Request("r", "say it", 2**63 + 9, None, Sampling(0.5, 0.9, 44))])
    assert (completion.request_id, completion.text, completion.finish, completion.num_tokens) == (
        "r",
        "done",
        "stop",
        7,
    )
    knobs = {"temperature": 0.5, "top_p": 0.9, "max_tokens": 44, "seed": reduced_seed(2**63 + 9), "stream": False}
    message = {"model": "tiny", "messages": [{"role": "user", "content": "say it"}], **knobs}
    assert server.posts == [("/v1/chat/completions", message)]
    assert set(server.keys) == {f"Bearer {KEY}"}


def test_bare_prompts_can_be_asked_for(connect, server):
    """With the route "completions" the prompt goes out as it is."""
    server.script = echo
    (completion,) = connect(routes=("completions",)).generate(ask(1))
    assert completion.text == "echo prompt 0"
    assert [(path, body["prompt"]) for path, body in server.posts] == [("/v1/completions", "prompt 0")]


def test_answers_come_as_they_are_ready(connect, server):
    """A request that takes long holds up none that came after it."""
    last_is_out = threading.Event()

    def script(number, body):
        if prompt_of(body) == "prompt 0":
            last_is_out.wait(30)
        return echo(number, body)

    server.script = script
    seen = []
    for completion in connect(in_flight=2).generate(ask(4)):
        seen.append(completion.request_id)
        if len(seen) == 3:
            last_is_out.set()
    assert seen == ["r1", "r2", "r3", "r0"]


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


def test_every_parameter_can_be_refused(connect, server):
    """A server that takes nothing but model and message is served all the same."""

    def script(number, body):
        extra = sorted(set(body) - {"model", "messages", "stream", "max_completion_tokens"})
        return refusal(422, f"unknown field {extra[0]}") if extra else echo(number, body)

    server.script = script
    assert len(list(connect(in_flight=3).generate(ask(7)))) == 7
    assert len(server.posts) <= 7 + 4 * 3


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


def test_an_iterator_that_is_dropped_breaks_off_the_rest(connect, server):
    """Nothing is sent on behalf of a caller who has gone; the engine goes on to serve the next."""
    reached = threading.Event()

    def script(number, body):
        if number == 1:
            reached.set()
            server.over.wait(30)
        return echo(number, body)

    server.script = script
    engine = connect(in_flight=1)
    answers = engine.generate(ask(6))
    assert next(answers).request_id == "r0"
    assert reached.wait(30)
    answers.close()
    server.script = echo
    assert [c.request_id for c in engine.generate(ask(2, first=10))] == ["r10", "r11"]
    assert [prompt_of(body) for _, body in server.posts] == ["prompt 0", "prompt 1", "prompt 10", "prompt 11"]


def test_an_interrupt_is_not_held_up(connect, server):
    """Ctrl-C ends the wait at once, also while a server hangs, and breaks off what is under way."""
    caller = threading.get_ident()

    def script(number, body):
        signal.pthread_kill(caller, signal.SIGINT)
        return Reply(way="hang")

    server.script = script
    engine = connect()
    with pytest.raises(KeyboardInterrupt):
        list(engine.generate(ask(1)))
    server.script = echo
    assert len(list(engine.generate(ask(1, first=1)))) == 1


def test_closing(connect, server):
    """Twice is fine; what is under way is broken off; afterwards nothing can be asked."""
    server.script = lambda number, body: echo(number, body) if number == 0 else Reply(way="hang")
    engine = connect(in_flight=1)
    answers = engine.generate(ask(3))
    next(answers)
    waiting = engine.generate(ask(1))
    engine.close()
    engine.close()
    with pytest.raises(RuntimeError, match="closed before every request"):
        next(answers)
    with pytest.raises(RuntimeError, match="the engine is closed"):
        next(waiting)
    with pytest.raises(RuntimeError, match="the engine is closed"):
        engine.generate(ask(1))
    assert engine.fingerprint() == 0


def test_requests_need_ids_of_their_own(connect):
    """Two with one id could not be told apart; none at all is nothing to do."""
    with pytest.raises(ValueError, match="id of its own"):
        connect().generate(ask(1) * 2)
    assert list(connect().generate([])) == []
    with pytest.raises(ValueError, match="in_flight"):
        connect(in_flight=0)


@pytest.mark.parametrize(
    ("reply", "text", "finish", "tokens"),
    [
        (answer("cut", "length"), "cut", "length", 3),
        (answer("bad", "content_filter"), "bad", "length", 3),
        (answer(None), "", "stop", 3),
        (answer("<think>draft</think>final"), "final", "stop", 3),
        (answer("eleven chars", usage=None), "eleven chars", "stop", 3),
        (answer("", usage=None), "", "stop", 0),
    ],
)
def test_readings_of_an_answer(connect, server, reply, text, finish, tokens):
    """Cut off, filtered, empty, with reasoning, uncounted: the completion says what it is."""
    server.script = lambda number, body: reply
    (completion,) = connect().generate(ask(1))
    assert (completion.text, completion.finish, completion.num_tokens) == (text, finish, tokens)


def test_estimates_are_counted_as_such(connect, server, caplog):
    """A server that does not count tokens is estimated for, and the user is told once."""
    server.script = lambda number, body: answer("12345678", usage=None)
    engine = connect()
    assert [c.num_tokens for c in engine.generate(ask(2))] == [2, 2]
    assert engine.meter == Meter(requests=2, prompt_tokens=4, completion_tokens=4, estimated=2)
    assert sum("estimated" in record.getMessage() for record in caplog.records) == 1


def test_cached_tokens_are_counted(connect, server):
    """As part of the prompt's."""
    usage = {"prompt_tokens": 9, "completion_tokens": 1, "prompt_tokens_details": {"cached_tokens": 8}}
    server.script = lambda number, body: Reply({**answer("a").body, "usage": usage})
    engine = connect()
    list(engine.generate(ask(2)))
    assert engine.meter == Meter(2, 0, 18, 16, 2)


def listing(*names):
    """The reply to GET /v1/models of a server with these models."""
    return Reply({"object": "list", "data": [{"id": name} for name in names]})


CATALOGUE = listing(*(f"m{n}" for n in range(21)))


@pytest.mark.parametrize(
    ("models", "name", "served"),
    [
        (listing("only"), "", "only"),
        (listing("a", "b"), "#b", "b"),
        (listing("llama3:latest"), "#llama3", "llama3"),
        (listing("llama3"), "#llama3:free", "llama3:free"),
        (listing(), "#mine", "mine"),
        (CATALOGUE, "#deployment", "deployment"),
        (refusal(404), "#mine", "mine"),
        (Reply(b"<html>no such page</html>", 405), "#mine", "mine"),
    ],
)
def test_opening(server, models, name, served):
    """The only model need not be named; a server that lists none, or a catalogue, may have others than it says."""
    server.models = models
    with open_endpoint(server.url + name) as engine:
        assert engine.model == served
    assert server.posts == []


@pytest.mark.parametrize(
    ("models", "name", "error", "said"),
    [
        (
            listing("a", "b"),
            "",
            ConfigError,
            r"as in --model http://.*/v1#name, got none; the server has 2 models: a, b",
        ),
        (CATALOGUE, "", ConfigError, "21 models: m0, .*m7, …"),
        (listing(), "", ConfigError, "no list of models"),
        (refusal(404), "", ConfigError, "no list of models"),
        (listing("a", "b"), "#c", ModelError, "got 'c'; it has: a, b"),
        (listing("a\n\x1b[2J", "b"), "#c", ModelError, r"it has: a\\n\\x1b\[2J, b"),
        (refusal(401, f"bad {KEY}"), "#a", ModelError, r"status 401: bad \*\*\*; set COEVO_API_KEY"),
        (refusal(503, "Loading model"), "#a", ModelError, "status 503: Loading model"),
        (Reply(b"<html>A web site</html>"), "#a", ModelError, "no JSON but 'A web site'"),
        (Reply({"models": []}), "#a", ModelError, "JSON of another form"),
        (Reply({"data": [1]}), "#a", ModelError, "JSON of another form"),
        (Reply(way="hang"), "#a", ModelError, r"no answer in 0\.3 s"),
    ],
)
def test_what_cannot_be_opened(server, models, name, error, said):
    """Before anything is charged, one line says what is wrong."""
    server.models = models
    with pytest.raises(error, match=said) as caught:
        open_endpoint(server.url + name, patience=Patience(attempt_s=0.3))
    assert "\n" not in str(caught.value)
    assert KEY not in str(caught.value)
    assert server.posts == []


def test_nobody_is_there(server):
    """A port nobody listens on is told at once."""
    url = server.url
    server.close()
    with pytest.raises(
        ModelError, match=r"expected a list of models at http://127.*, got no answer .*is the server up"
    ):
        open_endpoint(f"{url}#tiny")


def test_the_package_is_optional(server, monkeypatch):
    """Without it the extra to install is named; the server is not asked."""
    monkeypatch.setitem(sys.modules, "openai", None)
    with pytest.raises(ExtraMissingError, match=r"pip install 'coevo\[endpoint\]'"):
        open_endpoint(server.url)
    assert server.keys == []


def test_a_proxy_that_cannot_be_used(server, monkeypatch):
    """One line names the variables, and not what is in them."""
    monkeypatch.setenv("ALL_PROXY", "gopher://me:s3cret@proxy")
    with pytest.raises(ConfigError, match=r"got ValueError; check HTTP_PROXY") as caught:
        open_endpoint(server.url)
    assert "s3cret" not in str(caught.value)


def test_without_a_key_none_is_sent(connect, server, monkeypatch):
    """An empty COEVO_API_KEY keeps the key of another service from this server."""
    monkeypatch.setenv("COEVO_API_KEY", "")
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    list(connect().generate(ask(1)))
    assert KEY not in "".join(server.keys)


@pytest.fixture
def tiny_server(server, tiny_problem):
    """The server answers as a model does that writes heuristics for the tiny problem."""

    def script(number, body):
        power = 1 + reduced_seed(body["seed"]) % 97 / 40
        code = f"def priority(durations, worths):\n    return worths ** {power} / durations\n"
        return answer(f"{{Power {power}.}}\n```python\n{code}```")

    server.script = script
    return server


@pytest.mark.slow
def test_a_search_asks_a_server(tiny_server, tiny_problem, tmp_path, monkeypatch):
    """From a prompt of words to the best heuristic; a run that broke off when the server failed goes on afterwards."""
    opened = []

    def open_quickly(model):
        opened.append(open_endpoint(model, patience=QUICK))
        return opened[-1]

    monkeypatch.setattr("coevo.engines.endpoint.engine.open_endpoint", open_quickly)
    works = tiny_server.script
    tiny_server.script = lambda number, body: works(number, body) if number < 15 else refusal(500, "out of memory")
    options = {"model": f"{tiny_server.url}#tiny", "seed": 3, "workers": 1, "compare": False}
    with pytest.raises(ModelError, match=r"out of memory.*the run can be resumed"):
        coevo.search(str(tiny_problem), budget=30, runs_dir=tmp_path, **options)
    tiny_server.script = works
    (path,) = tmp_path.iterdir()
    result = resume_search(path)
    whole = coevo.search(str(tiny_problem), budget=30, runs_dir=tmp_path / "whole", **options)
    assert result.best.objective == whole.best.objective
    assert opened[-1].meter.requests == 30
    log = (path / "events.jsonl").read_text() + (path / "config.toml").read_text()
    assert KEY not in log
    assert tiny_server.url in log

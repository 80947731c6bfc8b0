"""The endpoint engine against a real HTTP server on this machine, whose behaviour each test scripts."""

import signal
import threading

import pytest
from scripted_server import KEY, QUICK, Reply, answer, ask, echo, prompt_of, refusal

import coevo
from coevo.engines.endpoint.client import Meter
from coevo.engines.endpoint.dialect import reduced_seed
from coevo.engines.endpoint.engine import open_endpoint
from coevo.errors import ConfigError, ModelError
from coevo.interfaces import Engine, Member, Message, Request, Sampling, Update
from coevo.searching.api import resume_search


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


def test_a_conversation_is_sent_as_it_is(connect, server):
    """Roles in order; what few servers take goes along where it is asked for; an answer is cut at a stop text."""
    server.script = lambda number, body: answer("done\nObservation: made up", finish="length")
    talk = (Message("system", "be brief"), Message("user", "say it"))
    sampling = Sampling(0.5, 0.9, 44, 20, 1.5, ("\nObservation:",))
    (completion,) = connect().generate([Request("r", "text", 9, None, sampling, talk)])
    assert (completion.text, completion.finish) == ("done", "stop")
    ((_, body),) = server.posts
    assert body["messages"] == [{"role": "system", "content": "be brief"}, {"role": "user", "content": "say it"}]
    assert (body["top_k"], body["presence_penalty"], body["stop"]) == (20, 1.5, ["\nObservation:"])


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


@pytest.fixture
def interruptible():
    """SIGINT raises KeyboardInterrupt, also where the tests run in the background and have inherited to ignore it."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


def test_an_interrupt_is_not_held_up(connect, server, interruptible):
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

"""What is asked first, what answers, and a model behind a server."""

import socket

import pytest
from scripted_server import KEY, QUICK, Reply, Server

from coevo.errors import ModelError
from coevo.experiments.doctor.asking import MOST_TOKENS, engine, first_request
from coevo.experiments.doctor.server import server
from coevo.interfaces import Completion, Request
from coevo.searching.preview import preview

REQUEST = Request("doctor", "x", 1)


class Answering:
    """An engine that gives the answers it was made with."""

    def __init__(self, *answers):
        self.answers = answers

    def generate(self, requests):
        """All of them, whatever was asked."""
        yield from self.answers


def test_an_answer_passes(says):
    """With its length, and the seconds on the clock."""
    clock = iter((10.0, 12.5))
    served = Answering(Completion("doctor", "yes", "stop", 7))
    says(engine(served, REQUEST, lambda: next(clock)), "pass", "7 tokens, whole, in 2.5 s")
    says(engine(Answering(Completion("doctor", "yes", "length", 7)), REQUEST), "pass", "cut off")


@pytest.mark.parametrize(
    ("answers", "words"),
    [
        ((), "expected one answer, got 0"),
        ((Completion("doctor", "", "length", 0),), "does not fit the model's context"),
        ((Completion("other", "yes", "stop", 7),), "expected one answer"),
    ],
)
def test_an_engine_that_does_not_answer_fails(says, answers, words):
    """Neither silence nor a prompt that is too long is an answer."""
    finding = engine(Answering(*answers), REQUEST)
    assert finding.state == "fail"
    assert words in finding.found


def test_a_search_asks_for_a_new_heuristic(asked):
    """The prompt of its own operator i1, with a bounded answer."""
    run = asked(problem="kp")
    request = first_request(run, "slots")
    assert request.text == preview(run.search).prompts["i1"]
    assert request.sampling.max_tokens == MOST_TOKENS


def test_a_tuning_run_asks_for_a_first_action(asked):
    """Board or words, as the model reads them; an environment that does not open here is asked about elsewhere."""
    board = first_request(asked(env="sudoku"), "board")
    words = first_request(asked(env="sudoku"), "chat")
    assert board.text != words.text
    assert words.messages
    broken = asked(env="sudoku")
    nowhere = broken.tuning.model_copy(update={"options": {"blanks": 999}})
    question = first_request(type(broken)(broken.wish, None, nowhere, None, broken.environment), "chat")
    assert "2 + 3" in question.text


@pytest.fixture
def running(monkeypatch):
    """A server on this machine, without a proxy between; a key of the user's."""
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")
    monkeypatch.setenv("COEVO_API_KEY", KEY)
    running = Server()
    yield running
    running.close()


def test_a_server_that_has_the_model_passes(says, running):
    """The key is sent and never shown: only the variable it came from is named."""
    environ = {"COEVO_API_KEY": KEY, "OPENAI_API_KEY": "another"}
    finding = server(f"{running.url}#tiny", environ)
    says(finding, "pass", running.url, "has the model tiny", "with the key in COEVO_API_KEY")
    assert KEY not in str(finding)
    assert running.keys == [f"Bearer {KEY}"]
    says(server(running.url, {"COEVO_API_KEY": ""}), "pass", "without a key")


def test_a_server_without_the_model_fails(running):
    """It says which models there are."""
    with pytest.raises(ModelError, match="got 'huge'; it has: tiny"):
        server(f"{running.url}#huge", {})
    running.models = Reply({"error": {"message": "no"}}, status=401)
    with pytest.raises(ModelError, match="401"):
        server(f"{running.url}#tiny", {})


def test_a_wrong_address_fails_at_once(monkeypatch):
    """Nobody listens on a port that was just given back."""
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")
    with socket.create_server(("127.0.0.1", 0)) as listener:
        port = listener.getsockname()[1]
    with pytest.raises(ModelError, match="is the server up"):
        server(f"http://127.0.0.1:{port}/v1#tiny", {}, QUICK)

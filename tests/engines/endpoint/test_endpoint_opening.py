"""Opening an endpoint: which model, which key, and what cannot be opened."""

import sys

import pytest
from scripted_server import KEY, Reply, ask, listing, refusal

from coevo.engines.endpoint.engine import open_endpoint
from coevo.engines.endpoint.patience import Patience
from coevo.errors import ConfigError, ExtraMissingError, ModelError

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

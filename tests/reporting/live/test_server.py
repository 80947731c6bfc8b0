"""The server over real sockets."""

import json
import socket
import threading
from http.client import HTTPConnection

import pytest

from coevo.errors import ConfigError
from coevo.reporting.live import server as server_module
from coevo.reporting.live.library import Library
from coevo.reporting.live.server import CONNECTIONS, open_server

SECRET = "not for anybody"


def ask(server, target="/", method="GET", body=None, **headers):
    """Status, headers and body of the answer to one request, sent as it is."""
    connection = HTTPConnection("127.0.0.1", server.port, timeout=60)
    try:
        connection.putrequest(method, target, skip_host=True, skip_accept_encoding=True)
        for name, value in {"Host": f"127.0.0.1:{server.port}", **headers}.items():
            connection.putheader(name.replace("_", "-"), value)
        if body is not None:
            connection.putheader("Content-Length", str(len(body)))
        connection.endheaders(body)
        answer = connection.getresponse()
        return answer.status, dict(answer.getheaders()), answer.read().decode()
    finally:
        connection.close()


def raw(server, data, until_closed=True):
    """Everything that comes back for some bytes."""
    with socket.create_connection(("127.0.0.1", server.port), timeout=60) as connection:
        connection.sendall(data)
        received = b""
        while until_closed and (piece := connection.recv(65536)):
            received += piece
        return received


def test_pages_and_news(serve, whole_run):
    """List, run and comparison are HTML, their news JSON with a version that the page names."""
    run, server = whole_run(), serve()
    status, headers, page = ask(server)
    assert (status, headers["Content-Type"]) == (200, "text/html; charset=utf-8")
    assert run.path.name in page
    news = json.loads(ask(server, "/state")[2])
    slug = news["runs"][0]["slug"]
    assert f'data-version="{news["version"]}"' in page
    status, _, page = ask(server, f"/run/{slug}")
    state = json.loads(ask(server, f"/run/{slug}/state")[2])
    assert (status, state["state"]) == (200, "finished")
    assert f'data-version="{state["version"]}"' in page
    assert state["progress"]["score"] == 4.0
    query = f"run={slug}&run={slug}&run=none"
    status, _, page = ask(server, f"/compare?{query}")
    version = json.loads(ask(server, f"/compare/state?{query}")[2])["version"]
    assert status == 200
    assert f'data-version="{version}"' in page


def test_every_answer_forbids_what_it_can(serve, whole_run):
    """Pages, news and refusals come with a strict policy, are not stored, not framed and not guessed at."""
    whole_run()
    server = serve()
    answers = [
        ask(server),
        ask(server, "/state"),
        ask(server, "/none"),
        ask(server, "/", "POST"),
        ask(server, "/", Host="x"),
    ]
    assert [status for status, _, _ in answers] == [200, 200, 404, 405, 421]
    for _, headers, _ in answers:
        policy = headers["Content-Security-Policy"]
        assert "default-src 'none'" in policy
        assert "frame-ancestors 'none'" in policy
        assert "unsafe" not in policy
        assert headers["X-Content-Type-Options"] == "nosniff"
        assert headers["Cache-Control"] == "no-store"
        assert headers["X-Frame-Options"] == "DENY"
        assert "Python" not in headers["Server"]
        assert "Access-Control-Allow-Origin" not in headers


def test_it_listens_on_this_machine_only(serve):
    """The socket is bound to 127.0.0.1, and no other address of this machine answers."""
    server = serve()
    assert server.socket.getsockname()[0] == "127.0.0.1"
    with pytest.raises(OSError, match=r"refused|unreachable|timed out"):
        socket.create_connection(("127.0.0.2", server.port), timeout=5)


@pytest.mark.parametrize(
    "headers",
    [
        {"Host": "evil.example"},
        {"Host": "evil.example:80"},
        {"Host": "127.0.0.1"},
        {"Origin": "http://evil.example"},
        {"Sec_Fetch_Site": "cross-site"},
    ],
)
def test_other_sites_get_nothing(serve, whole_run, headers):
    """A rebound name, another site's script and another site's link are refused without a word of the runs."""
    run, server = whole_run(), serve()
    for target in ("/", "/state", "/compare"):
        status, _, text = ask(server, target, **headers)
        assert status in (403, 421)
        assert run.path.name not in text


@pytest.mark.parametrize("method", ["POST", "PUT", "DELETE", "OPTIONS", "TRACE", "CONNECT", "PATCH", "get", "__init__"])
def test_only_get_and_head(serve, method):
    """Other methods are refused, with or without a body, and what may be used is named."""
    server = serve()
    for body in (None, b"x" * 30_000):
        status, headers, _ = ask(server, "/state", method, body)
        assert (status, headers["Allow"]) == (405, "GET, HEAD")


def test_head_has_no_body(serve, whole_run):
    """HEAD gives the headers of GET alone."""
    whole_run()
    server = serve()
    status, headers, text = ask(server, "/", "HEAD")
    assert (status, text) == (200, "")
    assert int(headers["Content-Length"]) > 1000


@pytest.mark.parametrize(
    "target",
    [
        "/../secret",
        "/%2e%2e/secret",
        "/..%2fsecret",
        "/run/../secret",
        "/run/%2e%2e%2fsecret",
        "/run/..%2f..%2f..%2fetc%2fpasswd",
        "/run/....//secret",
        "/run/%252e%252e%252fsecret",
        "/run/..\\secret",
        "/run/%c0%ae%c0%ae%c0%afsecret",
        "/run//etc/passwd",
        "/run/secret%00",
        "/run/{run}/config.toml",
        "/run/{run}/../../secret",
        "/run/{run}/candidates/",
        "/run/{run}/events.jsonl",
        "/run/{name}",
        "/run/",
        "/run",
        "/runs/",
        "/static/live.js",
        "/compare/../secret",
        "//127.0.0.1/secret",
    ],
)
def test_no_path_leads_to_a_file(serve, whole_run, tmp_path, target):
    """Whatever is asked for in whatever encoding, no file and no folder is shown."""
    run, server = whole_run(), serve()
    (tmp_path / "secret").write_text(SECRET)
    (run.path / "secret").write_text(SECRET)
    (state,) = Library([tmp_path / "runs"]).states()
    status, _, text = ask(server, target.format(run=state.slug, name=run.path.name))
    assert status in (400, 404)
    assert SECRET not in text
    assert "root:" not in text


@pytest.mark.parametrize(
    "query", ["run=" + "x&run=" * 100, "%", "run=%ff%fe", "run=..%2f..", "run", "x=" + "y" * 60_000]
)
def test_odd_queries(serve, whole_run, query):
    """A comparison of nothing that exists is a page or a refusal."""
    whole_run()
    status, _, text = ask(serve(), f"/compare?{query}")
    assert status in (200, 400)
    assert "Traceback" not in text


@pytest.mark.parametrize(
    "data",
    [
        b"\r\n\r\n",
        b"GET\r\n\r\n",
        b"GET /\r\n\r\n",
        b"GET / HTTP/9.9\r\n\r\n",
        b"GET / HTTP/1.1\r\n\r\n",
        b"\x16\x03\x01\x00\xa5\x01\x00\x00\xa1\n\r\n",
        b"GET /" + b"a" * 70_000 + b" HTTP/1.1\r\n\r\n",
        b"GET / HTTP/1.1\r\n" + b"A: b\r\n" * 500 + b"\r\n",
        b"GET / HTTP/1.1\r\nHost: x\r\nA: " + b"b" * 70_000 + b"\r\n\r\n",
    ],
)
def test_what_is_no_request_does_no_harm(serve, whole_run, data):
    """Broken and oversized requests are refused or cut off, without a word of the runs, and the server goes on."""
    run, server = whole_run(), serve()
    try:
        received = raw(server, data)
    except ConnectionError:
        received = b""
    assert b" 200 " not in received[:40]
    assert run.path.name.encode() not in received
    assert ask(server)[0] == 200


def test_slow_clients_do_not_exhaust_it(serve, whole_run, monkeypatch):
    """With every place taken by silent clients others are turned away; the silent ones are cut off, and all is well."""
    whole_run()
    monkeypatch.setattr(server_module, "DEADLINE_S", float("inf"))
    server = serve()
    before = threading.active_count()
    silent = [socket.create_connection(("127.0.0.1", server.port), timeout=60) for _ in range(CONNECTIONS)]
    silent[0].sendall(b"GET / HTTP/1.1\r\nHost: ")
    assert raw(server, b"").startswith(b"HTTP/1.0 503")
    assert threading.active_count() - before <= CONNECTIONS
    monkeypatch.setattr(server_module, "DEADLINE_S", 0.0)
    assert [connection.recv(1) for connection in silent] == [b""] * CONNECTIONS
    monkeypatch.setattr(server_module, "DEADLINE_S", 30.0)
    for connection in silent:
        connection.close()
    assert ask(server)[0] == 200


def test_closing_leaves_nothing_behind(whole_run, tmp_path):
    """With clients in the middle of their requests the server closes at once, and no thread is left."""
    before = set(threading.enumerate())
    server = open_server(Library([tmp_path]), 0)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    clients = [socket.create_connection(("127.0.0.1", server.port), timeout=60) for _ in range(5)]
    assert ask(server)[0] == 200
    server.shutdown()
    server.server_close()
    thread.join()
    assert set(threading.enumerate()) == before
    for client in clients:
        client.close()


def test_a_port_in_use(monkeypatch):
    """The default port gives way to the next free one; a port that was asked for is refused in one line."""
    with open_server(Library([]), 0) as first:
        monkeypatch.setattr(server_module, "PORT", first.port)
        with open_server(Library([]), None) as second:
            assert second.port > first.port
        with pytest.raises(ConfigError, match=rf"got {first.port}: it is in use; name another one"):
            open_server(Library([]), first.port)
        monkeypatch.setattr(server_module, "_TRIED", 1)
        with pytest.raises(ConfigError, match="found 1 in use"):
            open_server(Library([]), None)

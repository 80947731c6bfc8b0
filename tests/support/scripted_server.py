"""An OpenAI-compatible HTTP server on this machine, whose behaviour each test scripts."""

import json
import socket
import struct
import threading
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

from coevo.engines.endpoint.patience import Patience
from coevo.interfaces import Request, Sampling

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


def listing(*names):
    """The reply to GET /v1/models of a server with these models."""
    return Reply({"object": "list", "data": [{"id": name} for name in names]})

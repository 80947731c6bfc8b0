"""How an OpenAI-compatible server wants to be asked, as far as its refusals have told. Pure, no network."""

import re
from dataclasses import dataclass, replace
from typing import Any, Literal

from coevo.engines.conversation import plain_roles
from coevo.engines.endpoint.refusals import Refusal
from coevo.interfaces import Message, Request

Route = Literal["chat", "completions"]

_NO_CHAT = re.compile(r"chat[ _]template|not a chat model", re.IGNORECASE)
_NO_SYSTEM = re.compile(
    r"system role|role[^.]{0,40}not support[^.]{0,20}system|roles must alternate|only user and assistant roles",
    re.IGNORECASE,
)
_UNSUPPORTED = re.compile(r"unsupported|not support", re.IGNORECASE)
_WITHOUT = {
    "seed": "takes no seed, so the same request may be answered differently",
    "top_p": "takes no top_p, its own is used",
    "temperature": "does not take this temperature, its own is used",
    "top_k": "takes no top_k, every token stays possible",
    "presence_penalty": "does not take this presence_penalty, none is used",
    "stop": "does not take these stop texts, answers are cut there once they have come",
}


@dataclass(frozen=True, slots=True)
class Dialect:
    """What a server takes.

    Attributes:
        routes: What may be tried; the first is in use. "chat" is /chat/completions, with the conversation as it is or
            the prompt as one user message, which almost every server has; "completions" is /completions with the bare
            prompt, for models without a chat template.
        limit: Its name for the longest answer; models that reason want "max_completion_tokens".
        omitted: Parameters it does not take.
        has_plain_roles: Whether conversations are put as user and assistant in turns, for templates without a system.
    """

    routes: tuple[Route, ...] = ("chat", "completions")
    limit: Literal["max_tokens", "max_completion_tokens"] = "max_tokens"
    omitted: frozenset[str] = frozenset()
    has_plain_roles: bool = False

    @property
    def proven(self) -> "Dialect":
        """The same once its route has answered: a refusal is no reason to try another any more."""
        return replace(self, routes=self.routes[:1])

    @property
    def route(self) -> Route:
        """Where requests go."""
        return self.routes[0]

    def prompt(self, request: Request) -> dict[str, Any]:
        """The prompt in the body of a request."""
        if self.route == "chat":
            messages = request.messages or (Message("user", request.text),)
            messages = plain_roles(messages) if self.has_plain_roles else messages
            return {"messages": [{"role": message.role, "content": message.content} for message in messages]}
        return {"prompt": request.text}

    def prompt_bytes(self, request: Request) -> int:
        """Bytes of the words in the body of a request: no tokeniser over bytes makes more tokens of them."""
        body = self.prompt(request)
        texts = [body["prompt"]] if "prompt" in body else [text for each in body["messages"] for text in each.values()]
        return sum(len(text.encode("utf-8", "replace")) for text in texts)

    def parameters(self, request: Request) -> dict[str, Any]:
        """Everything in the body of a request but the model and the prompt.

        What not every server takes (`top_k` is no part of OpenAI's interface) is sent only where it is asked for.
        """
        sampling = request.sampling
        drawn: dict[str, Any] = {
            "temperature": sampling.temperature,
            "top_p": sampling.top_p,
            "seed": reduced_seed(request.seed),
        }
        if sampling.top_k:
            drawn["top_k"] = sampling.top_k
        if sampling.presence_penalty:
            drawn["presence_penalty"] = sampling.presence_penalty
        if sampling.stop:
            drawn["stop"] = list(sampling.stop)
        kept = {name: value for name, value in drawn.items() if name not in self.omitted}
        return {**kept, self.limit: sampling.max_tokens, "stream": False}

    def after(self, refusal: Refusal) -> tuple["Dialect", str] | None:
        """The dialect that a refusal asks for, and what changes in words; None if it asks for nothing one could do.

        Every change strikes a route, a name or a parameter for good, so there are at most nine.
        """
        if not self.has_plain_roles and refusal.status in (400, 422, 500) and _NO_SYSTEM.search(refusal.words):
            words = "has no system role, or wants user and assistant in turns: its words are put as the user's"
            return replace(self, has_plain_roles=True), words
        if len(self.routes) > 1 and (refusal.status in (404, 405, 501) or _NO_CHAT.search(refusal.words)):
            return replace(self, routes=self.routes[1:]), f"has no chat for this model, /{self.routes[1]} is tried"
        if refusal.status not in (400, 422) and not _UNSUPPORTED.search(refusal.words):
            return None
        if self.limit == "max_tokens" and self.route == "chat" and refusal.names("max_tokens"):
            return replace(self, limit="max_completion_tokens"), "wants max_completion_tokens in place of max_tokens"
        for name, change in _WITHOUT.items():
            if name not in self.omitted and refusal.names(name):
                return replace(self, omitted=self.omitted | {name}), change
        return None


def reduced_seed(seed: int) -> int:
    """A 64-bit sampling seed in [0, 2³¹), the range that every server takes; folded, so that every bit counts."""
    return (seed ^ seed >> 31 ^ seed >> 62) & 0x7FFFFFFF

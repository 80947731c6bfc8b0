"""Requests to one OpenAI-compatible server: asked, asked again while that can help, counted.

A request ends in one `Completion` or in one `ModelError` of one line. What is learned about the server on the way, that
it takes no seed for instance, holds for every later request.
"""

import asyncio
import logging
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace

from coevo.engines.endpoint.answers import Usage, estimated_usage, read_answer, read_document, read_usage
from coevo.engines.endpoint.dialect import Dialect, Route
from coevo.engines.endpoint.patience import Patience, Pauses
from coevo.engines.endpoint.refusals import Refusal, RefusedError, UnansweredError
from coevo.engines.endpoint.spending import Account, Call, CapReachedError, Tokens
from coevo.engines.endpoint.transport import Server, Transport
from coevo.engines.stopping import stopped
from coevo.errors import ModelError
from coevo.interfaces import Completion, Request

_log = logging.getLogger(__name__)

_LIST_S = 60.0
_NO_CREDIT = "the account has no credit"
_KEY = "set COEVO_API_KEY (or OPENAI_API_KEY) to a key that this server accepts"
_NAME = "check the name of the model and the address, which for most servers ends in /v1"
_ADVICE = {401: _KEY, 402: _NO_CREDIT, 403: _KEY, 404: _NAME, 405: _NAME, 429: _NO_CREDIT}


@dataclass(frozen=True, slots=True)
class Meter:
    """What a server has been asked and has answered.

    Attributes:
        requests: Requests begun; together with `retries`, every message sent.
        retries: Messages sent because the one before had failed or had been put in a way the server does not take.
        prompt_tokens: Tokens read, as the server counts them, also for answers that could not be used.
        cached_tokens: Those of them that it had in a cache.
        completion_tokens: Tokens written, reasoning included.
        estimated: Answers whose tokens are estimated, because the server did not count them.
    """

    requests: int = 0
    retries: int = 0
    prompt_tokens: int = 0
    cached_tokens: int = 0
    completion_tokens: int = 0
    estimated: int = 0


class EndpointClient:
    """Asks one server. Made anywhere, used inside one event loop.

    Args:
        server: Whom to ask.
        routes: What may be tried, best first.
        patience: How long it is waited for.

    Attributes:
        meter: What has been asked so far; replaced, never changed.
        account: Pays for every message, or stands in its way; None where nobody keeps accounts.

    Raises:
        ExtraMissingError: If the package `openai` is not installed.
    """

    def __init__(self, server: Server, routes: tuple[Route, ...], patience: Patience) -> None:
        self.meter = Meter()
        self.account: Account | None = None
        self._freed = asyncio.Event()
        self._server = server
        self._patience = patience
        self._transport = Transport(server)
        self._dialect = Dialect(routes)
        self._said: set[str] = set()

    async def list_models(self) -> list[str] | None:
        """The names of the models the server lists; None if it has no such list. Asked once.

        Raises:
            ModelError: If it cannot be reached, refuses, or does not answer as such a server does.
        """
        url = self._server.url("models")
        try:
            document = read_document(await self._transport.models(min(_LIST_S, self._patience.attempt_s)))
            return [str(entry["id"]) for entry in document["data"]]
        except RefusedError as error:
            if error.refusal.status in (404, 405, 501):
                return None
            raise _model_error("a list of models", url, error.refusal) from None
        except UnansweredError as error:
            raise ModelError(f"expected a list of models at {url}, got {error}; is the server up? {_NAME}") from None
        except (KeyError, TypeError):
            raise ModelError(f"expected a list of models at {url}, got JSON of another form; {_NAME}") from None

    async def ask(self, request: Request, model: str, halt: asyncio.Event) -> Completion:
        """Ask until there is an answer.

        A prompt that is too long for the model or that the server filters counts as an answer that was cut off before
        its first token: the request was made, and others are answered all the same.

        Args:
            request: What to ask; its seed also decides the jitter of the pauses.
            model: Name of the model.
            halt: Once set, nothing is asked again.

        Raises:
            ModelError: If the server refuses, or the patience is at an end.
            CapReachedError: If the next message might exceed a cap: it has not been sent.
        """
        pauses = Pauses(self._patience, request.seed, halt)
        self._count(requests=1)
        while True:
            dialect = self._dialect
            url = self._server.url(dialect.route)
            try:
                call = await self._admitted(request, dialect, halt)
                with self._billed(call, dialect) as bill:
                    completion = await self._attempt(request, model, pauses.attempt_s, bill)
                self._dialect = self._dialect.proven if self._dialect.route == dialect.route else self._dialect
                return completion
            except RefusedError as error:
                if error.refusal.is_about_one_prompt:
                    self._say(f"refuses prompts, which count as answers cut off at once: {error}", "prompt")
                    return Completion(request.id, "", "length", 0)
                if not self._adapt(dialect, error.refusal):
                    if not error.refusal.is_transient:
                        raise _model_error("a completion", url, error.refusal) from None
                    await pauses.wait(url, str(error), error.retry_after_s)
            except UnansweredError as error:
                await pauses.wait(url, str(error), None)
            self._count(retries=1)

    async def close(self) -> None:
        """Close the connections."""
        await self._transport.close()

    async def _admitted(self, request: Request, dialect: Dialect, halt: asyncio.Event) -> Call | None:
        """Wait until the worst case of a message fits under the caps; None where nobody keeps accounts."""
        if self.account is None:
            return None
        foreseen = Tokens(dialect.prompt_bytes(request), request.sampling.max_tokens)
        while isinstance(call := self.account.begin(request.id, foreseen), str):
            if self.account.is_idle or halt.is_set():  # else what others turn out not to need may be enough
                raise CapReachedError(call)
            self._freed.clear()
            await self._freed.wait()
        return call

    @contextmanager
    def _billed(self, call: Call | None, dialect: Dialect) -> Iterator["_Bill"]:
        """Settle a call, however it ends."""
        bill, was_sent = _Bill(dialect), True
        try:
            yield bill
        except RefusedError as error:
            was_sent = error.refusal.is_from_between
            raise
        except UnansweredError as error:
            was_sent = error.was_sent
            raise
        finally:
            if call is not None:
                call.end(bill.tokens if was_sent else bill.tokens or Tokens(), is_guess=bill.is_guess)
                self._freed.set()

    async def _attempt(self, request: Request, model: str, limit_s: float, bill: "_Bill") -> Completion:
        dialect = bill.dialect
        body = {"model": model, **dialect.prompt(request), **dialect.parameters(request)}
        document = read_document(await self._transport.complete(dialect.route, body, limit_s))
        usage = read_usage(document)
        if usage is not None:  # what the server has counted is paid for, whatever the answer is good for
            bill.usage = usage
            self._count(prompt_tokens=usage.prompt, cached_tokens=usage.cached, completion_tokens=usage.completion)
        answer = read_answer(document)
        if usage is None:
            bill.usage = usage = estimated_usage(request.text, document)
            self._count(prompt_tokens=usage.prompt, completion_tokens=usage.completion, estimated=1)
            self._say(
                "does not count tokens: they are estimated, one per four bytes, and caps count each call at its worst"
            )
        if answer.reason not in ("stop", "length"):
            self._say(f"ends an answer for the reason {answer.reason!r}: only after 'stop' it counts as whole")
        completion = Completion(request.id, answer.text, answer.finish, usage.completion)
        # A server may not take stop texts, or leave one in the answer.
        return stopped(completion, request.sampling.stop)

    def _adapt(self, dialect: Dialect, refusal: Refusal) -> bool:
        """Change how the server is asked, if the refusal of a request put in `dialect` says how; whether it does."""
        change = dialect.after(refusal)
        if change is None:
            return False
        if self._dialect == dialect:  # else another request has learned something meanwhile: that is tried first
            self._dialect, words = change
            self._say(words)
        return True

    def _count(self, **more: int) -> None:
        self.meter = replace(self.meter, **{name: getattr(self.meter, name) + n for name, n in more.items()})

    def _say(self, words: str, matter: str = "") -> None:
        """Warn, once for the life of this client about each matter."""
        if (matter or words) not in self._said:
            self._said.add(matter or words)
            _log.warning("%s %s", self._server.base_url, words)


@dataclass(slots=True)
class _Bill:
    """What one message, put in a dialect, came to as far as is known."""

    dialect: Dialect
    usage: Usage | None = None

    @property
    def tokens(self) -> Tokens | None:
        """Tokens read and written."""
        return None if self.usage is None else Tokens(self.usage.prompt, self.usage.completion)

    @property
    def is_guess(self) -> bool:
        """Whether they are estimated."""
        return self.usage is not None and self.usage.is_estimate


def _model_error(wanted: str, url: str, refusal: Refusal) -> ModelError:
    advice = _ADVICE.get(refusal.status, "see the server's log")
    return ModelError(f"expected {wanted} from {url}, got status {refusal.status}: {refusal.message}; {advice}")

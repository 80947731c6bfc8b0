"""The engine `endpoint`: any OpenAI-compatible server, local or hosted; its weights stay as they are.

Prompts go out as one user message of a chat, conversations as they are; to a server or model without chat, both as bare
text. A key comes from the environment (`COEVO_API_KEY`, or else `OPENAI_API_KEY`) and goes nowhere but to the server.
Seeds are sent, reduced to 31 bits, but few servers promise the same answer for the same seed: what a resumed run need
not ask is in its log.
"""

import asyncio
from collections.abc import Iterator, Sequence
from pathlib import Path
from queue import SimpleQueue

from coevo.engines.endpoint.address import api_key, parse_address
from coevo.engines.endpoint.client import EndpointClient, Meter
from coevo.engines.endpoint.dialect import Route
from coevo.engines.endpoint.loop import BackgroundLoop
from coevo.engines.endpoint.patience import Patience
from coevo.engines.endpoint.spending import Account
from coevo.engines.endpoint.transport import Server
from coevo.errors import ConfigError, ModelError, escaped
from coevo.interfaces import Completion, Request, Update

IN_FLIGHT = 16
"""Requests under way at once, unless told otherwise."""

_LONGEST_COMPLETE_LIST = 20
_MOST_NAMES = 8

_Arrival = Completion | BaseException | None
"""A completion, the failure of a request, or the end."""


class EndpointEngine:
    """See `coevo.interfaces.Engine`; `open_endpoint` makes one.

    Args:
        client: Asks the server.
        loop: Where the client is used.
        model: Name of the model.
        in_flight: Most requests under way at once.
    """

    def __init__(self, client: EndpointClient, loop: BackgroundLoop, model: str, in_flight: int) -> None:
        if in_flight < 1:
            raise ValueError(f"in_flight must be at least 1, got {in_flight}")
        self.model = model
        self._client = client
        self._loop = loop
        self._in_flight = in_flight

    @property
    def meter(self) -> Meter:
        """What the server has been asked and has answered so far."""
        return self._client.meter

    def charge_to(self, account: Account) -> None:
        """Have every later message paid by an account, and none sent that it does not admit."""
        self._client.account = account

    def generate(self, requests: Sequence[Request]) -> Iterator[Completion]:
        """See `Engine`. Completions come as the server gives them; an iterator that is dropped breaks off the rest.

        When a request fails for good, nothing more is sent, but answers that are under way (and paid for) still come.

        Raises:
            ConfigError: If a request names a member.
            ModelError: When a request has failed for good, after the last answer; it says how many are left.
            CapReachedError: When a message might have exceeded a cap, after the last answer.
        """
        if self._loop.is_closed:
            raise RuntimeError("the engine is closed")
        if len({request.id for request in requests}) < len(requests):
            raise ValueError("every request needs an id of its own, got one twice")
        if any(request.member is not None for request in requests):
            raise _frozen("answer as a perturbed model")
        return self._answers(tuple(requests))

    def commit(self, update: Update) -> int:
        """Refused.

        Raises:
            ConfigError: Always.
        """
        raise _frozen("move")

    def fingerprint(self) -> int:
        """0: there are no weights here."""
        return 0

    def export(self, folder: Path) -> None:
        """Refused.

        Raises:
            ConfigError: Always.
        """
        raise _frozen("be exported")

    def close(self) -> None:
        """See `Engine`; what is under way is broken off."""
        self._loop.close(self._client.close)

    def __enter__(self) -> "EndpointEngine":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _answers(self, requests: Sequence[Request]) -> Iterator[Completion]:
        arrivals: SimpleQueue[_Arrival] = SimpleQueue()
        asking = self._loop.start(self._ask_all(requests, arrivals))
        asking.add_done_callback(lambda _: arrivals.put(None))
        failure: BaseException | None = None
        answered = 0
        try:
            while (arrival := arrivals.get()) is not None:
                if isinstance(arrival, Completion):
                    answered += 1
                    yield arrival
                else:
                    failure = failure or arrival
        finally:
            asking.cancel()
        if isinstance(failure, ModelError):
            left = f"{len(requests) - answered} of {len(requests)} requests are left unanswered"
            raise ModelError(f"{failure}; {left}, the run can be resumed") from None
        if failure is not None:
            raise failure
        if answered < len(requests):
            raise RuntimeError("the engine was closed before every request was answered")

    async def _ask_all(self, requests: Sequence[Request], arrivals: "SimpleQueue[_Arrival]") -> None:
        """Put one arrival per request that was begun, in the order in which they end."""
        halt = asyncio.Event()
        waiting = iter(requests)

        async def ask_in_turn() -> None:
            for request in waiting:
                if halt.is_set():
                    return
                try:
                    arrivals.put(await self._client.ask(request, self.model, halt))
                except Exception as error:  # raised where the answers are awaited
                    halt.set()
                    arrivals.put(error)

        await asyncio.gather(*(ask_in_turn() for _ in range(min(self._in_flight, len(requests)))))


def open_endpoint(
    model: str,
    *,
    in_flight: int = IN_FLIGHT,
    routes: tuple[Route, ...] = ("chat", "completions"),
    patience: Patience | None = None,
) -> EndpointEngine:
    """An engine on a server that has been reached and has the model, before anything is charged.

    Args:
        model: `http://host:port/v1#model-name`; without a name, the only model that the server lists.
        in_flight: Most requests under way at once.
        routes: What may be tried, best first.
        patience: How long the server is waited for, and how often it is asked again.

    Raises:
        ConfigError: If the address cannot be used, or the model has to be named.
        ModelError: If the server cannot be reached, refuses, or has no such model.
        ExtraMissingError: If the package `openai` is not installed.
    """
    base_url, name = parse_address(model)
    client = EndpointClient(Server(base_url, api_key()), routes, patience or Patience())
    loop = BackgroundLoop()
    try:
        found = _choose(base_url, name, loop.run(client.list_models()))
        return EndpointEngine(client, loop, found, in_flight)
    except BaseException:
        loop.close(client.close)
        raise


def _choose(base_url: str, name: str | None, listed: Sequence[str] | None) -> str:
    """The model that is meant.

    A short list is complete, and a name that is not on it a mistake. A catalogue may leave out deployments and
    variants, so there the first request shows. What follows a colon is a tag that servers add or take.
    """
    names = escaped(", ".join((listed or [])[:_MOST_NAMES])) + (", …" if len(listed or []) > _MOST_NAMES else "")
    if name is None:
        if listed is not None and len(listed) == 1:
            return listed[0]
        has = (
            f"{len(listed)} models: {names}"
            if listed
            else "no list of models; most servers want an address that ends in /v1"
        )
        raise ConfigError(f"expected a model name, as in --model {base_url}#name, got none; the server has {has}")
    is_listed = not listed or name.partition(":")[0] in {entry.partition(":")[0] for entry in listed}
    if not is_listed and len(listed or []) <= _LONGEST_COMPLETE_LIST:
        raise ModelError(f"expected a model of the server {base_url}, got {name!r}; it has: {names}")
    return name


def _frozen(what: str) -> ConfigError:
    return ConfigError(f"the weights behind an endpoint cannot {what}; use --es off, or --engine torch or vllm")

"""Single messages to an OpenAI-compatible server, through the package `openai`; nothing is sent twice here.

Whatever a server or the network does ends in bytes, in `RefusedError` or in `UnansweredError`. The API key is taken out
of everything that comes back, so that no message or log can repeat it.
"""

import asyncio
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from coevo.engines.endpoint.dialect import Route
from coevo.engines.endpoint.patience import retry_after_s
from coevo.engines.endpoint.refusals import RefusedError, UnansweredError, one_line, read_refusal
from coevo.errors import ConfigError, ExtraMissingError

_CONNECT_S = 10.0
_SHORTEST_SECRET = 8


@dataclass(frozen=True, slots=True)
class Server:
    """Which server is asked, with which key (empty for none)."""

    base_url: str
    key: str = field(repr=False)

    def url(self, route: Route | str) -> str:
        """The address that a route's requests go to."""
        return f"{self.base_url}/{'chat/completions' if route == 'chat' else route}"


class Transport:
    """Connections to one server. Made anywhere, used inside one event loop.

    Raises:
        ExtraMissingError: If the package `openai` is not installed.
        ConfigError: If the environment names a proxy that cannot be used.
    """

    def __init__(self, server: Server) -> None:
        try:
            import openai
        except ModuleNotFoundError as error:
            raise ExtraMissingError("openai", "endpoint", "asking a server for completions") from error
        self._openai: Any = openai
        self._key = server.key.encode()
        try:
            self._client: Any = openai.AsyncOpenAI(
                base_url=server.base_url,
                api_key=server.key or "none",  # the package insists on one; a server without keys does not look at it
                max_retries=0,
                timeout=openai.Timeout(None, connect=_CONNECT_S),
            )
        except (ImportError, ValueError) as error:  # the text may hold a proxy's password
            raise ConfigError(
                f"expected a proxy that can be used for {server.base_url}, got {type(error).__name__}; "
                "check HTTP_PROXY, HTTPS_PROXY and ALL_PROXY, or name the host in NO_PROXY"
            ) from None

    async def models(self, limit_s: float) -> bytes:
        """The response to GET /models."""
        return await self._send(self._client.models.with_raw_response.list, {}, limit_s)

    async def complete(self, route: Route, body: Mapping[str, Any], limit_s: float) -> bytes:
        """The response to one request for a completion.

        Args:
            route: Where it goes.
            body: Its JSON.
            limit_s: Longest time until the response is there as a whole; a server that trickles gains none.

        Raises:
            RefusedError: For every status but 200.
            UnansweredError: If no response comes, or only a part of one.
        """
        named = ("model", "messages") if route == "chat" else ("model", "prompt")
        rest = {name: value for name, value in body.items() if name not in named}
        arguments = {name: body[name] for name in named} | {"extra_body": rest}
        routes = self._client.chat.completions if route == "chat" else self._client.completions
        return await self._send(routes.with_raw_response.create, arguments, limit_s)

    async def close(self) -> None:
        """Close the connections; what is under way is broken off."""
        await self._client.close()

    async def _send(self, method: Callable[..., Any], arguments: Mapping[str, Any], limit_s: float) -> bytes:
        try:
            async with asyncio.timeout(limit_s):
                response = await method(**arguments)
            return self._without_key(response.http_response.content)
        except self._openai.APIStatusError as error:
            refusal = read_refusal(error.response.status_code, self._without_key(error.response.content))
            raise RefusedError(refusal, retry_after_s(error.response.headers)) from None
        except (TimeoutError, self._openai.APITimeoutError) as error:
            is_connecting = not isinstance(error, TimeoutError)
            seconds = _CONNECT_S if is_connecting else limit_s
            words = f"no {'connection' if is_connecting else 'answer'} in {seconds:.3g} s"
            raise UnansweredError(words, was_sent=not is_connecting) from None
        except Exception as error:  # the libraries below let various errors of sockets and protocols through
            reason = one_line(str(error.__cause__ or error)) or type(error).__name__
            was_sent = type(error.__cause__).__name__ != "ConnectError"
            raise UnansweredError(f"no answer ({reason})", was_sent=was_sent) from None

    def _without_key(self, payload: bytes) -> bytes:
        if len(self._key) < _SHORTEST_SECRET:
            return payload
        return payload.replace(self._key, b"***").replace(self._key.replace(b"/", rb"\/"), b"***")

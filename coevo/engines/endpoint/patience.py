"""How long a server is waited for, and how often it is asked again."""

import asyncio
import logging
import math
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime

import numpy as np

from coevo.errors import ModelError

_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Patience:
    """Bounds of one request. With these defaults a server may be away for four minutes.

    Attributes:
        attempts: Failures of a kind that may pass, before the request fails for good.
        first_wait_s: Longest wait after the first failure; it doubles with each further one.
        longest_wait_s: Where the doubling ends. A server may ask for more, up to `total_s`.
        attempt_s: Longest time until an answer is there as a whole.
        total_s: Longest time for all attempts and waits.
    """

    attempts: int = 10
    first_wait_s: float = 1.0
    longest_wait_s: float = 60.0
    attempt_s: float = 600.0
    total_s: float = 3600.0

    def wait_s(self, failures: int, asked_for_s: float | None, rng: np.random.Generator) -> float:
        """Seconds until the next attempt: exponential, with jitter, never before the server's own Retry-After.

        Args:
            failures: Failed attempts so far, at least 1.
            asked_for_s: What the server asks for, or None.
            rng: The request's own generator: requests that fail together do not come back together.
        """
        backoff = min(self.longest_wait_s, self.first_wait_s * 2.0 ** min(failures - 1, 60)) * rng.uniform(0.5, 1.0)
        if asked_for_s is None:
            return float(backoff)
        return float(max(backoff, asked_for_s + self.first_wait_s * rng.random()))


def retry_after_s(headers: Mapping[str, str], now: datetime | None = None) -> float | None:
    """What a response's Retry-After asks for, in seconds: a number of them, or a date; None where it does not say.

    Args:
        headers: The response's headers, names in any case if the mapping allows.
        now: What a date is compared with; the present if None.
    """
    value = headers.get("retry-after")
    if value is None:
        return None
    try:
        seconds = float(value)
    except ValueError:
        try:
            until = parsedate_to_datetime(value)
            until = until if until.tzinfo else until.replace(tzinfo=UTC)
            seconds = (until - (now or datetime.now(UTC))).total_seconds()
        except (ValueError, OverflowError):
            return None
    return None if math.isnan(seconds) else max(0.0, seconds)


class Pauses:
    """The pauses between the attempts at one request. Made and used inside an event loop.

    Args:
        patience: Bounds of the request.
        seed: Of the jitter.
        halt: Once set, nothing is attempted again: pauses end, and the next failure is final.
    """

    def __init__(self, patience: Patience, seed: int, halt: asyncio.Event) -> None:
        self._patience = patience
        self._rng = np.random.default_rng(seed)
        self._halt = halt
        self._failures = 0
        self._deadline = asyncio.get_running_loop().time() + patience.total_s

    @property
    def attempt_s(self) -> float:
        """Seconds the next attempt may take."""
        left = self._deadline - asyncio.get_running_loop().time()
        return min(self._patience.attempt_s, max(left, 0.0))

    async def wait(self, url: str, reason: str, asked_for_s: float | None) -> None:
        """Wait until the next attempt is due.

        Args:
            url: Who failed to answer.
            reason: How.
            asked_for_s: How long the server wants to be left alone, or None.

        Raises:
            ModelError: If there is to be none.
        """
        self._failures += 1
        wait_s = self._patience.wait_s(self._failures, asked_for_s, self._rng)
        has_time = asyncio.get_running_loop().time() + wait_s < self._deadline
        if self._failures < self._patience.attempts and has_time and not self._halt.is_set():
            _log.info("%s: %s; it is asked again in %.1f s", url, reason, wait_s)
            try:
                await asyncio.wait_for(self._halt.wait(), wait_s)
            except TimeoutError:
                return
        asked_for = "" if asked_for_s is None else f", which wants to be left alone for {asked_for_s:.0f} s"
        raise ModelError(f"expected an answer from {url}{asked_for}, got {reason} (attempt {self._failures})")

import asyncio
from datetime import UTC, datetime

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from coevo.engines.endpoint.patience import Patience, Pauses, retry_after_s
from coevo.errors import ModelError

NOW = datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC)


@given(st.integers(1, 5000), st.none() | st.floats(0, 1e6), st.integers(0, 2**64 - 1))
def test_waits_grow_up_to_a_bound_and_respect_the_server(failures, asked_for, seed):
    """Between half the doubled wait and all of it, but never before the server wants to be asked again."""
    patience = Patience(first_wait_s=1.0, longest_wait_s=60.0)
    wait = patience.wait_s(failures, asked_for, np.random.default_rng(seed))
    top = min(60.0, 2.0 ** min(failures - 1, 10))
    assert wait >= max(top / 2, asked_for or 0.0)
    assert wait <= max(top, (asked_for or 0.0) + 1.0)


def test_the_jitter_is_the_requests_own():
    """The same seed waits equally long, another does not: what failed together does not return together."""
    waits = [Patience().wait_s(3, None, np.random.default_rng(seed)) for seed in (1, 1, 2)]
    assert waits[0] == waits[1] != waits[2]


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        ("7", 7.0),
        ("0.5", 0.5),
        ("-3", 0.0),
        ("Fri, 02 Jan 2026 03:05:05 GMT", 60.0),
        ("Fri, 02 Jan 2026 03:05:05 -0000", 60.0),
        ("Thu, 01 Jan 2026 03:05:05 GMT", 0.0),
        ("soon", None),
        ("Mon, 01 Jan 999999999999999999999 00:00:00 GMT", None),
        ("Mon, 01 Jan 2026 00:00:00 +99999999999", None),
        ("nan", None),
        ("", None),
    ],
)
def test_forms_of_retry_after(value, expected):
    """Seconds or a date; what is neither is as if the server had not said it."""
    assert retry_after_s({"retry-after": value}, NOW) == expected
    assert retry_after_s({}, NOW) is None


def test_a_wait_beyond_the_deadline_is_not_begun():
    """A server that wants to be left alone for a day is given up at once, and the message says so."""

    async def wait():
        pauses = Pauses(Patience(total_s=60.0), 1, asyncio.Event())
        await pauses.wait("http://host/v1", "status 429: slow down", 86400.0)

    with pytest.raises(ModelError, match=r"left alone for 86400 s, got status 429: slow down"):
        asyncio.run(wait())


def test_a_pause_ends_when_all_is_lost():
    """Once another request has failed for good, one that is waiting for its turn gives up instead of waiting on."""

    async def wait():
        halt = asyncio.Event()
        waiting = asyncio.create_task(
            Pauses(Patience(first_wait_s=3000.0, longest_wait_s=3000.0), 1, halt).wait("u", "r", None)
        )
        await asyncio.sleep(0)
        halt.set()
        await waiting

    with pytest.raises(ModelError, match="expected an answer from u, got r"):
        asyncio.run(wait())

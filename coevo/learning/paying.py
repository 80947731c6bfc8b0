"""What the servers of a run are paid: accounts for its engines, and what its events say was spent."""

from collections.abc import Iterable
from typing import Protocol, runtime_checkable

from pydantic import BaseModel, ConfigDict

from coevo.engines.endpoint.spending import Account, Allowance, Purse, Role, Spent, spent_by_role
from coevo.interfaces import Engine
from coevo.records.event_log import Event, EventLog

CAP_STATUSES = frozenset({"cost", "tokens"})
"""How a run ends that has reached a cap; with a higher one it can be resumed."""


@runtime_checkable
class Payable(Protocol):
    """An engine whose answers are paid for."""

    def charge_to(self, account: Account) -> None:
        """Have every later message paid by an account, and none sent that it does not admit."""


class Paid(BaseModel):
    """What one model has come to."""

    model_config = ConfigDict(frozen=True, extra="forbid", use_attribute_docstrings=True)

    calls: int
    """Messages that were sent, retries among them."""
    tokens_in: int
    """Tokens read."""
    tokens_out: int
    """Tokens written, reasoning included."""
    cost: float | None = None
    """In the currency of the prices; None without prices."""
    guessed: int = 0
    """Messages whose tokens the server did not count: they are estimated or, where nothing came back, at their
    worst."""


def keep_accounts(allowance: Allowance, log: EventLog, model: Engine, mentor: Engine | None = None) -> None:
    """Have the servers of a run paid from one purse, in which the caps hold for all of them together.

    Args:
        allowance: Caps and prices.
        log: Where every call is noted; what it says was spent before counts.
        model: The engine that writes.
        mentor: The engine that distils the skill; where it is the same one, there is one account.
    """
    purse = Purse(allowance, log.note, log.recorded)
    engines: list[tuple[Role, Engine | None]] = [("model", model), ("skill_model", None if mentor is model else mentor)]
    for role, engine in engines:
        if isinstance(engine, Payable):
            engine.charge_to(Account(purse, role))


def paid(events: Iterable[Event], allowance: Allowance) -> dict[str, Paid]:
    """What a run's events say its servers were paid, by role; empty where none was asked."""
    return {role: _paid(role, spent, allowance) for role, spent in sorted(spent_by_role(events).items())}


def _paid(role: Role, spent: Spent, allowance: Allowance) -> Paid:
    prices, tokens = allowance.prices(role), spent.tokens
    return Paid(
        calls=spent.calls,
        tokens_in=tokens.prompt,
        tokens_out=tokens.completion,
        cost=None if prices is None else prices.cost(tokens),
        guessed=spent.guessed,
    )

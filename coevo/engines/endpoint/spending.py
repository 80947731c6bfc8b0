"""What a server may be paid: prices, caps, and a purse that no call is sent without.

A cap is checked before each message, retries among them. What the message may cost at worst is held back first: its
prompt at a token per byte, which no tokeniser over bytes exceeds, with a margin for the template around it; its answer
at its full length. Where a server has counted more than that, the excess is held back from then on too. So the caps
hold to the token wherever those bounds do, and are exceeded by the calls under way at most where they do not. What is
never known, because a connection broke after the message had gone out or a gateway gave up waiting, counts at its
worst; a refusal counts nothing. Where a server does not say what it counted, an estimate is shown, and the caps go by
the worst case all the same: reasoning that is billed and not sent is in no estimate.

Prices are the user's: a table of them here would be out of date. Tokens a server had in a cache count at full price.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from threading import Lock
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field, model_validator

Cap = Literal["cost", "tokens"]
Role = Literal["model", "skill_model"]
"""Who is paid: the model that writes, or another one that distils the skill."""

SENT = "sent"
SPENT = "spent"
"""Kinds of the notes of a log: a message is about to go out, with its worst case; and what it came to."""

TEMPLATE_TOKENS = 256
"""Tokens by which a prompt may exceed its bytes, for the words that a server's chat template adds."""


class Allowance(BaseModel):
    """What servers may be paid in one run, both roles together; prices are per million tokens, in one currency."""

    model_config = ConfigDict(frozen=True, extra="forbid", use_attribute_docstrings=True)

    max_spent_tokens: int | None = Field(default=None, ge=1)
    """Stop before the tokens read and written, all calls together, can exceed this."""
    max_cost: float | None = Field(default=None, gt=0, allow_inf_nan=False)
    """Stop before the cost can exceed this."""
    price_in: float | None = Field(default=None, ge=0, allow_inf_nan=False)
    """Price of a million tokens read."""
    price_out: float | None = Field(default=None, ge=0, allow_inf_nan=False)
    """Price of a million tokens written."""
    skill_price_in: float | None = Field(default=None, ge=0, allow_inf_nan=False)
    """The same of the skill model, where it is another one; that of the model without a number."""
    skill_price_out: float | None = Field(default=None, ge=0, allow_inf_nan=False)
    """Likewise."""

    @model_validator(mode="after")
    def _is_priced(self) -> "Allowance":
        for prefix in ("", "skill_"):
            pair = [getattr(self, f"{prefix}price_{way}") for way in ("in", "out")]
            if pair.count(None) == 1:
                raise ValueError(f"{prefix}price_in and {prefix}price_out go together, got one of them; give both")
        if self.max_cost is not None and not all(self.prices(role) for role in ("model", "skill_model")):
            raise ValueError("max_cost needs prices per million tokens; give price_in and price_out too")
        return self

    @property
    def is_empty(self) -> bool:
        """Whether it says nothing."""
        return self == Allowance()

    def prices(self, role: Role) -> "Prices | None":
        """What a role is paid; None where that is not known."""
        if role == "skill_model" and self.skill_price_in is not None and self.skill_price_out is not None:
            return Prices(self.skill_price_in, self.skill_price_out)
        if self.price_in is None or self.price_out is None:
            return None
        return Prices(self.price_in, self.price_out)


@dataclass(frozen=True, slots=True)
class Tokens:
    """Tokens read and written."""

    prompt: int = 0
    completion: int = 0

    @property
    def total(self) -> int:
        """Both together."""
        return self.prompt + self.completion

    def __add__(self, other: "Tokens") -> "Tokens":
        return Tokens(self.prompt + other.prompt, self.completion + other.completion)

    def __sub__(self, other: "Tokens") -> "Tokens":
        return Tokens(self.prompt - other.prompt, self.completion - other.completion)


@dataclass(frozen=True, slots=True)
class Prices:
    """Prices of a million tokens read, and written."""

    prompt: float
    completion: float

    def cost(self, tokens: Tokens) -> float:
        """What tokens cost, in the currency of the prices; from totals, so that no rounding adds up."""
        return (tokens.prompt * self.prompt + tokens.completion * self.completion) / 1e6


@dataclass(frozen=True, slots=True)
class Spent:
    """What a role has come to: calls that were sent, their tokens, and how many of them nobody has counted.

    `guessed` calls count at an estimate or, where nothing is known of the answer, at their worst.
    """

    calls: int = 0
    tokens: Tokens = field(default_factory=Tokens)
    guessed: int = 0


class CapReachedError(Exception):
    """The next call might exceed a cap, so it was not sent. No fault: a run ends with what it has.

    Args:
        cap: Which one.
    """

    def __init__(self, cap: Cap) -> None:
        super().__init__(f"the next call might exceed the cap on {cap}")
        self.cap: Cap = cap


class Purse:
    """Pays for the calls of one run, from whatever thread they are sent.

    Args:
        allowance: Caps and prices.
        note: Records a note durably before it returns: its kind, and its facts.
        past: The run's recorded events: what was spent before counts.
    """

    def __init__(self, allowance: Allowance, note: Callable[..., None], past: Iterable[Mapping[str, Any]] = ()) -> None:
        self._allowance = allowance
        self._note = note
        self._lock = Lock()
        events = list(past)
        self._spent = spent_by_role(events)
        self._held = _doubts(events)
        self._next: int = sum(event["kind"] == SENT for event in events)

    def reached(self, role: Role, worst: Tokens) -> Cap | None:
        """The cap that a further call might exceed, given all that is spent and held back; None if it fits."""
        roles: set[Role] = {role, *self._spent, *self._held}
        sums = {each: self._committed(each) + (worst if each == role else Tokens()) for each in roles}
        most = self._allowance.max_spent_tokens
        if most is not None and sum(tokens.total for tokens in sums.values()) > most:
            return "tokens"
        if self._allowance.max_cost is not None:
            cost = sum(prices.cost(sums[each]) for each in sums if (prices := self._allowance.prices(each)))
            if cost > self._allowance.max_cost:
                return "cost"
        return None

    def hold(self, role: Role, request: str, worst: Tokens) -> "int | Cap":
        """Hold back the worst case of a call and note it; the call's number, or the cap that stands in its way."""
        with self._lock:
            if (cap := self.reached(role, worst)) is not None:
                return cap
            number: int = self._next
            self._next += 1
            self._held[role] = self._held.get(role, Tokens()) + worst
            self._note(SENT, call=number, role=role, request=request, **_facts(worst))
            return number

    def settle(self, call: "Call", actual: Tokens | None, *, is_guess: bool) -> None:
        """Let go of what was held back for a call, and note what it came to.

        Of a call of which nobody knows that (None) nothing is noted: one without an end counts at its worst.
        """
        role = call.account.role
        with self._lock:
            self._held[role] = self._held[role] - call.worst + _doubt(call.worst, actual, is_guess=is_guess)
            counted = call.worst if actual is None else actual
            self._spent[role] = _with(self._spent.get(role, Spent()), counted, is_guess=is_guess or actual is None)
            if actual is not None:
                self._note(SPENT, call=call.number, role=role, guessed=is_guess, **_facts(actual))

    def _committed(self, role: Role) -> Tokens:
        return self._spent.get(role, Spent()).tokens + self._held.get(role, Tokens())


class Account:
    """What one server is paid, within one event loop; knows how far its answers went beyond what was foreseen.

    Args:
        purse: Pays.
        role: Whom.
    """

    def __init__(self, purse: Purse, role: Role) -> None:
        self.role: Role = role
        self._purse = purse
        self._under_way = 0
        self._excess = Tokens(TEMPLATE_TOKENS, 0)

    @property
    def is_idle(self) -> bool:
        """Whether no call is under way, so that waiting would free nothing."""
        return self._under_way == 0

    def begin(self, request: str, foreseen: Tokens) -> "Call | Cap":
        """Hold back the worst case of a call.

        Args:
            request: Id of the request.
            foreseen: Bytes of its prompt, and the longest answer.
        """
        worst = foreseen + self._excess
        number = self._purse.hold(self.role, request, worst)
        if isinstance(number, str):
            return number
        self._under_way += 1
        return Call(self, number, foreseen, worst)

    def end(self, call: "Call", actual: Tokens | None, *, is_guess: bool) -> None:
        """Settle a call; None where nobody knows what it came to."""
        self._under_way -= 1
        if actual is not None:
            over = actual - call.foreseen
            self._excess = Tokens(max(self._excess.prompt, over.prompt), max(self._excess.completion, over.completion))
        self._purse.settle(call, actual, is_guess=is_guess)


@dataclass(frozen=True, slots=True)
class Call:
    """One message that may be sent: what it came to has to be said exactly once."""

    account: Account
    number: int
    foreseen: Tokens
    worst: Tokens

    def end(self, actual: Tokens | None, *, is_guess: bool = False) -> None:
        """Say what it came to; None where it went out and nobody knows: it counts at its worst."""
        self.account.end(self, actual, is_guess=is_guess)


def spent_by_role(events: Iterable[Mapping[str, Any]]) -> dict[Role, Spent]:
    """What a run's notes say was spent, by role; calls without an end (the run was killed) count at their worst."""
    open_calls: dict[int, Mapping[str, Any]] = {}
    spent: dict[Role, Spent] = {}
    for event in events:
        if event["kind"] == SENT:
            open_calls[event["call"]] = event
        elif event["kind"] == SPENT:
            open_calls.pop(event["call"], None)
            spent[event["role"]] = _with(_of(spent, event), _tokens(event), is_guess=event["guessed"])
    for event in open_calls.values():
        spent[event["role"]] = _with(_of(spent, event), _tokens(event), is_guess=True)
    return spent


def _doubts(events: Sequence[Mapping[str, Any]]) -> dict[Role, Tokens]:
    """What stays held back of a run's past calls, by role."""
    worst = {event["call"]: _tokens(event) for event in events if event["kind"] == SENT}
    held: dict[Role, Tokens] = {}
    for event in events:
        if event["kind"] == SPENT and event["call"] in worst:
            left = _doubt(worst[event["call"]], _tokens(event), is_guess=event["guessed"])
            held[event["role"]] = held.get(event["role"], Tokens()) + left
    return held


def _doubt(worst: Tokens, actual: Tokens | None, *, is_guess: bool) -> Tokens:
    """What stays held back of a call that has ended: all that may have been spent beyond an estimate."""
    if actual is None or not is_guess:
        return Tokens()
    return Tokens(max(0, worst.prompt - actual.prompt), max(0, worst.completion - actual.completion))


def _of(spent: Mapping[Role, Spent], event: Mapping[str, Any]) -> Spent:
    return spent.get(event["role"], Spent())


def _with(spent: Spent, tokens: Tokens, *, is_guess: bool) -> Spent:
    return replace(
        spent, calls=spent.calls + 1, tokens=spent.tokens + tokens, guessed=spent.guessed + (1 if is_guess else 0)
    )


def _tokens(event: Mapping[str, Any]) -> Tokens:
    return Tokens(event["prompt_tokens"], event["completion_tokens"])


def _facts(tokens: Tokens) -> dict[str, int]:
    return {"prompt_tokens": tokens.prompt, "completion_tokens": tokens.completion}

from contextlib import suppress
from itertools import count

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pydantic import ValidationError
from scripted_server import QUICK, Reply, Server, answer, ask, prompt_of, refusal

from coevo.engines.endpoint.engine import open_endpoint
from coevo.engines.endpoint.spending import (
    SENT,
    SPENT,
    TEMPLATE_TOKENS,
    Account,
    Allowance,
    CapReachedError,
    Prices,
    Purse,
    Tokens,
    spent_by_role,
)
from coevo.errors import ModelError

SIZES = st.integers(0, 5_000)
CALLS = st.lists(st.tuples(SIZES, SIZES, SIZES, SIZES), max_size=40)
"""Of each call: bytes of its prompt, its longest answer, and the tokens the server says it read and wrote."""
PRICES = st.floats(0, 100, allow_nan=False)


class Ledger(list):
    """Notes, as a log would keep them."""

    def note(self, kind, **facts):
        """Keep a note."""
        self.append({"kind": kind, **facts})

    @property
    def kinds(self):
        """The kinds of the notes, in order."""
        return [event["kind"] for event in self]


def purse_of(past=(), **allowance):
    """A purse and its ledger, which begins with the past."""
    ledger = Ledger(past)
    return Purse(Allowance(**allowance), ledger.note, ledger), ledger


def spend(account, calls, in_flight):
    """Send calls, so many at once, until the purse says no; those under way are settled then, oldest first.

    Returns:
        How far each settled call went beyond what was held back for it.
    """
    under_way, over = [], []

    def settle():
        call, actual = under_way.pop(0)
        over.append(max(0, actual.total - call.worst.total))
        call.end(actual)

    for prompt_bytes, longest, read, written in calls:
        if len(under_way) == in_flight:
            settle()
        while isinstance(call := account.begin("r", Tokens(prompt_bytes, longest)), str):
            if account.is_idle:
                return over
            settle()
        under_way.append((call, Tokens(read, written)))
    while under_way:
        settle()
    return over


@given(calls=CALLS, cap=st.integers(1, 60_000), in_flight=st.integers(1, 16))
def test_tokens_exceed_a_cap_by_what_the_calls_under_way_were_underestimated_by(calls, cap, in_flight):
    """Whatever sizes a server reports, it is at most the calls under way that take the sum beyond the cap."""
    purse, ledger = purse_of(max_spent_tokens=cap)
    over = spend(Account(purse, "model"), calls, in_flight)
    spent = spent_by_role(ledger).get("model")
    assert spent is None or spent.tokens.total <= cap + sum(sorted(over)[-in_flight:])


@given(calls=CALLS, cap=st.floats(1e-6, 2.0), prices=st.tuples(PRICES, PRICES), in_flight=st.integers(1, 16))
def test_a_server_that_keeps_to_the_bounds_never_costs_more_than_the_cap(calls, cap, prices, in_flight):
    """No more tokens read than bytes and template, none written beyond the limit: then the cap holds to the letter."""
    kept = [
        (size, longest, min(read, size + TEMPLATE_TOKENS), min(wrote, longest)) for size, longest, read, wrote in calls
    ]
    purse, ledger = purse_of(max_cost=cap, price_in=prices[0], price_out=prices[1])
    assert not any(spend(Account(purse, "model"), kept, in_flight))
    spent = spent_by_role(ledger).get("model")
    assert spent is None or Prices(*prices).cost(spent.tokens) <= cap


@given(calls=CALLS, cap=st.integers(1, 60_000), cut=st.integers(0, 80))
def test_a_killed_run_counts_at_least_what_it_spent(calls, cap, cut):
    """Cut anywhere, the notes say no less than what the calls sent by then came to, and the cap goes on to hold."""
    kept = [(size, longest, min(read, size), min(wrote, longest)) for size, longest, read, wrote in calls]
    purse, ledger = purse_of(max_spent_tokens=cap)
    spend(Account(purse, "model"), kept, 4)
    cut_off = ledger[:cut]
    sent = {event["call"] for event in cut_off if event["kind"] == SENT}
    truth = sum(e["prompt_tokens"] + e["completion_tokens"] for e in ledger if e["kind"] == SPENT and e["call"] in sent)
    known = spent_by_role(cut_off).get("model")
    assert (known.tokens.total if known else 0) >= truth
    purse, again = purse_of(cut_off, max_spent_tokens=cap)
    spend(Account(purse, "model"), kept, 4)
    assert sum(spent.tokens.total for spent in spent_by_role(again).values()) <= cap
    assert len({event["call"] for event in again if event["kind"] == SENT}) == again.kinds.count(SENT)


@given(calls=CALLS, cap=st.integers(1, 60_000), cut=st.integers(0, 80), share=st.floats(0, 1))
def test_of_a_server_that_does_not_count_nothing_is_hoped(calls, cap, cut, share):
    """However little its answers look like, what it may have written counts, also after a resume."""
    kept = [(size, longest, min(read, size), min(wrote, longest)) for size, longest, read, wrote in calls]
    truth, past = Tokens(), []
    for part in (kept[:cut], kept[cut:]):
        purse, past = purse_of(past, max_spent_tokens=cap)
        account = Account(purse, "model")
        for size, longest, read, wrote in part:
            if isinstance(call := account.begin("r", Tokens(size, longest)), str):
                break
            truth += Tokens(read, wrote)
            call.end(Tokens(int(share * read), int(share * wrote)), is_guess=True)
    assert truth.total <= cap
    shown = sum(spent.tokens.total for spent in spent_by_role(past).values())
    assert shown == sum(e["prompt_tokens"] + e["completion_tokens"] for e in past if e["kind"] == SPENT)


def test_a_call_is_foreseen_as_large_as_the_largest_surprise():
    """A hidden system prompt surprises once; from then on it is held back for, and so is reasoning beyond the limit."""
    purse, _ = purse_of()
    account = Account(purse, "model")
    assert account.begin("a", Tokens(100, 10)).worst == Tokens(100 + TEMPLATE_TOKENS, 10)
    account.begin("b", Tokens(100, 10)).end(Tokens(1_100, 60))
    assert account.begin("c", Tokens(50, 20)).worst == Tokens(1_050, 70)


def test_two_roles_share_the_caps_and_have_prices_of_their_own():
    """What the skill model costs counts towards the same cap, at its own prices."""
    purse, ledger = purse_of(max_cost=1.0, price_in=1, price_out=1, skill_price_in=0, skill_price_out=1_000)
    writer, mentor = Account(purse, "model"), Account(purse, "skill_model")
    mentor.begin("s", Tokens(0, 900)).end(Tokens(5_000, 900))
    assert writer.begin("a", Tokens(99_000, 0)).worst.total == 99_000 + TEMPLATE_TOKENS
    assert writer.begin("b", Tokens(5_000, 0)) == "cost"
    assert mentor.begin("t", Tokens(0, 900)) == "cost"
    assert spent_by_role(ledger)["skill_model"].tokens == Tokens(5_000, 900)


@pytest.mark.parametrize(
    ("values", "words"),
    [
        ({"max_cost": 1.0}, "needs prices"),
        ({"price_in": 1.0}, "go together"),
        ({"skill_price_out": 1.0}, "go together"),
        ({"max_cost": 0.0, "price_in": 1.0, "price_out": 1.0}, "greater than 0"),
        ({"max_cost": float("inf"), "price_in": 1.0, "price_out": 1.0}, "finite"),
        ({"price_in": -1.0, "price_out": 1.0}, "greater than or equal to 0"),
        ({"max_spent_tokens": 0}, "greater than or equal to 1"),
    ],
)
def test_an_allowance_that_says_nothing_definite_is_refused(values, words):
    """A cap without a price, half a price, and numbers that are no amounts."""
    with pytest.raises(ValidationError, match=words):
        Allowance(**values)


@pytest.fixture(scope="module")
def module_server():
    """One server for every example of a property."""
    running = Server()
    yield running
    running.close()


@settings(max_examples=25)
@given(
    sizes=st.lists(st.tuples(st.integers(0, 260), st.integers(0, 33)), min_size=1, max_size=12),
    cap=st.integers(1, 8_000),
    failing=st.sets(st.integers(0, 20)),
)
def test_a_priced_server_is_never_paid_more_than_the_cap(module_server, sizes, cap, failing):
    """By the server's own count, over answers, retries and refusals, with four under way at once."""
    numbers, counted = count(), []

    def script(_, body):
        number = next(numbers)
        if number in failing:
            return refusal(503)
        size = sizes[number % len(sizes)]
        counted.append(sum(size))
        return answer("text", usage=size)

    module_server.script = script
    ledger = Ledger()
    with open_endpoint(f"{module_server.url}#tiny", patience=QUICK, in_flight=4) as engine:
        engine.charge_to(Account(Purse(Allowance(max_spent_tokens=cap), ledger.note), "model"))
        answers = []
        with suppress(CapReachedError, ModelError):
            answers.extend(engine.generate(ask(24)))
    assert sum(counted) <= cap
    spent = spent_by_role(ledger).get("model")
    assert (spent.tokens.total if spent else 0) == sum(counted)
    assert len(answers) == len(counted)


def charged(connect, **allowance):
    """An engine that a purse pays, and the ledger."""
    engine, ledger = connect(in_flight=2), Ledger()
    engine.charge_to(Account(Purse(Allowance(**allowance), ledger.note), "model"))
    return engine, ledger


def test_answers_under_way_come_before_the_cap_is_told(server, connect):
    """What has been paid for is handed over; then the engine says which cap it was. Nothing more is sent."""
    server.script = lambda number, body: answer("text", usage=(200, 33))
    engine, ledger = charged(connect, max_spent_tokens=1_000)
    came = []
    with pytest.raises(CapReachedError, match="cap on tokens"):
        came.extend(engine.generate(ask(20)))
    assert len(server.posts) == ledger.kinds.count(SENT) == ledger.kinds.count(SPENT)
    assert 233 * len(server.posts) <= 1_000 < 233 * len(server.posts) + 233 + 300


def test_a_call_that_fits_under_no_circumstances_is_never_sent(server, connect):
    """Where one call alone may exceed the cap, nothing is asked at all."""
    engine, ledger = charged(connect, max_spent_tokens=10)
    with pytest.raises(CapReachedError):
        list(engine.generate(ask(3)))
    assert (server.posts, ledger) == ([], [])


@pytest.mark.parametrize(
    ("first", "calls", "guessed", "tokens"),
    [
        (refusal(503), 2, 0, Tokens(5, 3)),  # a refusal costs nothing
        (refusal(504), 2, 1, None),  # a gateway gave up waiting for what may have been written
        (answer("text", usage=(10**400, 1)), 1, 1, Tokens(2, 1)),  # no count at all: an estimate
        (Reply(b"no json"), 2, 1, None),  # it answered, and did not say what that took
        (Reply(b"x" * 99, sent=5), 2, 1, None),  # the connection broke
        (Reply({"usage": {"prompt_tokens": 7, "completion_tokens": 9}}), 2, 0, Tokens(12, 12)),  # paid, not usable
        (answer("text", usage=None), 1, 1, Tokens(2, 1)),  # not counted: an estimate
    ],
)
def test_every_way_a_message_can_end_is_counted(server, connect, first, calls, guessed, tokens):
    """At what the server says; at nothing where it refused; at the worst where nobody knows."""
    server.script = lambda number, body: first if number == 0 else answer("text")
    engine, ledger = charged(connect)
    assert len(list(engine.generate(ask(1)))) == 1
    spent = spent_by_role(ledger)["model"]
    size = len("user") + len(prompt_of(server.posts[0][1]))
    worst = Tokens(size + TEMPLATE_TOKENS, 33)
    assert (spent.calls, spent.guessed, spent.tokens) == (calls, guessed, tokens or worst + Tokens(5, 3))


def test_a_server_that_is_not_there_costs_nothing(server, connect):
    """A connection that was never made has carried no message."""
    server.models.headers = (("Connection", "close"),)
    engine, ledger = charged(connect)
    server.close()
    with pytest.raises(Exception, match="expected an answer"):
        list(engine.generate(ask(1)))
    assert spent_by_role(ledger)["model"].tokens == Tokens()


def test_one_call_at_a_time_is_let_through_where_two_do_not_fit(server, connect):
    """Near a cap, calls wait for what others turn out not to need, and the cap is used up to less than one call."""
    server.script = lambda number, body: answer("text", usage=(10, 1))
    engine, _ = charged(connect, max_spent_tokens=400)
    with pytest.raises(CapReachedError):
        list(engine.generate(ask(99)))
    assert server.most == 1
    assert len(server.posts) >= 8

"""Searches that ask a priced server, from the first call to the cap and beyond it."""

import json
import re
import threading

import pytest
from scripted_server import Server, answer, refusal

from coevo.engines.endpoint.dialect import reduced_seed
from coevo.errors import ConfigError, ModelError
from coevo.learning.seeds import seed_of
from coevo.records.event_log import read_events
from coevo.searching.api import config_of, load_run, resume_search, run_search
from coevo.searching.config import make_config

pytestmark = pytest.mark.slow

PRICES = {"price_in": 2.0, "price_out": 10.0}
PROMPT, ANSWER = 120, 40
PER_CALL = (PROMPT * PRICES["price_in"] + ANSWER * PRICES["price_out"]) / 1e6
MAX_TOKENS = 64


def program(number):
    """A heuristic of its own for every call."""
    return (
        f"{{Weigh by power {number}.}}\n```python\ndef priority(durations, worths):\n"
        f"    return worths ** {1 + number / 10} / durations ** {0.5 + number / 20}\n```"
    )


@pytest.fixture
def server(monkeypatch):
    """Writes a new program for every call, always the same for the same seed, and counts its tokens."""
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")
    monkeypatch.delenv("COEVO_API_KEY", raising=False)
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    running = Server()
    running.script = lambda number, body: answer(program(body["seed"] % 97), usage=(PROMPT, ANSWER))
    yield running
    running.close()


@pytest.fixture
def job(server, tiny_problem, tmp_path):
    """Configures a search on the server, by its allowance and anything else."""

    def make(budget=30, **values):
        allowance = {**PRICES, **values.pop("allowance", {})}
        fixed = {"problem": str(tiny_problem), "model": f"{server.url}#tiny", "workers": 1, "max_tokens": MAX_TOKENS}
        return make_config({"budget": budget, "compare": False, "allowance": allowance, **fixed, **values})

    return make


def story(run):
    """What the loop reproduces: events without clocks, seams, notes and endings."""
    events = [event for event in read_events(run / "events.jsonl") if event["kind"] != "resumed"]
    return [{k: v for k, v in event.items() if k != "clock"} for event in events if not event.get("aside")]


def test_an_interrupted_search_says_what_it_has_paid_so_far(server, job, tmp_path):
    """Its result is kept as any other, and it goes on to the same end."""

    def interrupt(event):
        if event["kind"] == "generation":
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        run_search(job(), runs_dir=tmp_path / "a", listeners=(interrupt,))
    (run,) = (tmp_path / "a").iterdir()
    stopped = load_run(run).result
    assert stopped.status == "interrupted"
    assert stopped.paid["model"].calls == len(server.posts) > 0
    assert resume_search(run).paid["model"].calls == len(server.posts) == 30


def test_a_search_ends_at_its_cap_and_goes_on_with_a_higher_one(server, job, tmp_path):
    """Capped, it ends with a result and what it paid; resumed with more, its story is that of a run never capped."""
    cap = 12.5 * PER_CALL + 0.004
    capped = run_search(job(allowance={"max_cost": cap}), runs_dir=tmp_path / "a")
    run = next((tmp_path / "a").iterdir())
    first = len(server.posts)
    assert capped.status == "cost"
    assert capped.best is not None
    assert (run / "best.py").read_text()
    assert 0 < first < 30
    paid = capped.paid["model"]
    assert (paid.calls, paid.tokens_in, paid.tokens_out) == (first, first * PROMPT, first * ANSWER)
    assert paid.cost == pytest.approx(first * PER_CALL)
    assert paid.cost <= cap
    assert load_run(run).result == capped

    resumed = resume_search(run, allowance={"max_cost": 1.0})
    assert (resumed.status, config_of(run).allowance.max_cost) == ("done", 1.0)
    assert len(server.posts) == resumed.paid["model"].calls == resumed.budget.operator == 30
    free = run_search(job(), runs_dir=tmp_path / "b")
    assert story(run) == story(next((tmp_path / "b").iterdir()))
    assert (resumed.best, resumed.splits) == (free.best, free.splits)


def test_resumed_without_more_a_capped_run_asks_nothing(server, job, tmp_path):
    """The cap holds over every session together."""
    capped = run_search(job(allowance={"max_spent_tokens": 3_000}), runs_dir=tmp_path)
    run, asked = next(tmp_path.iterdir()), len(server.posts)
    again = resume_search(run)
    assert len(server.posts) == asked
    assert (capped.status, again.status, again.paid) == ("tokens", "tokens", capped.paid)
    assert (again.best, again.splits) == (capped.best, capped.splits)


def test_answers_that_were_paid_for_are_not_asked_again(server, job, tmp_path):
    """Where a batch breaks off at its first request, the answers behind it are kept for the resumed run."""
    others = threading.Event()
    first = reduced_seed(seed_of(0, "sampling", 0, "i1", 0))

    refused = []

    def script(number, body):
        if body["seed"] == first and not refused:
            refused.append(number)
            others.wait(60)
            return refusal(401, "no credit")
        if len(server.posts) >= 10:
            others.set()
        return answer(program(body["seed"] % 97), usage=(PROMPT, ANSWER))

    server.script = script
    with pytest.raises(ModelError, match="401"):
        run_search(job(), runs_dir=tmp_path)
    run = next(tmp_path.iterdir())
    kept = [event["id"] for event in read_events(run / "events.jsonl") if event["kind"] == "kept"]
    answered = len(server.posts) - 1
    assert len(kept) == answered == 9
    result = resume_search(run)
    assert result.status == "done"
    assert len(server.posts) == 1 + 30


def test_a_cap_below_one_call_ends_at_once_with_the_users_heuristic(server, job, tmp_path, tiny_problem):
    """Nothing can be asked; what the user brought is still measured."""
    mine = tiny_problem / "baselines" / "shortest_first.py"
    result = run_search(job(allowance={"max_spent_tokens": 20}, start=(str(mine),)), runs_dir=tmp_path)
    assert (result.status, server.posts, result.paid) == ("tokens", [], {})
    assert result.best is not None


def test_the_skill_model_is_metered_apart(server, job, tmp_path):
    """Two models on the same server, two lines of account, each with its own prices."""
    prices = {"skill_price_in": 20.0, "skill_price_out": 100.0}
    small = {"population": 4, "batch": 2, "evolution_strategy": {"members": 2, "children": 1}}
    config = job(budget=24, skill_every=1, skill_model=f"{server.url}#mentor", allowance=prices, **small)
    server.models.body["data"].append({"id": "mentor"})
    result = run_search(config, runs_dir=tmp_path)
    asked = [body["model"] for _, body in server.posts]
    assert {role: paid.calls for role, paid in result.paid.items()} == {
        "model": asked.count("tiny"),
        "skill_model": asked.count("mentor"),
    }
    assert asked.count("mentor") == result.budget.skill > 0
    assert result.paid["skill_model"].cost == pytest.approx(10 * asked.count("mentor") * PER_CALL)


def test_the_closing_summary_says_what_was_paid_and_how_to_go_on(job, tmp_path, capsys):
    """Tokens, cost, and the command that resumes."""
    from coevo.cli.summary import print_result

    print_result(run_search(job(allowance={"max_cost": 0.01}), runs_dir=tmp_path), as_json=False)
    said = capsys.readouterr().out
    assert re.search(r"model: \d+ tokens in, \d+ out, cost 0\.\d+, in \d+ calls", said)
    assert re.search(r"go on with: coevo resume \S+ --max-cost MORE", said)
    result = json.loads((next(tmp_path.iterdir()) / "result.json").read_text())
    assert set(result["paid"]["model"]) == {"calls", "tokens_in", "tokens_out", "cost", "guessed"}


@pytest.mark.parametrize(
    ("values", "words"),
    [
        ({"allowance": {"max_spent_tokens": 9}}, "caps and prices are for servers"),
        ({"model": "http://localhost/v1#m", "allowance": {"max_cost": 1.0}}, "needs prices"),
        (
            {"model": "http://localhost/v1#m", "allowance": {"skill_price_in": 1.0, "skill_price_out": 1.0}},
            "skill model of its own",
        ),
    ],
)
def test_an_allowance_that_would_do_nothing_is_refused(values, words):
    """A cap on what is free, a cost without prices, prices of a model that is not there."""
    with pytest.raises(ConfigError, match=words):
        make_config({"budget": 10, **values})

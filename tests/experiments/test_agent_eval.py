"""Evaluations of agents with a model of one weight: numbers from episodes, runs and their generations, resuming."""

import json
import math
from itertools import pairwise

import numpy as np
import pytest
from aiming import write_environment
from damage import drop_end
from hypothesis import given, settings
from hypothesis import strategies as st
from one_weight_models import install
from scripted_server import Server, answer

from coevo.errors import ConfigError, RunError
from coevo.experiments.agent_eval import eval_agent, load_eval, resume_eval, run_eval
from coevo.experiments.case_statistics import estimate, evaluated, over_runs
from coevo.experiments.statistics import bootstrap_interval
from coevo.records.event_log import read_events
from coevo.tuning.api import run_tuning
from coevo.tuning.config import make_tune_config
from coevo.tuning.episodes import Episode
from coevo.tuning.eval_config import make_eval_config
from coevo.tuning.scores import score_of


@pytest.fixture
def aim(tmp_path):
    """The environment's folder."""
    return write_environment(tmp_path / "aim")


@pytest.fixture
def engines(monkeypatch):
    """The engines opened: models of one weight."""
    return install(monkeypatch)


@pytest.fixture
def tuned(aim, engines, tmp_path):
    """Makes a finished tuning run; keywords are fields of its configuration."""

    def make(seed=0, **values):
        strategy = {"members": 8, "sigma": 0.2, "sigma_end": 0.05, "alpha": 0.3, **values.pop("strategy", {})}
        given = {"env": str(aim), "model": "one", "generations": 6, "tasks": 3, "every": 2, "workers": 1, "seed": seed}
        config = make_tune_config({**given, "evolution_strategy": strategy, **values})
        return run_tuning(config, runs_dir=tmp_path / "tuned")

    return make


def events_of(run):
    """The events of a run without their clocks and without what tells of a resume."""
    events = read_events(run / "events.jsonl")
    return [{k: v for k, v in event.items() if k != "clock"} for event in events if event["kind"] != "resumed"]


def episode(task, score, turns=2, tokens=6):
    """An episode as it is recorded."""
    return Episode("0", task, score, turns, tokens, "fault" if score is None else "done")


def test_a_model_alone_is_measured(aim, engines, tmp_path):
    """Every task is played K times; means, turns and tokens are those of the recorded episodes."""
    result = eval_agent(str(aim), model="one", splits=("val", "test"), repeats=3, runs_dir=tmp_path / "runs")
    assert (result.status, result.episodes, len(result.rows)) == ("done", 2 * 6 * 3, 1)
    assert result.over_runs == {}
    run = next((tmp_path / "runs").iterdir())
    played = [event for event in events_of(run) if event["kind"] == "episode"]
    for split in ("val", "test"):
        own = [event for event in played if f".{split}." in event["id"]]
        found = result.rows[0].splits[split]
        assert found.mean.value == pytest.approx(math.fsum(event["score"] for event in own) / len(own))
        assert (found.turns.value, found.tokens.value, found.cases, found.episodes) == (2.0, 6.0, 6, 18)
        assert found.ended == {"done": 18}
        assert list(found.passed) == ["1", "2", "3"]
    assert load_eval(run) == result
    assert all(request.member is None for request in engines[-1].requests)


def test_the_weights_of_a_run_play(tuned, engines, aim, tmp_path):
    """With a run, its chosen weights play in its environment with its options; its fingerprint is reached."""
    result = tuned(options={"turns": 3})
    found = eval_agent(runs=[result.run], runs_dir=tmp_path / "runs")
    (row,) = found.rows
    assert row.fingerprint == result.best.fingerprint
    assert (row.generation, row.seed) == (result.best.generation, 0)
    assert row.splits["val"].turns.value == 3.0
    assert row.splits["val"].mean.value == pytest.approx(result.best.mean, abs=0.01)


@pytest.mark.parametrize("generation", ["0", "3", "last"])
def test_a_generation_is_reached_along_the_history(generation, tuned, engines, tmp_path):
    """The weights after a generation are those that the run had then: its steps say so."""
    result = tuned()
    found = eval_agent(runs=[result.run], generation=generation, runs_dir=tmp_path / "runs")
    events = list(read_events(tmp_path / "tuned" / result.run.rsplit("/", 1)[1] / "events.jsonl"))
    wanted = 6 if generation == "last" else int(generation)
    reached = [e["fingerprint"] for e in events if e["kind"] == "started"]
    reached += [e["fingerprint"] for e in events if e["kind"] == "step" and e["generation"] <= wanted]
    assert found.rows[0].fingerprint == reached[-1]


def test_runs_of_several_seeds_are_rows_and_a_mean_over_seeds(tuned, engines, tmp_path):
    """Each run has its row, played under the same seeds; the mean's interval is over the runs."""
    runs = [tuned(seed).run for seed in range(3)]
    found = eval_agent(runs=runs, repeats=2, runs_dir=tmp_path / "runs")
    assert [row.seed for row in found.rows] == [0, 1, 2]
    means = [row.splits["val"].mean.value for row in found.rows]
    over = found.over_runs["val"]
    assert over.mean.value == pytest.approx(np.mean(means))
    assert (over.mean.low, over.mean.high) == bootstrap_interval(np.array(means))
    assert over.spread == pytest.approx(np.std(means, ddof=1))
    seeds = [{request.seed for request in engine.requests} for engine in engines[-3:]]
    assert seeds[0] == seeds[1] == seeds[2]


def test_episodes_share_no_seed_with_the_run_that_they_measure(tuned, engines, tmp_path):
    """Weights chosen by luck of the draw are not measured by the same draw."""
    result = tuned()
    before = {request.seed for engine in engines for request in engine.requests}
    eval_agent(runs=[result.run], seed=0, runs_dir=tmp_path / "runs")
    assert not before & {request.seed for request in engines[-1].requests}


def test_the_skill_of_that_generation_is_in_the_prompts(tuned, engines, tmp_path):
    """Prompts hold the version that the run had when it measured these weights; before the first one, none."""
    result = tuned()
    run = tmp_path / "tuned" / result.run.rsplit("/", 1)[1]
    text = "# Skill: aim\nVersion {}\n\n## What has worked\n\n- Say one, version {} (seen 3)\n"
    lines = (run / "events.jsonl").read_text().splitlines()
    skills = [json.dumps({"kind": "skill", "generation": n, "text": text.format(n, n)}) for n in (2, 4)]
    (run / "events.jsonl").write_text("\n".join([*lines, *skills]) + "\n")
    for generation, version in (("2", None), ("3", 2), ("4", 2), ("5", 4)):
        found = eval_agent(runs=[run], generation=generation, tasks=1, repeats=1, runs_dir=tmp_path / "runs")
        prompt = engines[-1].requests[0].text
        assert [n for n in (2, 4) if f"version {n}" in prompt] == ([] if version is None else [version])
        assert found.rows[0].has_skill == (version is not None)


@pytest.mark.parametrize("answers", [1, 7, 12, 23])
def test_an_interrupted_evaluation_goes_on_to_the_same_end(answers, aim, engines, tmp_path):
    """Wherever it is cut, the continued log is that of an uninterrupted one, and nothing is played twice."""
    config = make_eval_config({"env": str(aim), "model": "one", "splits": ("val", "test"), "repeats": 1})
    whole = run_eval(config, runs_dir=tmp_path / "whole")
    engines.limit = answers
    with pytest.raises(KeyboardInterrupt) as stopped:
        run_eval(config, runs_dir=tmp_path / "cut")
    run = next((tmp_path / "cut").iterdir())
    assert str(run) in str(stopped.value)
    assert load_eval(run).status == "interrupted"
    recorded = {event["id"] for event in events_of(run) if event["kind"] == "episode"}
    result = resume_eval(run)
    assert not recorded & {request.id.rsplit(".", 2)[0] for request in engines[-1].requests}
    assert events_of(run) == events_of(next((tmp_path / "whole").iterdir()))
    drop = {"run", "wall_s"}
    assert result.model_dump(exclude=drop) == whole.model_dump(exclude=drop)
    count = len(engines)
    assert resume_eval(run) == result
    assert len(engines) == count
    drop_end(run)
    with pytest.raises(RunError, match="to end with the event finished"):
        resume_eval(run)


def test_failing_surroundings_are_counted_and_never_scored(aim, engines, tmp_path):
    """A task whose surroundings fail is no case; the others are."""
    found = eval_agent(str(aim), model="one", options={"fault": "val-2"}, repeats=2, runs_dir=tmp_path / "runs")
    faulty = found.rows[0].splits["val"]
    assert (faulty.cases, faulty.episodes, faulty.faults) == (5, 10, 2)
    assert faulty.ended == {"done": 10, "fault": 2}


def test_what_does_not_fit_is_refused_before_anything_is_written(aim, tuned, engines, tmp_path):
    """One line names it, and there is no run directory."""
    run = tuned().run
    other = tuned(1, options={"turns": 4}).run
    for values, runs, generation, match in (
        ({"env": str(aim), "model": "one", "splits": ("exam",)}, (), None, "'exam'"),
        ({"env": str(aim), "model": "one", "repeats": 0}, (), None, "repeats"),
        ({"env": str(aim), "model": "one"}, (), "3", "--run with --generation 3"),
        ({"env": str(aim), "model": "one", "options": {"hue": "1"}}, (), None, "'hue'"),
        ({"env": "math"}, (), None, "--model for math"),
        ({}, (run,), "7", "up to 6"),
        ({}, (run,), "worst", "'worst'"),
        ({}, (run, other), None, "options"),
        ({}, (run, run), None, "every run once"),
        ({"splits": ()}, (run,), None, "one split or more"),
    ):
        with pytest.raises(ConfigError, match=match):
            run_eval(make_eval_config(values, runs, generation), runs_dir=tmp_path / "runs")
    assert not (tmp_path / "runs").exists()


def test_an_edited_history_is_found_out(tuned, engines, tmp_path):
    """Weights that are not the run's are not played."""
    result = tuned()
    run = tmp_path / "tuned" / result.run.rsplit("/", 1)[1]
    history = run / "es" / "history.jsonl"
    lines = history.read_text().splitlines()
    history.write_text("\n".join(lines[:1]) + "\n")
    with pytest.raises(RunError, match="restore it"):
        eval_agent(runs=[run], generation="last", runs_dir=tmp_path / "runs")
    record = json.loads(lines[0])
    record["coefficients"] = [2 * value for value in record["coefficients"]]
    history.write_text("\n".join([json.dumps(record), *lines[1:]]) + "\n")
    with pytest.raises(RunError, match="after step 0"):
        eval_agent(runs=[run], generation="last", runs_dir=tmp_path / "runs")


def test_a_run_of_another_model_is_refused(tuned, engines, tmp_path):
    """The weights a run began with are known by their fingerprint."""
    result = tuned()
    run = tmp_path / "tuned" / result.run.rsplit("/", 1)[1]
    text = (run / "events.jsonl").read_text()
    began = json.loads(text.splitlines()[0])["fingerprint"]
    (run / "events.jsonl").write_text(text.replace(began, "0123456789abcdef", 1))
    with pytest.raises(RunError, match="0123456789abcdef"):
        eval_agent(runs=[run], runs_dir=tmp_path / "runs")


def test_a_baseline_plays_with_the_weights_that_it_kept(tuned, engines, tmp_path):
    """A run that backpropagated has no history to follow: its best weights are a model folder, others are refused."""
    result = tuned(seeds="independent")
    run = tmp_path / "tuned" / result.run.rsplit("/", 1)[1]
    config = (run / "config.toml").read_text()
    (run / "config.toml").write_text(config.replace('method = "es"', 'method = "grpo"'))
    folder = run / "gradient" / "best"
    folder.mkdir(parents=True)
    found = eval_agent(runs=[run], runs_dir=tmp_path / "runs")
    assert (engines[-1].choice.model, engines[-1].updates) == (str(folder), [])
    assert found.rows[0].generation == result.best.generation > 1
    with pytest.raises(ConfigError, match="keeps no other weights"):
        eval_agent(runs=[run], generation="1", runs_dir=tmp_path / "runs")
    eval_agent(runs=[run], generation="0", runs_dir=tmp_path / "runs")
    assert engines[-1].choice.model == "one"


def test_answers_and_options_of_a_run_can_be_others(tuned, engines, tmp_path):
    """What the user says now wins over what the run was trained with, key by key."""
    result = tuned(answers={"temperature": 0.5}, options={"turns": 3})
    config = make_eval_config({"answers": {"top_k": 5}, "options": {"turns": 4}}, [result.run])
    assert (config.answers.temperature, config.answers.top_k, config.options) == (0.5, 5, {"turns": 4})
    assert make_eval_config({"answers": {"temperature": 0.0}}, [result.run]).answers.temperature == 0.0


def test_a_server_can_be_measured():
    """Nothing has to move, so a model out of reach is as good as any."""
    config = make_eval_config({"env": "sudoku", "model": "http://host:1/v1#m"})
    assert (config.model, config.engine) == ("http://host:1/v1#m", "auto")
    assert config.choice(moves=False).is_endpoint


@settings(max_examples=40, deadline=None)
@given(st.lists(st.tuples(st.integers(0, 3), st.sampled_from([0.0, 0.5, 1.0])), min_size=1, max_size=20))
def test_means_are_over_cases(pairs):
    """Mean@K weighs every case alike however many of its episodes count, and lies in its interval's hull."""
    episodes = [episode(f"t{task}", score) for task, score in pairs]
    found, measured = evaluated(episodes, at_best=1.0), score_of(episodes, at_best=1.0)
    assert found.mean.value == measured.mean, "a tuning run measures the same"
    assert {int(j): each.value for j, each in found.passed.items()} == measured.passed
    cases = {}
    for task, score in pairs:
        cases.setdefault(task, []).append(score)
    means = [math.fsum(own) / len(own) for own in cases.values()]
    assert found.mean.value == pytest.approx(math.fsum(means) / len(means))
    assert found.cases == len(cases)
    if len(set(means)) > 1:
        assert min(means) - 1e-12 <= found.mean.low <= found.mean.high <= max(means) + 1e-12
    shares = [found.passed[str(j)].value for j in range(1, len(found.passed) + 1)]
    assert all(later >= share - 1e-12 for share, later in pairwise(shares))


def test_nothing_played_is_no_number():
    """Where every episode failed there is no mean, and one value has no interval."""
    found = evaluated([episode("a", None), episode("b", None)], at_best=1.0)
    assert (found.mean, found.passed, found.faults) == (None, {}, 2)
    assert over_runs([found, found]) is None
    assert estimate([0.5]).low is None


def test_values_that_are_all_the_same_have_no_interval():
    """Eight of eight is no proof of certainty."""
    assert (estimate([1.0] * 8).low, estimate([1.0] * 8).high) == (None, None)
    found = estimate([1.0] * 7 + [0.0])
    assert found.low < found.value < found.high <= 1.0


@pytest.fixture
def server(monkeypatch):
    """Answers the same seed alike, and counts two hundred tokens of every call."""
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")
    monkeypatch.delenv("COEVO_API_KEY", raising=False)
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    running = Server()
    running.script = lambda number, body: answer(str(body["seed"] % 7 / 7), usage=(150, 50))
    yield running
    running.close()


def test_a_capped_evaluation_goes_on_to_what_it_would_have_been(server, aim, tmp_path):
    """It never pays more than its cap, counts no split that is not whole, and ends like one that had no cap."""
    pytest.importorskip("openai")
    model = f"{server.url}#tiny"
    whole = eval_agent(str(aim), model=model, repeats=2, runs_dir=tmp_path / "whole")
    assert (whole.status, whole.paid["model"].cost) == ("done", None)
    cap = {"max_spent_tokens": 2000}
    capped = eval_agent(str(aim), model=model, repeats=2, allowance=cap, runs_dir=tmp_path / "runs")
    (run,) = (tmp_path / "runs").iterdir()
    assert (capped.status, capped.is_measured) == ("tokens", False)
    assert 0 < capped.paid["model"].tokens_in + capped.paid["model"].tokens_out <= 2000
    assert load_eval(run) == capped
    again = resume_eval(run)
    assert again.status == "tokens"
    assert again.paid["model"].tokens_in + again.paid["model"].tokens_out <= 2000
    done = resume_eval(run, allowance={"max_spent_tokens": 10**6})
    assert (done.status, done.rows) == ("done", whole.rows)
    assert done.paid["model"].tokens_in > capped.paid["model"].tokens_in
    assert resume_eval(run) == done


def test_caps_are_for_servers(aim):
    """A model that lies here costs nothing, and no skill model is asked."""
    with pytest.raises(ConfigError, match="caps and prices are for servers, got model 'one'"):
        make_eval_config({"env": str(aim), "model": "one", "allowance": {"max_spent_tokens": 5}})
    prices = {"price_in": 1, "price_out": 1}
    skill = {"skill_price_in": 1, "skill_price_out": 1}
    with pytest.raises(ConfigError, match="an evaluation has none"):
        make_eval_config({"env": str(aim), "model": "http://h/v1#m", "allowance": prices | skill})
    with pytest.raises(ConfigError, match="max_cost needs prices"):
        make_eval_config({"env": str(aim), "model": "http://h/v1#m", "allowance": {"max_cost": 5}})

"""Whole probes on an engine with eight weights, of which one decides how good a child is."""

import hashlib
import json
import re
from collections import Counter
from contextlib import nullcontext
from pathlib import Path

import numpy as np
import pytest
from damage import drop_end

from coevo.candidate import Evaluation
from coevo.errors import ConfigError, RunError
from coevo.es.history import read_history
from coevo.experiments.probe_assembly import Tools
from coevo.experiments.probe_config import make_probe_config
from coevo.experiments.probe_running import load_probe, resume_probe, run_probe
from coevo.interfaces import Completion
from coevo.learning.models import OpenModel
from coevo.records.event_log import read_events

SIZE = {"steps": 6, "trained": 2, "held_out": 2, "evaluations": 20, "workers": 1}
STRATEGY = {"members": 8, "children": 2, "sigma": 0.1, "alpha": 0.4}
TRAINING = 6 * 8 * 2
EVALUATION = 3 * 2 * 20
"""Before, after and fresh, on two sets."""


class PlantedEngine:
    """A child costs its parent's cost less the first weight, give or take chance; a large weight breaks the program.

    Chance follows from the seed and the prompt alone, as a real engine's does, so that weights are all that differs
    between two answers to the same request.
    """

    def __init__(self, *, breaks_at=np.inf, interrupt_after=np.inf):
        self.requests, self.updates = [], []
        self.weights = np.zeros(8)
        self._breaks_at, self._interrupt_after = breaks_at, interrupt_after

    def generate(self, requests):
        """See `Engine`; last request first."""
        for request in reversed(requests):
            if len(self.requests) >= self._interrupt_after:
                raise KeyboardInterrupt
            self.requests.append(request)
            yield Completion(request.id, self._answer(request), "stop", 5)

    def _answer(self, request):
        weights = self.weights.copy()
        if (member := request.member) is not None:
            weights += member.sign * member.sigma * noise(member.run_key, member.step, member.direction)
        if np.abs(weights).max() > self._breaks_at:
            return "no program"
        digest = hashlib.blake2b(f"{request.seed} {request.text}".encode(), digest_size=4).digest()
        chance = int.from_bytes(digest, "little") / 2**32
        shown = re.findall(r"return (-?[0-9][0-9.e+-]*)\n", request.text)
        cost = float(shown[-1]) - weights[0] + chance - 0.5 if shown else 10 * chance
        return f"def select_next_node(a, b, c, d):\n    return {cost}\n"

    def commit(self, update):
        """See `Engine`."""
        for direction, coefficient in zip(update.directions, update.coefficients, strict=True):
            self.weights = self.weights + coefficient * noise(update.run_key, update.step, direction)
        self.updates.append(update)
        return self.fingerprint()

    def fingerprint(self):
        """See `Engine`."""
        return int.from_bytes(hashlib.blake2b(self.weights.tobytes(), digest_size=8).digest(), "little")

    def close(self):
        """Nothing to release."""


def noise(run_key, step, direction):
    """The direction's noise; any pure function does."""
    return np.random.default_rng([run_key, step, direction]).standard_normal(8)


def judge(code):
    """The cost is the number the program returns; baselines, which return none, are valid too."""
    shown = re.search(r"return (-?[0-9][0-9.e+-]*)\n", code)
    cost = float(shown[1]) if shown else 1.0
    return Evaluation("ok", cost=cost, objective=cost)


@pytest.fixture
def probe(tmp_path, fake_pool):
    """Runs a probe on a planted engine; returns the result and the engine."""

    def run(engine=None, strategy=STRATEGY, **values):
        engine = engine or PlantedEngine()
        config = make_probe_config({"evolution_strategy": strategy, **SIZE, **values})
        return run_probe(config, runs_dir=tmp_path / "runs", tools=tools_of(engine, fake_pool)), engine

    return run


def tools_of(engine, fake_pool):
    """Parts that are Python functions."""
    return Tools(
        model=lambda config, problem: OpenModel(engine, "plain"),
        pool=lambda config, problem: nullcontext(fake_pool(judge)),
    )


def story(result):
    """The events without what depends on the clock."""
    return [{k: v for k, v in e.items() if k != "clock"} for e in read_events(path_of(result) / "events.jsonl")]


def path_of(result):
    """The run directory."""
    return Path(result.run)


def history(result):
    """The recorded steps."""
    return read_history((path_of(result) / "es" / "history.jsonl").read_text().splitlines(keepends=True))


def asked_for(engine, result, purpose):
    """The requests of a purpose, as the engine saw them, by id."""
    rounds = {e["generation"] for e in story(result) if e["kind"] == "round" and e["purpose"] == purpose}
    return {r.id: r for r in engine.requests if int(r.id.split(".")[0]) in rounds}


def test_es_finds_the_planted_direction(probe):
    """Where one weight decides the reward, training raises it on trained, held-out and fresh measurements."""
    result, engine = probe(seed=1)
    assert engine.weights[0] > 0.5
    for when in ("after", "fresh"):
        for parents in ("trained", "held_out"):
            found = result.measured(when, parents)
            assert found.change > 3 * found.change_error
    assert len(result.member_reward) == 6
    assert result.fingerprint == f"{engine.fingerprint():016x}"


def test_completions_are_those_that_were_stated(probe):
    """An independent count at the engine: training, measuring and parents, each as the result says; never more."""
    result, engine = probe()
    budget = result.budget
    assert (budget.training, budget.planned, budget.evaluation) == (TRAINING, TRAINING, EVALUATION)
    for purpose in ("training", "evaluation", "parents"):
        assert len(asked_for(engine, result, purpose)) == getattr(budget, purpose)
    assert len(engine.requests) == budget.training + budget.evaluation + budget.parents
    charged = sum(len(event["requests"]) for event in story(result) if event["kind"] == "asked")
    assert charged == len(engine.requests)


def test_the_same_seed_writes_the_same_bytes(probe):
    """Two probes of one seed have the same events, history and candidates; another seed has others."""
    (first, _), (second, _), (other, _) = probe(seed=3), probe(seed=3), probe(seed=4)
    assert story(first) == story(second) != story(other)
    for name in ("es/history.jsonl", "config.toml"):
        assert (path_of(first) / name).read_bytes() == (path_of(second) / name).read_bytes()
    assert first.model_dump(exclude={"run", "wall_s"}) == second.model_dump(exclude={"run", "wall_s"})


def test_before_and_after_share_seeds_and_prompts_and_nothing_else_does(probe):
    """Measurements before and after ask the very same, of the base; training and fresh measurements ask others."""
    result, engine = probe()
    asked = Counter((r.text, r.seed) for r in asked_for(engine, result, "evaluation").values())
    assert sorted(Counter(asked.values()).items()) == [(1, 2 * 20), (2, 2 * 20)]
    assert all(r.member is None for r in asked_for(engine, result, "evaluation").values())
    training = {r.seed for r in asked_for(engine, result, "training").values()}
    assert not training & {seed for _, seed in asked}


def test_without_steps_nothing_changes(probe):
    """The same weights answer the same: the paired change is exactly 0, and only a fresh measurement differs."""
    result, engine = probe(steps=0)
    assert engine.updates == []
    assert result.measured("after", "trained").change == 0.0
    assert result.measured("fresh", "trained").change != 0.0


def test_noise_only_never_moves_the_weights(probe):
    """Members are perturbed and rewarded, and the fingerprint stays at every step."""
    result, engine = probe(learns=False)
    assert engine.updates == []
    assert {record.fingerprint for record in history(result)} == {f"{PlantedEngine().fingerprint():016x}"}
    assert len({record.rewards for record in history(result)}) == 6
    assert result.measured("after", "held_out").change == 0.0


def test_random_rewards_know_nothing_of_the_children(probe):
    """Updates under random rewards are the same whether children are good, or all of them broken."""
    (_, sound), (_, broken) = probe(rewards="random"), probe(rewards="random", engine=BrokenMembers())
    assert len(sound.updates) == 6
    assert sound.updates == broken.updates


class BrokenMembers(PlantedEngine):
    """Members write no programs at all."""

    def _answer(self, request):
        return "no program" if request.member else super()._answer(request)


def test_equal_rewards_move_nothing(probe):
    """Where every member earns the same the step is recorded without an update."""
    result, engine = probe(engine=BrokenMembers())
    assert engine.updates == []
    assert [record.applied for record in history(result)] == [False] * 6
    assert result.member_valid == (0.0,) * 6


def test_the_guard_refuses_a_collapse_and_narrows_the_noise(probe):
    """Members that all break are refused, σ and α halved each time, until they hold; only then weights move."""
    strategy = {**STRATEGY, "sigma": 8.0, "alpha": 2.0}
    result, engine = probe(engine=PlantedEngine(breaks_at=3.0), guard=True, strategy=strategy)
    records = history(result)
    refused = [event["refused"] for event in story(result) if event["kind"] == "guard"]
    assert refused[:2] == [True, True]
    assert not refused[-1]
    assert result.refused == sum(refused)
    assert [record.applied for record in records] == [not each for each in refused]
    halvings = np.cumsum([0, *refused[:-1]])
    assert [record.sigma for record in records] == [8.0 / 2.0**count for count in halvings]
    assert len(engine.updates) == refused.count(False)
    longest = [max(map(abs, update.coefficients)) for update in engine.updates]
    assert max(longest) < 2.0 / 2 ** sum(refused) / 8 * 3


def test_without_the_guard_the_same_collapse_goes_on(probe):
    """The guard is what changes σ: without it every step keeps its own."""
    strategy = {**STRATEGY, "sigma": 8.0}
    result, _ = probe(engine=PlantedEngine(breaks_at=3.0), strategy=strategy)
    assert {record.sigma for record in history(result)} == {8.0}
    assert result.refused == 0


def test_measurements_on_the_way_are_paired_too(probe):
    """`every` measures between steps, not again at the end, and counts as evaluation."""
    result, engine = probe(every=2)
    during = [(m.step, m.parents) for m in result.measurements if m.when == "during"]
    assert during == [(2, "trained"), (2, "held_out"), (4, "trained"), (4, "held_out")]
    assert all(m.change is not None for m in result.measurements if m.when == "during")
    assert len(asked_for(engine, result, "evaluation")) == result.budget.evaluation == EVALUATION + 4 * 20


@pytest.mark.parametrize("seeds", ["common", "independent"])
@pytest.mark.parametrize("cases", ["common", "independent"])
def test_members_share_prompts_and_seeds_as_told(probe, cases, seeds):
    """In a step every member answers `children` prompts: the same ones if common; a seed is shared only if common."""
    result, engine = probe(cases=cases, seeds=seeds, steps=1, strategy={**STRATEGY, "members": 16})
    by_member = {}
    for request in asked_for(engine, result, "training").values():
        by_member.setdefault(request.member.direction, []).append(request)
    assert {len(requests) for requests in by_member.values()} == {2}
    prompts = {tuple(sorted(r.text for r in requests)) for requests in by_member.values()}
    drawn = {r.seed for requests in by_member.values() for r in requests}
    assert (len(prompts) == 1) == (cases == "common")
    assert len(drawn) == (2 if seeds == "common" else 32)


def test_a_step_asks_distinct_prompts_of_both_operators(probe):
    """As many prompts as there are cases: every trained parent under m1 and m2, once for each member."""
    result, engine = probe(steps=1, strategy={**STRATEGY, "children": 4})
    requests = asked_for(engine, result, "training").values()
    assert set(Counter(r.text for r in requests).values()) == {8}
    assert {r.id.split(".")[1] for r in requests} == {"m1", "m2"}


def test_the_result_on_disk_is_the_one_returned(probe):
    """`result.json` is read back as the same values, and every measurement stands in an event."""
    result, _ = probe()
    assert load_probe(path_of(result)) == result
    events = [e for e in story(result) if e["kind"] == "probe"]
    assert [{k: v for k, v in e.items() if k != "kind"} for e in events] == [
        m.model_dump() for m in result.measurements
    ]


def test_parents_in_files_take_the_place_of_the_models(probe, tmp_path):
    """Given files are all the parents there are; i1 is not asked."""
    files = [tmp_path / f"{cost}.py" for cost in (1, 2, 4, 9)]
    for file in files:
        file.write_text(f"def select_next_node(a, b, c, d):\n    return {file.stem}.0\n")
    result, _ = probe(parents=[str(file) for file in files])
    assert [parent.cost for parent in result.trained] == [1.0, 4.0]
    assert [parent.cost for parent in result.held_out] == [2.0, 9.0]
    assert (result.scale, result.budget.parents) == (8.0, 0)


def test_settings_that_do_not_suit_a_basis_leave_nothing_on_disk(fake_pool, tmp_path):
    """Guided weights have no subspaces; that shows before a run directory is made."""
    tools = Tools(
        model=lambda config, problem: OpenModel(PlantedEngine(), "plain", basis=5),
        pool=lambda config, problem: nullcontext(fake_pool(judge)),
    )
    config = make_probe_config({"evolution_strategy": {**STRATEGY, "subspaces": 2}, **SIZE})
    with pytest.raises(ConfigError, match="1 subspace"):
        run_probe(config, runs_dir=tmp_path / "runs", tools=tools)
    assert not (tmp_path / "runs").exists()


def test_batches_are_recorded_as_those_of_a_search(probe):
    """The same fields with the same meaning: generations count from 1, `valid` counts children."""
    result, _ = probe()
    batches = [event for event in story(result) if event["kind"] == "batch"]
    fields = {"kind", "generation", "operator", "children", "valid", "distinct", "reward"}
    assert [set(batch) for batch in batches] == [fields] * 6
    assert [batch["generation"] for batch in batches] == [1, 2, 3, 4, 5, 6]
    assert {batch["operator"] for batch in batches} == {"m1+m2"}
    assert tuple(batch["valid"] / batch["children"] for batch in batches) == result.member_valid
    assert tuple(batch["reward"] for batch in batches) == result.member_reward


@pytest.mark.parametrize("after", [3, 70, 150])
def test_an_interrupted_probe_goes_on_as_if_nothing_had_happened(probe, fake_pool, tmp_path, after):
    """Interrupted while it measures, trains or writes parents, and resumed: the same events, charges and result."""
    whole, _ = probe(seed=5)
    with pytest.raises(KeyboardInterrupt) as caught:
        probe(seed=5, engine=PlantedEngine(interrupt_after=after))
    run = Path(str(caught.value))
    assert json.loads((run / "result.json").read_text())["status"] == "interrupted"
    resumed = resume_probe(run, tools=tools_of(PlantedEngine(), fake_pool))
    assert [e for e in story(resumed) if e["kind"] != "resumed" and "aside" not in e] == story(whole)
    assert resumed.model_dump(exclude={"run", "wall_s"}) == whole.model_dump(exclude={"run", "wall_s"})
    assert resume_probe(run, tools=Tools()) == resumed
    drop_end(run)
    with pytest.raises(RunError, match="to end with the event finished"):
        resume_probe(run, tools=Tools())

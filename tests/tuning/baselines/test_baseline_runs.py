"""Whole runs of the baselines: they learn, repeat themselves, and go on after an interrupt."""

import pytest

from coevo.engines.loading import inspect_folder
from coevo.errors import ConfigError, RunError
from coevo.records.event_log import read_events
from coevo.tuning.api import load_tuning, resume_tuning, run_tuning
from coevo.tuning.baselines import learner as learner_module
from coevo.tuning.baselines.engine import TraineeEngine
from coevo.tuning.baselines.turns import Journal
from coevo.tuning.config import make_tune_config


@pytest.fixture
def config_of(llama, letter):
    """Makes a configuration of that environment, from any fields."""

    def make(method, **values):
        given = {"env": str(letter), "model": str(llama), "generations": 3, "tasks": 2, "every": 1, "workers": 1}
        tables = {"evolution_strategy": {"members": 8}, "baseline": {"lr": 0.01, "value_lr": 0.05, "minibatch": 16}}
        baseline = {**tables["baseline"], **values.pop("baseline", {})}
        return make_tune_config({"method": method, **given, **tables, "baseline": baseline, **values})

    return make


def events_of(folder):
    """The events of the only run in a folder, without clocks and without what tells of a resume."""
    events = read_events(next(folder.iterdir()) / "events.jsonl")
    return [{k: v for k, v in event.items() if k != "clock"} for event in events if event["kind"] != "resumed"]


@pytest.mark.slow
@pytest.mark.parametrize("method", ["grpo", "ppo"])
def test_a_baseline_learns_to_say_a_letter(method, config_of, tmp_path):
    """The mean score on val rises from chance to most answers, and everything is accounted for."""
    config = config_of(method, generations=25, every=5, evolution_strategy={"members": 24}, repeats=8)
    result = run_tuning(config, runs_dir=tmp_path / "runs")
    assert result.status == "done"
    assert result.start["val"].mean < 0.2
    assert result.chosen["val"].mean > 0.6
    assert result.spent.episodes == result.spent.planned == 25 * 24 * 2
    events = events_of(tmp_path / "runs")
    learned = [event for event in events if event["kind"] == "gradient"]
    assert [event["generation"] for event in learned] == list(range(1, 26))
    assert learned[-1]["fingerprint"] == result.fingerprint
    assert all(event["examples"] == 24 * 2 * 2 and event["updates"] == 6 for event in learned)
    assert learned[-1]["kl"] > 0


@pytest.mark.parametrize("method", ["grpo", "ppo"])
def test_the_chosen_weights_lie_in_a_model_folder(method, config_of, tmp_path):
    """Its fingerprint is the chosen one, also where the weights are not the last, and these weights are reported."""
    result = run_tuning(config_of(method, splits=("test",), baseline={"lr": 0.3}), runs_dir=tmp_path / "runs")
    events = events_of(tmp_path / "runs")
    last = [event for event in events if event["kind"] == "measured"][-1]
    assert last["label"] == ".chosen"
    assert last["mean"] == result.chosen["test"].mean
    assert result.chosen["val"].mean == result.best.mean
    if result.best.generation:
        best = next((tmp_path / "runs").iterdir()) / "gradient" / "best"
        assert f"{fingerprint_of(best):016x}" == result.best.fingerprint


def fingerprint_of(folder):
    """Fingerprint of a model folder as a baseline serves it."""
    from coevo.tuning.baselines.trainee import Trainee

    return Trainee(inspect_folder(folder), scope="full", chat=False).fingerprint()


def dying_after(limit):
    """A replacement of `generate` that is interrupted after so many answers."""
    whole, given = TraineeEngine.generate, [0]

    def generate(self, requests):
        for completion in whole(self, requests):
            given[0] += 1
            if given[0] > limit:
                raise KeyboardInterrupt
            yield completion

    return generate


@pytest.mark.parametrize(("method", "answers"), [("grpo", 3), ("grpo", 50), ("ppo", 75), ("ppo", 110)])
def test_an_interrupted_baseline_goes_on_to_the_same_end(method, answers, config_of, tmp_path, monkeypatch):
    """Wherever it is cut, the continued log and the final weights are those of an uninterrupted run."""
    whole = run_tuning(config_of(method), runs_dir=tmp_path / "whole")
    with monkeypatch.context() as patch:
        patch.setattr(TraineeEngine, "generate", dying_after(answers))
        with pytest.raises(KeyboardInterrupt):
            run_tuning(config_of(method), runs_dir=tmp_path / "cut")
    run = next((tmp_path / "cut").iterdir())
    assert load_tuning(run).status == "interrupted"
    result = resume_tuning(run)
    assert events_of(tmp_path / "cut") == events_of(tmp_path / "whole")
    drop = {"run", "wall_s"}
    assert result.model_dump(exclude=drop) == whole.model_dump(exclude=drop)


def test_a_run_that_dies_between_its_checkpoint_and_its_log_goes_on(config_of, tmp_path, monkeypatch):
    """What was learned is said from the checkpoint; it is not learned twice."""
    whole = run_tuning(config_of("grpo"), runs_dir=tmp_path / "whole")
    save = learner_module.checkpoint.save

    def save_and_die(folder, generation, facts, arrays):
        save(folder, generation, facts, arrays)
        if generation == 2:
            raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(learner_module.checkpoint, "save", save_and_die)
        with pytest.raises(KeyboardInterrupt):
            run_tuning(config_of("grpo"), runs_dir=tmp_path / "cut")
    result = resume_tuning(next((tmp_path / "cut").iterdir()))
    assert result.fingerprint == whole.fingerprint
    assert events_of(tmp_path / "cut") == events_of(tmp_path / "whole")


@pytest.mark.parametrize("method", ["grpo", "ppo"])
def test_a_resumed_baseline_that_is_killed_again_goes_on(method, config_of, tmp_path, monkeypatch):
    """The second time before it has played anything more: what it has to learn from is still there."""
    whole = run_tuning(config_of(method), runs_dir=tmp_path / "whole")
    with monkeypatch.context() as patch:
        patch.setattr(TraineeEngine, "generate", dying_after(50))
        with pytest.raises(KeyboardInterrupt):
            run_tuning(config_of(method), runs_dir=tmp_path / "cut")
    run = next((tmp_path / "cut").iterdir())
    file = run / "gradient" / "turns.jsonl"
    before = file.read_bytes()
    journal = Journal(file)
    after = file.read_bytes()  # what a process that is killed now leaves
    journal.close()
    assert after == before != b""
    result = resume_tuning(run)
    assert result.fingerprint == whole.fingerprint
    assert events_of(tmp_path / "cut") == events_of(tmp_path / "whole")


def test_a_lost_journal_is_found_out(config_of, tmp_path, monkeypatch):
    """Episodes of the log whose turns are gone cannot be learned from, and it is said."""
    monkeypatch.setattr(TraineeEngine, "generate", dying_after(25))
    with pytest.raises(KeyboardInterrupt):
        run_tuning(config_of("grpo"), runs_dir=tmp_path / "cut")
    monkeypatch.undo()
    run = next((tmp_path / "cut").iterdir())
    (run / "gradient" / "turns.jsonl").write_text("")
    with pytest.raises(RunError, match="turns of episode"):
        resume_tuning(run)


@pytest.mark.parametrize(
    ("values", "match"),
    [
        ({"seeds": "common"}, "seeds independent"),
        ({"engine": "vllm"}, "engine auto or torch"),
        ({"learns": False}, "learns true"),
        ({"weights": {"scope": "guided"}}, "whole tensors"),
        ({"es": "low-rank", "weights": {"scope": "linear"}}, "dense"),
        ({"baseline": {"lr": 0.0}}, "lr"),
        ({"method": "dpo"}, "method"),
    ],
)
def test_settings_that_do_not_suit_a_baseline_are_refused(values, match):
    """Every refusal names what does not fit."""
    with pytest.raises(ConfigError, match=match):
        make_tune_config({"env": "sudoku", "method": "grpo", **values})


@pytest.mark.parametrize(
    ("answers", "match"),
    [({"temperature": 0.0}, "above 0"), ({"top_p": 0.8}, "top-p 1"), ({"presence_penalty": 1.5}, "presence penalty")],
)
def test_sampling_that_is_not_plain_is_refused(answers, match, config_of, tmp_path):
    """The gradient would be that of another distribution; nothing is written."""
    with pytest.raises(ConfigError, match=match):
        run_tuning(config_of("ppo", answers=answers), runs_dir=tmp_path / "runs")
    assert not (tmp_path / "runs").exists()


def test_a_loss_that_is_not_finite_ends_the_run(config_of, tmp_path):
    """One line says so and what to lower."""
    with pytest.raises(RunError, match=r"baseline\.lr"):
        run_tuning(config_of("grpo", baseline={"lr": 1e6}), runs_dir=tmp_path / "runs")


def test_only_what_is_in_scope_moves(config_of, llama, tmp_path):
    """Scope linear leaves embeddings and norms as they were."""
    config = config_of("grpo", generations=1, weights={"scope": "linear"})
    run_tuning(config, runs_dir=tmp_path / "runs")
    found = next((tmp_path / "runs").glob("*/gradient/at-1"))
    from coevo.engines.checkpoint import read_headers

    names = {name.partition(":")[2] for name in read_headers(found)}
    assert names
    assert all(".layers." in name and "norm" not in name for name in names)

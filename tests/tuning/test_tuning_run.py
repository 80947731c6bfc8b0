"""Whole tuning runs: they learn, repeat themselves, go on after an interrupt, and account for everything."""

import json
import re
import shutil

import pytest
from damage import drop_end

from coevo.errors import ConfigError, RunError
from coevo.records.event_log import read_events
from coevo.tuning.api import load_tuning, resume_tuning, run_tuning
from coevo.tuning.config import make_tune_config


def events_of(run):
    """The events of a run without their clocks and without what tells of a resume."""
    events = read_events(run / "events.jsonl")
    return [{k: v for k, v in event.items() if k != "clock"} for event in events if event["kind"] != "resumed"]


def test_a_run_learns_and_its_result_is_what_its_events_say(config_of, engines, tmp_path):
    """The mean score on val and on test rises; the numbers of the result are those of the log."""
    result = run_tuning(config_of(splits=("test",), generations=20), runs_dir=tmp_path / "runs")
    assert result.status == "done"
    assert result.chosen["val"].mean > result.start["val"].mean + 0.3
    assert result.chosen["test"].mean > result.start["test"].mean + 0.3
    events = events_of(tmp_path / "runs" / result.run.rsplit("/", 1)[1])
    trained = [event for event in events if event["kind"] == "episode" and ".train." in event["id"]]
    assert result.spent.episodes == len(trained) == result.spent.planned == 20 * 8 * 3
    assert result.spent.tokens == sum(event["tokens"] for event in events if event["kind"] == "episode")
    best = max(
        (event for event in events if event["kind"] == "measured" and event["split"] == "val"),
        key=lambda event: (event["mean"], -event["generation"]),
    )
    assert (result.best.generation, result.best.mean) == (best["generation"], best["mean"])


def test_the_same_seed_gives_the_same_events(config_of, engines, tmp_path):
    """Two runs agree in everything but their clocks; another seed does not."""
    runs = [run_tuning(config_of(seed=seed), runs_dir=tmp_path / f"runs{n}") for n, seed in enumerate((3, 3, 4))]
    one, two, other = (events_of(next((tmp_path / f"runs{n}").iterdir())) for n in range(3))
    assert one == two
    assert one != other
    assert runs[0].fingerprint == runs[1].fingerprint != runs[2].fingerprint


@pytest.mark.parametrize("answers", [1, 40, 97, 200, 330])
def test_an_interrupted_run_goes_on_to_the_same_end(answers, config_of, engines, tmp_path):
    """Wherever it is cut, the continued log is that of an uninterrupted run; no recorded episode is played twice."""
    whole = run_tuning(config_of(splits=("test",)), runs_dir=tmp_path / "whole")
    engines.limit = answers
    with pytest.raises(KeyboardInterrupt) as stopped:
        run_tuning(config_of(splits=("test",)), runs_dir=tmp_path / "cut")
    run = next((tmp_path / "cut").iterdir())
    assert str(run) in str(stopped.value)
    assert load_tuning(run).status == "interrupted"
    recorded = {event["id"] for event in events_of(run) if event["kind"] == "episode"}
    result = resume_tuning(run)
    assert not recorded & {request.id.rsplit(".", 2)[0] for request in engines[-1].requests}
    assert events_of(run) == events_of(next((tmp_path / "whole").iterdir()))
    drop = {"run", "wall_s"}
    assert result.model_dump(exclude=drop) == whole.model_dump(exclude=drop)
    assert resume_tuning(run) == result
    drop_end(run)
    with pytest.raises(RunError, match="to end with the event finished"):
        resume_tuning(run)


def test_a_deleted_history_is_written_anew(config_of, engines, tmp_path, caplog):
    """A run that goes on without its folder `es` says so in a line, and has the same history in the end."""
    run_tuning(config_of(), runs_dir=tmp_path / "whole")
    whole = next((tmp_path / "whole").iterdir())
    engines.limit = 3 * len(engines[0].requests) // 4
    with pytest.raises(KeyboardInterrupt):
        run_tuning(config_of(), runs_dir=tmp_path / "cut")
    run = next((tmp_path / "cut").iterdir())
    assert (run / "es" / "history.jsonl").read_text()
    shutil.rmtree(run / "es")
    resume_tuning(run)
    assert (run / "es" / "history.jsonl").read_text() == (whole / "es" / "history.jsonl").read_text()
    assert [text for text in caplog.messages if "is gone" in text] == [
        f"{run / 'es'} is gone; what was in it is written anew as the run repeats its past"
    ]


def test_a_moved_run_says_where_it_is(config_of, engines, tmp_path):
    """The result of a finished run that is resumed elsewhere names its place there."""
    run_tuning(config_of(generations=1), runs_dir=tmp_path / "runs")
    moved = next((tmp_path / "runs").iterdir()).rename(tmp_path / "moved")
    assert resume_tuning(moved).run == str(moved)


def test_a_task_whose_surroundings_fail_is_dropped_for_all(config_of, engines, tmp_path):
    """Nobody is scored 0 for it, it is counted, and the rest is learned from."""
    config = config_of(options={"fault": "train-1"}, fault_retries=1)
    result = run_tuning(config, runs_dir=tmp_path / "runs")
    events = events_of(next((tmp_path / "runs").iterdir()))
    failed = [event for event in events if event["kind"] == "episode" and event["score"] is None]
    assert {event["task"] for event in failed} == {"train-1"}
    assert "the range is closed" in failed[0]["detail"]
    played = [event for event in events if event["kind"] == "played"]
    assert [event["dropped"] for event in played] == [["train-1"], [], ["train-1"], [], ["train-1"], []]
    assert result.dropped == 3
    steps = [event for event in events if event["kind"] == "step"]
    assert all(len(set(step["rewards"])) > 1 for step in steps)


def test_a_run_gives_up_when_nothing_can_be_played(config_of, engines, tmp_path, aim):
    """After three empty generations it ends with a status of its own, and the weights have not moved."""
    code = (aim / "environment.py").read_text().replace("if task.name == self._fault:", "if 'train' in task.name:")
    (aim / "environment.py").write_text(code)
    result = run_tuning(config_of(fault_retries=0), runs_dir=tmp_path / "runs")
    assert (result.status, result.generations, engines[0].updates) == ("surroundings-failed", 3, [])
    assert result.best.generation == 0


def test_the_chosen_weights_are_reached_along_the_history(config_of, engines, tmp_path):
    """Where a later measurement is worse, a model opened anew is taken to the better one and measured on the splits."""
    config = config_of(splits=("test",), strategy={"alpha": 5.0}, generations=8)
    result = run_tuning(config, runs_dir=tmp_path / "runs")
    assert result.best.generation < 8
    assert len(engines) == 2
    assert f"{engines[1].fingerprint():016x}" == result.best.fingerprint != result.fingerprint


def test_members_are_dealt_the_same_tasks_and_seeds(config_of, engines, tmp_path):
    """With common seeds all members of a step answer the same prompts under the same seeds; else under their own."""
    for seeds, expected in (("common", 1), ("independent", 8)):
        engines.clear()
        run_tuning(config_of(seeds=seeds, generations=1), runs_dir=tmp_path / seeds)
        first = [r for r in engines[0].requests if r.id.startswith("1.train.train-0.0.") and r.id.endswith(".0.0")]
        assert len(first) == 8
        assert len({request.seed for request in first}) == expected
        assert len({request.text for request in first}) == 1


def test_noise_alone_moves_nothing(config_of, engines, tmp_path):
    """Without learning the members play and the fingerprint stays."""
    result = run_tuning(config_of(learns=False), runs_dir=tmp_path / "runs")
    assert engines[0].updates == []
    assert result.fingerprint == f"{engines[0].fingerprint():016x}"


def test_a_target_ends_a_run(config_of, engines, tmp_path):
    """It is compared with measurements, and the status says so."""
    result = run_tuning(config_of(target=0.2, generations=40), runs_dir=tmp_path / "runs")
    assert result.status == "target"
    assert result.generations < 40


@pytest.mark.parametrize(
    ("values", "match"),
    [
        ({"tasks": 7}, "7 training tasks or more, got 6"),
        ({"splits": ("exam",)}, "'exam'"),
        ({"options": {"colour": 1}}, "'colour'"),
        ({"options": {"turns": "many"}}, "turns"),
    ],
)
def test_what_does_not_fit_is_refused_before_anything_is_written(values, match, config_of, engines, tmp_path):
    """One line names it, and there is no run directory."""
    with pytest.raises(ConfigError, match=match):
        run_tuning(config_of(**values), runs_dir=tmp_path / "runs")
    assert not (tmp_path / "runs").exists()


@pytest.mark.parametrize(
    ("values", "match"),
    [
        ({"env": "math"}, "--model for math"),
        ({"env": "sudoku", "model": "http://host/v1#m"}, "moves weights"),
        ({"env": "sudoku", "es": "low-rank", "weights": {"scope": "full"}}, "scope linear"),
        ({"env": "sudoku", "weights": {"scope": "none"}}, "eval-agent"),
        ({"env": "sudoku", "generations": 0}, "generations"),
        ({"env": "sudoku", "answers": {"temperature": -1}}, "temperature"),
        ({"env": "sudoku", "options": 3}, "options"),
    ],
)
def test_a_configuration_that_makes_no_sense_is_refused(values, match):
    """Every refusal names what does not fit."""
    with pytest.raises(ConfigError, match=match):
        make_tune_config(values)


def test_an_edited_log_is_found_out(config_of, engines, tmp_path):
    """A resumed run notices an episode event that lacks something."""
    engines.limit = 60
    with pytest.raises(KeyboardInterrupt):
        run_tuning(config_of(), runs_dir=tmp_path / "runs")
    run = next((tmp_path / "runs").iterdir())
    lines = (run / "events.jsonl").read_text().splitlines()
    place = next(n for n, line in enumerate(lines) if '"kind":"episode"' in line)
    lines[place] = json.dumps({**json.loads(lines[place]), "ended": "luck"})
    (run / "events.jsonl").write_text("\n".join(lines) + "\n")
    with pytest.raises(RunError, match="luck"):
        resume_tuning(run)


def test_an_environment_that_does_not_open_is_refused_at_once(config_of, engines, tmp_path, aim):
    """One line, and no run directory: it would be a fault of every episode."""
    code = (
        (aim / "environment.py")
        .read_text()
        .replace("    return Aim(", '    raise EnvironmentFault("no range")\n    return Aim(')
    )
    (aim / "environment.py").write_text(code)
    with pytest.raises(ConfigError, match="no range"):
        run_tuning(config_of(), runs_dir=tmp_path / "runs")
    assert not (tmp_path / "runs").exists()


def test_a_skill_is_distilled_on_the_way_and_stands_in_the_prompts_from_then_on(config_of, engines, tmp_path):
    """Its completions are charged apart; a run that is cut after an update goes on to the same end."""
    whole = run_tuning(config_of(skill_every=2), runs_dir=tmp_path / "whole")
    events = events_of(next((tmp_path / "whole").iterdir()))
    updates = [event for event in events if event["kind"] == "skill"]
    assert [event["generation"] for event in updates] == [2, 4]
    assert "somewhat larger number" in updates[0]["text"]
    asked = sum(len(event["requests"]) for event in events if event["kind"] == "asked")
    assert whole.spent.skill == asked > 0
    prompts = {r.id: r.text for r in engines[0].requests}
    assert all(("larger number" in text) == (int(name.split(".")[0]) > 2) for name, text in prompts.items()
               if ".train." in name)  # fmt: skip
    engines.limit = len(engines[0].requests) - 20
    with pytest.raises(KeyboardInterrupt):
        run_tuning(config_of(skill_every=2), runs_dir=tmp_path / "cut")
    run = next((tmp_path / "cut").iterdir())
    resume_tuning(run)
    assert events_of(run) == events


def test_a_run_that_begins_at_its_target_plays_no_generation(config_of, engines, tmp_path):
    """The first measurement decides, and its weights are the chosen ones."""
    result = run_tuning(config_of(target=-1.0, splits=("test",)), runs_dir=tmp_path / "runs")
    assert (result.status, result.generations, result.spent.episodes) == ("target", 0, 0)
    assert result.best.generation == 0
    assert result.chosen["test"].mean == result.start["test"].mean


@pytest.mark.parametrize("splits", [("train",), ("val",), ("test", "test")])
def test_splits_that_are_played_anyway_or_twice_are_refused(splits, config_of):
    """Their episodes would have the names of others."""
    with pytest.raises(ConfigError, match="split"):
        config_of(splits=splits)


BROKEN = {
    "tasks raise": ("tasks", "raise KeyError('x')"),
    "tasks exit": ("tasks", "raise SystemExit(7)"),
    "tasks are nothing": ("tasks", "return None"),
    "tasks are texts": ("tasks", "return ['a', 'b']"),
    "names are no text": ("tasks", "return [Task('\\ud800', {})]"),
    "open raises": ("open", "raise OSError('gone')"),
    "open exits": ("open", "raise SystemExit(7)"),
    "open gives nothing": ("open", "return None"),
    "close raises": ("close", "raise ValueError('no')"),
    "close exits": ("close", "raise SystemExit(7)"),
}
"""What is wrong -> the function whose body begins with that line."""


@pytest.mark.parametrize("fault", BROKEN)
def test_a_broken_environment_is_refused_at_the_start_in_one_line(fault, config_of, engines, tmp_path, aim):
    """With the environment's name or folder; nothing has been written, and nothing ends the process."""
    function, line = BROKEN[fault]
    code = (aim / "environment.py").read_text()
    (heading,) = re.findall(rf"^ *def {function}\(.*:\n", code, flags=re.MULTILINE)
    indent = " " * (len(heading) - len(heading.lstrip()) + 4)
    (aim / "environment.py").write_text(code.replace(heading, f"{heading}{indent}{line}\n"))
    with pytest.raises(ConfigError, match="aim"):
        run_tuning(config_of(), runs_dir=tmp_path / "runs")
    assert not (tmp_path / "runs").exists()


def test_a_run_that_never_played_has_not_done_its_job(config_of, engines, tmp_path, aim):
    """Also where its generations are too few to give up on the way."""
    code = (aim / "environment.py").read_text()
    begin = "    def reset(self, task, seed):\n"
    assert begin in code
    broken = (
        begin + "        if task.name.startswith('train'):\n            raise EnvironmentFault('the range is closed')\n"
    )
    (aim / "environment.py").write_text(code.replace(begin, broken))
    result = run_tuning(config_of(generations=2, fault_retries=0), runs_dir=tmp_path / "runs")
    assert result.status == "surroundings-failed"

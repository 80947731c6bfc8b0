import json

import pytest

from coevo.errors import ConfigError, RunError
from coevo.records.event_log import EventLog
from coevo.records.run_directory import RunDirectory
from coevo.searching.config import make_config


@pytest.fixture
def make_pair(tmp_path, ticking):
    """Makes two runs of two children; the second has another seed, and has not ended."""

    def make(number):
        config = make_config({"budget": 2, "seed": number, "method": ("eoh", "grammar")[number]})
        run = RunDirectory.create(tmp_path, f"run{number}", config.model_dump(mode="json"))
        with EventLog(run.events, now=ticking) as log:
            log.emit("started", fingerprint=f"{number:016x}")
            log.emit("asked", generation=1, operator="m1", requests=[{"id": "a"}, {"id": "b"}])
            for name, objective in (("a", 4.0 + number), ("b", None)):
                log.emit("completion", id=name, text="", finish="stop", tokens=5)
                verdict = {"candidate": name, "role": "candidate", "cost": objective, "objective": objective}
                log.emit("verdict", clock={"cpu_s": 0.5}, split="search", **verdict)
                status = "crash" if objective is None else "ok"
                log.emit("child", id=name, operator="m1", status=status, cost=objective)
            log.emit("batch", operator="m1", children=2, valid=1, reward=-0.125)
        if number == 0:
            run.save_result(
                {
                    "status": "done",
                    "best": {"candidate": "a", "cost": 4.0, "objective": 4.0},
                    "splits": {"search": {"objective": 4.0, "gap": 0.25}},
                    "comparisons": {},
                    "budget": {"operator": 2, "planned": 2},
                    "fingerprint": "0" * 16,
                    "wall_s": 9.0,
                    "run": str(run.path),
                }
            )
        return run.path

    return lambda: (make(0), make(1))


def test_runs_stand_side_by_side(coevo, make_pair):
    """Status, results, costs, operators and the settings that differ."""
    lines = [" ".join(line.split()) for line in coevo("compare", *make_pair()).stdout.splitlines()]
    for line in [
        "status done unfinished",
        "best on search 4 5",
        "search 4 –",
        "25.00 %",
        "completions 2 of 2 2 of 2",
        "tokens 10 10",
        "wall time 8.0 s 8.0 s",
        "evaluator, all 1.0 s 1.0 s",
        "fingerprint 0000000000000000 0000000000000001",
        "m1: valid 50.00 % of 2 50.00 % of 2",
        "m1: reward -0.125 -0.125",
        "method eoh grammar",
        "seed 0 1",
    ]:
        assert line in lines, lines
    assert not [line for line in lines if line.startswith("budget")]


def test_the_json_has_every_number(coevo, make_pair):
    """One document: the runs, and the settings that differ."""
    found = json.loads(coevo("compare", *make_pair(), "--json").stdout)
    assert found["configs"] == {"method": ["eoh", "grammar"], "seed": [0, 1]}
    first, second = found["runs"]
    assert first["splits"]["search"] == {"objective": 4.0, "spread": None, "gap": 0.25}
    assert second["operators"] == {"m1": {"children": 2, "valid": 1, "reward": -0.125}}
    assert (second["status"], second["best"], second["tokens"]) == ("unfinished", 5.0, 10)


def test_one_run_or_none_is_refused(coevo, make_pair, tmp_path):
    """Two runs at least, and each of them a run directory."""
    with pytest.raises(ConfigError, match="two run directories or more to compare, got 1"):
        coevo("compare", make_pair()[0])
    with pytest.raises(RunError, match="expected a run directory"):
        coevo("compare", make_pair()[0], tmp_path / "nothing")

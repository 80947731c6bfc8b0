import json
from io import StringIO

import pytest
from rich.console import Console

from coevo.cli.compare import _tables
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
            log.emit("started", fingerprint=f"{number:016x}", references={"search": 3.2}, baselines={})
            log.emit("asked", generation=1, operator="m1", requests=[{"id": "a"}, {"id": "b"}])
            for name, objective in (("a", 4.0 + number), ("b", None)):
                log.emit("completion", id=name, text="", finish="stop", tokens=5)
                verdict = {"candidate": name, "role": "candidate", "cost": objective, "objective": objective}
                log.emit("verdict", clock={"cpu_s": 0.5}, split="search", **verdict)
                status = "crash" if objective is None else "ok"
                log.emit("child", id=name, operator="m1", status=status, cost=objective, detail="")
            log.emit("batch", operator="m1", children=2, valid=1, reward=-0.125)
            if number == 0:
                log.emit("finished", status="done", best="a")
        if number == 0:
            best = {"candidate": "a", "cost": 4.0, "objective": 4.0}
            run.save_result(
                {
                    "status": "done",
                    "best": best,
                    "first": best,
                    "explanation": "1 of 2 children were valid, with 1 different costs, none below the first; "
                    "most frequent failures: crash: ",
                    "splits": {"search": {"objective": 4.0, "gap": (4.0 - 3.2) / 3.2}},
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
        "wall time, no pauses 9.0 s 8.0 s",
        "evaluator, all 1.0 s 1.0 s",
        "fingerprint 0000000000000000 0000000000000001",
        "m1: valid 50.00 % of 2 50.00 % of 2",
        "m1: reward -0.125 -0.125",
        "method eoh grammar",
        "seed 0 1",
    ]:
        assert line in lines, lines
    assert not [line for line in lines if line.startswith("budget")]


def test_many_runs_stand_in_several_tables_that_fit(coevo, make_pair):
    """No cell is folded: a fingerprint of sixteen digits stays on one line, in order of the runs."""
    shown = coevo("compare", *make_pair() * 5).stdout.splitlines()
    words = [line.split() for line in shown]
    found = [cell for line in words if line[:1] == ["fingerprint"] for cell in line[1:]]
    assert found == [f"{number % 2:016x}" for number in range(10)]
    heads = [cell for line in words if line and all(word.isdigit() for word in line) for cell in line]
    assert heads[:10] == [str(number) for number in range(1, 11)]
    assert max(len(line) for line in shown if "/" not in line) <= 80


def test_the_json_has_every_number(coevo, make_pair):
    """One document: the runs, and the settings that differ."""
    found = json.loads(coevo("compare", *make_pair(), "--json").stdout)
    assert found["configs"] == {"method": ["eoh", "grammar"], "seed": [0, 1]}
    first, second = found["runs"]
    assert first["splits"]["search"] == {"objective": 4.0, "spread": None, "gap": (4.0 - 3.2) / 3.2}
    assert second["operators"] == {"m1": {"children": 2, "valid": 1, "reward": -0.125}}
    assert (second["status"], second["best"], second["tokens"]) == ("unfinished", 5.0, 10)


def test_one_run_or_none_is_refused(coevo, make_pair, tmp_path):
    """Two runs at least, and each of them a run directory."""
    with pytest.raises(ConfigError, match="two run directories or more to compare, got 1"):
        coevo("compare", make_pair()[0])
    with pytest.raises(RunError, match="expected a run directory"):
        coevo("compare", make_pair()[0], tmp_path / "nothing")


def cut(run, lines):
    """Leave only so many events, and no result."""
    file = run / "events.jsonl"
    file.write_text("".join(file.read_text().splitlines(keepends=True)[:lines]))
    (run / "result.json").unlink(missing_ok=True)


def test_a_run_that_has_just_begun_is_a_column(coevo, make_pair):
    """At whatever event it was stopped; what is not known yet is a dash."""
    first, second = make_pair()
    for lines in range(9, 0, -1):
        cut(first, lines)
        shown = [" ".join(line.split()) for line in coevo("compare", first, second).stdout.splitlines()]
        assert "status unfinished unfinished" in shown
        assert json.loads(coevo("compare", first, second, "--json").stdout)["runs"][0]["status"] == "unfinished"
    assert "best on search – 5" in shown
    assert "completions 0 of 2 2 of 2" in shown


@pytest.mark.parametrize("page", [False, True])
def test_what_is_no_run_of_a_search_is_one_line(coevo, make_pair, tmp_path, page):
    """A probe, a run without an event, and events that are none of a search: refused by name, nothing is written."""
    first, second = make_pair()
    to = tmp_path / "page.html"
    flags = ("--page", to) if page else ()
    probe = RunDirectory.create(tmp_path, "probe", {"kind": "probe"})
    with EventLog(probe.events, now=lambda: 0.0) as log:
        log.emit("started", experiment="probe")
    probe.save_result({"status": "done"})
    for event in ({"kind": "child"}, {"kind": "verdict", "split": 3}, {"kind": "asked", "operator": "m1"}, {"kind": 7}):
        (second / "events.jsonl").write_text(json.dumps({**event, "clock": {"time": 1.0}}) + "\n")
        assert_one_line(coevo, second.name, "compare", first, second, *flags)
    cut(second, 0)
    (second / "events.jsonl").unlink()
    assert_one_line(coevo, "to have begun", "compare", first, second, *flags)
    assert_one_line(coevo, "got a probe", "compare", first, probe.path, *flags)
    assert not to.exists()


def assert_one_line(coevo, fragment, *arguments):
    """The command is refused with one line that holds a fragment."""
    with pytest.raises(RunError) as refusal:
        coevo(*arguments)
    assert fragment in str(refusal.value)
    assert str(refusal.value).isprintable()


def test_a_long_name_is_folded_and_not_cut():
    """No letter of a setting's name is lost, however narrow the terminal."""
    name = "evolution_strategy.subspace_unit"
    out = Console(file=StringIO(), width=60)
    for table in _tables("settings", {name: ["element"] * 2}, 60):
        out.print(table)
    first = [line[:26].strip() for line in out.file.getvalue().splitlines()]
    assert name in "".join(first)

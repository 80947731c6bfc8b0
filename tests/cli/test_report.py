import json
import os
import re
from pathlib import Path

import pytest

from coevo.errors import ConfigError, RunError
from coevo.searching.config import make_config


@pytest.fixture
def tiny_run(tiny_problem, tiny_script, tmp_path):
    """A finished search of a scripted engine on a problem that evaluates in a millisecond."""
    from coevo.searching.api import run_search

    values = {"problem": str(tiny_problem), "model": str(tiny_script), "engine": "scripted", "budget": 40, "workers": 1}
    result = run_search(make_config({**values, "batch": 4, "population": 4}), runs_dir=tmp_path / "runs")
    return tmp_path / "runs" / result.run.rpartition("/")[2], result


@pytest.mark.slow
def test_a_search_becomes_a_page(coevo, tiny_run):
    """The page of a real run states the result's own numbers, gaps and names, and runs the problem's code on demand."""
    run, result = tiny_run
    done = coevo("report", run, "--json")
    page = (run / "report.html").read_text()
    assert json.loads(done.output) == {"page": str(run / "report.html")}
    values = [float(value) for value in re.findall(r'<data value="([^"]*)">', page)]
    assert result.best.objective in values
    assert {split.objective for split in result.splits.values()} <= set(values)
    assert {s.objective for row in result.comparisons.values() for s in row.values()} <= set(values)
    assert "whose code would run" in page
    coevo("report", run, "--draw")
    assert "Not drawn: the problem tiny does not draw its solutions" in (run / "report.html").read_text()
    children = [json.loads(line) for line in (run / "events.jsonl").read_text().splitlines()]
    best = min(e["cost"] for e in children if e["kind"] == "child" and e["cost"] is not None)
    curve = re.search(r'data-series="best so far" data-x="[^"]*" data-y="([^"]*)"', page)[1]
    assert float(curve.split()[-1]) == best


@pytest.mark.slow
def test_a_search_that_finds_nothing_becomes_a_page(coevo, tiny_problem, tmp_path):
    """Sampling without one valid child leaves no best and no worst: a page, a comparison, and no traceback."""
    from coevo.searching.api import run_search

    script = tmp_path / "bad.json"
    script.write_text(json.dumps([{"text": "I would rather not."}]))
    values = {"problem": str(tiny_problem), "model": str(script), "engine": "scripted", "budget": 8, "workers": 1}
    config = make_config(
        {**values, "method": "sample", "compare": False, "evolution_strategy": {"members": 2, "children": 2}}
    )
    run = Path(run_search(config, runs_dir=tmp_path / "runs").run)
    events = [json.loads(line) for line in (run / "events.jsonl").read_text().splitlines()]
    assert any(e["kind"] == "generation" and e["best"] is None for e in events)
    coevo("report", run)
    assert "stopped: no candidate" in (run / "report.html").read_text()
    coevo("compare", run, run, "--page", tmp_path / "both.html")
    assert "2 runs side by side" in (tmp_path / "both.html").read_text()


@pytest.mark.slow
def test_a_probe_becomes_a_page(coevo, tiny_problem, tmp_path):
    """The page of a real probe states the measurements of its result."""
    bodies = [f"return worths ** {n / 10} / durations" for n in range(20)]
    script = tmp_path / "answers.json"
    answers = [f"```python\ndef priority(durations, worths):\n    {body}\n```" for body in bodies]
    script.write_text(json.dumps([{"text": answer} for answer in [*answers, "I would rather not."]]))
    small = ("--steps", 2, "--members", 4, "--children", 2, "--trained", 2, "--held-out", 2, "--evaluations", 8)
    done = coevo(
        "probe", "--problem", tiny_problem, "--model", script, "--engine", "scripted", *small, "--workers", 1,
        "--guard", "--json", "--runs-dir", tmp_path / "runs",
    )  # fmt: skip
    result = json.loads(done.stdout)
    coevo("report", result["run"])
    page = (Path(result["run"]) / "report.html").read_text()
    values = [float(value) for value in re.findall(r'<data value="([^"]*)">', page)]
    for found in result["measurements"]:
        assert {found["reward"], found["standard_error"], found["valid"]} <= set(values)
    assert {*result["member_valid"], *result["member_reward"]} <= set(values)


def test_the_page_goes_where_it_should(coevo, run_directory, tmp_path):
    """With --to the page is that file, and nothing is written into the run directory."""
    before = sorted(run_directory.path.iterdir())
    to = tmp_path / "page.html"
    assert coevo("report", run_directory.path, "--to", to, "--no-draw").output == f"page: {to}\n"
    assert "</html>" in to.read_text()
    assert sorted(run_directory.path.iterdir()) == before


@pytest.mark.parametrize("flag", ["report", "compare"])
def test_a_page_takes_the_place_of_a_page_alone(coevo, run_directory, tmp_path, flag):
    """A file of the run or the user's, a link, a pipe, a folder and a missing folder are refused and left alone."""
    run = run_directory.path
    (run / "events.jsonl").write_text("")
    mine = tmp_path / "mine.html"
    mine.write_text("<p>mine</p>")
    (tmp_path / "link.html").symlink_to(tmp_path / "page.html")
    os.mkfifo(tmp_path / "pipe.html")
    before = {file: file.read_bytes() for file in (mine, run / "events.jsonl", run / "config.toml")}
    refused = [*before, tmp_path / "link.html", tmp_path / "pipe.html", tmp_path, tmp_path / "no" / "page.html"]
    refused += [run / "notes.html", run / "es" / "report.html", tmp_path / ("x" * 300)]

    def command(to):
        return ("report", run, "--no-draw", "--to", to) if flag == "report" else ("compare", run, run, "--page", to)

    names = sorted(tmp_path.rglob("*"))
    for to in refused:
        with pytest.raises(ConfigError) as refusal:
            coevo(*command(to))
        assert f" {to}" in str(refusal.value)
        assert ".tmp" not in str(refusal.value)
    assert {file: file.read_bytes() for file in before} == before
    assert sorted(tmp_path.rglob("*")) == names
    for _ in range(2):
        coevo(*command(tmp_path / "page.html"))
        coevo(*command(run / "report.html"))
    assert "</html>" in (tmp_path / "page.html").read_text()


def test_a_run_that_has_only_begun_has_a_page(coevo, run_directory):
    """Without an event there is a page that says so."""
    coevo("report", run_directory.path)
    assert "No candidate has been judged yet" in (run_directory.path / "report.html").read_text()


def test_what_is_no_run_is_refused(coevo, tmp_path):
    """A folder that is no run gets no page."""
    with pytest.raises(RunError, match=r"a run directory \(with config\.toml\) or the folder of a grid .* cells\.csv"):
        coevo("report", tmp_path)
    assert list(tmp_path.iterdir()) == []
    with pytest.raises(RunError, match="nowhere, which does not exist"):
        coevo("report", tmp_path / "nowhere")

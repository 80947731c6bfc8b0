"""Landscapes with a model of one weight: every point is the weights it says, and noise is told from structure."""

import csv
import json
import re
from pathlib import Path

import numpy as np
import pytest
from aiming import noise, write_environment
from damage import drop_end
from hypothesis import given, settings
from hypothesis import strategies as st
from one_weight_models import install

from coevo.errors import ConfigError, RunError
from coevo.experiments.landscape import compared, load_landscape, resume_landscape, run_landscape
from coevo.records.event_log import read_events
from coevo.reporting.writing import write_page
from coevo.tuning.api import run_tuning
from coevo.tuning.config import PLAYER_STRATEGY, make_tune_config
from coevo.tuning.landscape import make_landscape_config, member_at, row_update


@pytest.fixture
def aim(tmp_path):
    """The environment's folder."""
    return write_environment(tmp_path / "aim")


@pytest.fixture
def engines(monkeypatch):
    """The engines opened: models of one weight."""
    return install(monkeypatch)


@pytest.fixture
def config_of(aim):
    """Makes a configuration of a small plane, wide enough to reach the targets."""

    def make(**values):
        given = {"env": str(aim), "model": "one", "points": 5, "radius": 2.0, "tasks": 4, "workers": 1}
        return make_landscape_config({**given, "answers": {"temperature": 0.0}, **values})

    return make


def events_of(run):
    """The events of a run without their clocks and without what tells of a resume."""
    events = read_events(run / "events.jsonl")
    return [{k: v for k, v in event.items() if k != "clock"} for event in events if event["kind"] != "resumed"]


def expected(config, a, b):
    """The score at a point, from the weight that the plane's formula gives."""
    key = row_update(config, 1.0, 0).run_key
    weight = a * noise(key, 0, 0) + b * noise(key, 0, 1)
    return np.mean([max(0.0, 1 - abs(weight - (1.0 + n / 10))) for n in range(4)])


def test_every_point_is_the_weights_it_says(config_of, engines, tmp_path):
    """Scores are those of θ + a·d₁ + b·d₂; each row is a model opened anew and moved at most once."""
    config = config_of()
    result = run_landscape(config, runs_dir=tmp_path / "runs")
    assert [(p.row, p.column) for p in result.points] == [(row, column) for row in range(5) for column in range(5)]
    for point in result.points:
        assert point.mean == pytest.approx(expected(config, point.a, point.b), abs=1e-6)
    assert [len(engine.updates) for engine in engines] == [0, 1, 1, 0, 1, 1]
    centre = result.points[12]
    assert (centre.a, centre.b, centre.difference, centre.differs) == (0.0, 0.0, 0.0, False)
    run = next((tmp_path / "runs").iterdir())
    rows = list(csv.DictReader((run / "points.csv").read_text().splitlines()))
    assert [float(row["mean"]) for row in rows] == [point.mean for point in result.points]
    assert load_landscape(run) == result


@pytest.mark.parametrize("answers", [3, 45, 99, 170])
def test_an_interrupted_landscape_goes_on_to_the_same_end(answers, config_of, engines, tmp_path):
    """Rows that are on record open no model again; log, points and table are those of an uninterrupted one."""
    config = config_of()
    whole = run_landscape(config, runs_dir=tmp_path / "whole")
    opened, total = len(engines), sum(len(engine.requests) for engine in engines)
    assert total == 5 * 5 * 4 * 2
    row, left = divmod(answers, total // 5)
    engines.limits = {opened + 1 + row: left}
    with pytest.raises(KeyboardInterrupt):
        run_landscape(config, runs_dir=tmp_path / "cut")
    run = next((tmp_path / "cut").iterdir())
    assert load_landscape(run).status == "interrupted"
    before = len(engines)
    result = resume_landscape(run)
    assert len(engines) - before == opened - row
    assert events_of(run) == events_of(next((tmp_path / "whole").iterdir()))
    drop = {"run", "wall_s"}
    assert result.model_dump(exclude=drop) == whole.model_dump(exclude=drop)
    assert resume_landscape(run) == result
    drop_end(run)
    with pytest.raises(RunError, match="to end with the event finished"):
        resume_landscape(run)


def test_the_page_shows_every_point_and_its_error(config_of, engines, tmp_path):
    """Cells carry the exact scores and errors; those that cannot be told from the centre are hatched."""
    result = run_landscape(config_of(), runs_dir=tmp_path / "runs")
    run = next((tmp_path / "runs").iterdir())
    page = write_page(run).read_text()
    cells = re.findall(r'<rect [^>]*class="cell"[^>]*data-value="([^"]*)"', page)
    assert [float(cell) for cell in cells[:25]] == [point.mean for point in result.points]
    assert [float(cell) for cell in cells[25:]] == [point.error for point in result.points]
    assert f">{result.differing}</dd>" in page
    assert "<script" not in page
    lines = (run / "events.jsonl").read_text().splitlines()
    for count in (0, 1, 30, 90):
        (run / "events.jsonl").write_text("".join(f"{line}\n" for line in lines[:count]))
        assert "unfinished" in write_page(run).read_text()


def test_noise_alone_differs_nowhere(config_of, engines, tmp_path):
    """A plane so small that no score moves has no differing point, and every cell is hatched."""
    result = run_landscape(config_of(radius=1e-12), runs_dir=tmp_path / "runs")
    assert result.differing == 0


def test_members_and_rows_are_the_formula():
    """A point's member is ±|a| along the first direction, a row's update b along the second, both exact in fp32."""
    config = make_landscape_config({"env": "sudoku", "points": 31, "radius": 0.005})
    assert len(config.offsets) == 31
    assert config.offsets[15] == 0.0
    assert config.offsets[0] == -config.offsets[-1]
    assert all(float(np.float32(value)) == value for value in config.offsets)
    left = member_at(config, config.offsets[0], 0)
    assert (left.direction, left.sign, left.sigma) == (0, -1, config.offsets[-1])
    assert member_at(config, 0.0, 0) is None
    assert row_update(config, 0.25, 0).directions == (1,)
    assert make_landscape_config({"env": "sudoku"}).radius == pytest.approx(5 * PLAYER_STRATEGY["sigma"])


def test_what_is_no_plane_is_refused(aim):
    """One line says why."""
    for values, match in (
        ({"points": 4}, "odd"),
        ({"points": 1}, "points"),
        ({"radius": 0}, "radius"),
        ({"split": 3}, "split"),
    ):
        with pytest.raises(ConfigError, match=match):
            make_landscape_config({"env": str(aim), "model": "one", **values})


@settings(max_examples=60, deadline=None)
@given(st.lists(st.floats(-1, 1), min_size=2, max_size=30))
def test_a_difference_and_its_mirror_image_differ_alike(values):
    """The test is two-sided: signs do not matter, and no difference at all never differs."""
    mean, error, differs = compared(values)
    mirrored = compared([-value for value in values])
    assert mirrored == (pytest.approx(-mean), pytest.approx(error), differs)
    assert compared([0.0] * len(values)) == (0.0, 0.0, False)


@pytest.mark.parametrize(("count", "differs"), [(2, False), (5, False), (6, True)])
def test_equal_differences_differ_once_they_are_enough(count, differs):
    """Two of two are no evidence; six heads of a fair coin are one in thirty-two, both signs together."""
    assert compared([1.0] * count) == (1.0, 0.0, differs)
    assert compared([0.0] * count) == (0.0, 0.0, False)


def test_the_command_writes_points_and_page(coevo_command, aim, engines, tmp_path):
    """`coevo landscape` ends with both files; JSON has the points."""
    flags = ["landscape", "--env", aim, "--model", "one", "--points", 3, "--tasks", 2, "--runs-dir", tmp_path / "runs"]
    done = coevo_command(*flags, "--json")
    assert done.exit_code == 0
    result = json.loads(done.stdout)
    run = tmp_path / "runs" / result["run"].rsplit("/", 1)[1]
    assert {"points.csv", "report.html"} <= {file.name for file in run.iterdir()}
    assert len(result["points"]) == 9
    assert "row 3: 6 of 9 points done" in done.stderr
    again = coevo_command("resume", run)
    assert "of 8 points differ from the centre; 0.4 would by chance" in again.stdout
    assert "of 8; 0.4 would by chance" in (run / "report.html").read_text()


def test_the_page_has_no_path_of_the_machine_in_its_head(config_of, engines, tmp_path):
    """Of a run that is surveyed its name is enough; the configuration at the end has the path."""
    tuned = tune_for_landscape(config_of, tmp_path)
    config = make_landscape_config({"points": 3, "tasks": 2}, run=tuned, generation="last")
    run = Path(run_landscape(config, runs_dir=tmp_path / "runs").run)
    page = write_page(run).read_text()
    head = page[: page.index('id="repeat"')]
    assert f"weights of <b>{Path(tuned).name}</b> after generation" in head
    assert str(tmp_path) not in head
    assert str(tmp_path) in page


def tune_for_landscape(config_of, tmp_path):
    """The directory of a short tuning run in the same environment."""
    config = config_of()
    values = {"env": config.env, "model": "one", "generations": 1, "tasks": 2, "workers": 1}
    strategy = {"members": 4, "sigma": 0.2, "sigma_end": 0.05, "alpha": 0.3}
    tuned = make_tune_config({**values, "evolution_strategy": strategy})
    return run_tuning(tuned, runs_dir=tmp_path / "tuned").run


@pytest.fixture
def coevo_command():
    """Runs a command in this process."""
    from typer.testing import CliRunner

    from coevo.cli import app

    return lambda *arguments: CliRunner().invoke(app, [str(argument) for argument in arguments], catch_exceptions=False)

import csv
import gc
import json
import shutil
import statistics
import tempfile
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from coevo.errors import RunError
from coevo.experiments.cells import Comparison
from coevo.experiments.results import Result
from coevo.experiments.rows import Row, to_csv
from coevo.experiments.statistics import outcome, paired
from coevo.experiments.tables import table_csv
from coevo.reporting import grid_story
from coevo.reporting.grid_page import _differences, grid_page
from coevo.reporting.grid_story import GridStory, _results, is_grid, tell_grid
from coevo.reporting.story import RunStory
from coevo.reporting.telling import tell_run
from coevo.reporting.writing import write_page

HEADS = (
    "equal,problem,budget,split,sense,arm,baseline,seeds,pairs,mean_arm,mean_baseline,gap_arm,gap_baseline,difference,"
    "sd,low,high,wins,ties,losses,sign_test_p,gap_gain,outcome"
)


@pytest.fixture
def grid(whole_run, tmp_path):
    """Makes the folder of a grid: two arms, two seeds, one cell that failed; `text` is its title and an arm's name."""

    def make(text="plain"):
        out = tmp_path / "grid"
        rows = []
        text = text.encode(errors="replace").decode().replace("\x00", "")
        for arm, value in (("frozen", 5.0), (text.replace("/", " ")[:60], 4.0)):
            for seed in (0, 1):
                run = whole_run(seed=seed)
                folder = out / "cells" / "tiny" / "12" / arm / f"s{seed}"
                folder.mkdir(parents=True)
                shutil.move(run.path, folder / "run")
                rows.append(Row("tiny", 12, arm, seed, "done", run="run", operator=12, on_top=0,
                                skill=1, tokens=70 + seed, wall_s=9.0, children=10, valid=8,
                                objectives={"val": value + seed}, gaps={"val": 0.1}))  # fmt: skip
        rows.append(Row("tiny", 12, "frozen", 2, "failed", detail=f"it broke: {text}"))
        (out / "cells.csv").write_text(to_csv(rows))
        (out / "grid.toml").write_text(f"title = {json.dumps('A grid of ' + text)}\n")
        (out / "provenance.json").write_text(json.dumps({"command": f"coevo bench {text}"}))
        with (out / "table.csv").open("w", newline="") as file:
            file.write(HEADS + "\n")
            csv.writer(file).writerow(["operator", "tiny", 12, "val", "min", rows[2].arm, "frozen", 2, 2, 4.5, 5.5, "",
                                       "", 1.0, 0.0, 0.25, 2.0, 2, 0, 0, 0.5, "", "win"])  # fmt: skip
        return out

    return make


def test_means_are_those_of_the_cells(grid, read_page):
    """Recomputed from cells.csv: the mean over an arm's finished cells, with its spread."""
    out = grid()
    (frozen, plain) = read_page(grid_page(tell_grid(out))).rows(
        "Mean objective at 12 completions, ± standard deviation over seeds"
    )
    with (out / "cells.csv").open() as file:
        cells = list(csv.DictReader(file))
    for row in (frozen, plain):
        own = [float(c["objective val"]) for c in cells if c["arm"] == row["arm"] and c["objective val"]]
        assert row["tiny val ↓"] == statistics.mean(own)


def test_differences_are_those_of_the_table(grid, read_page):
    """The numbers of table.csv, and in the chart the difference as a share of the baseline's mean."""
    page = read_page(grid_page(tell_grid(grid())))
    (row,) = page.rows("Differences, plain against frozen, equal operator")
    assert (row["arm"], row["baseline"], row["difference"], row["low"], row["high"]) == (4.5, 5.5, 1.0, 0.25, 2.0)
    assert (row["wins"], row["ties"], row["losses"], row["p"]) == (2, 0, 0, 0.5)
    drawn = next(attributes for _, attributes in page.tags if attributes.get("data-row") == "tiny val")
    assert float(drawn["data-value"]) == 1.0 / 5.5


def test_curves_are_means_over_seeds(grid, read_page):
    """The curve of an arm is the mean of its runs' running minima, read from their raw events."""
    out = grid()
    page = read_page(grid_page(tell_grid(out)))
    curves = []
    for log in sorted((out / "cells" / "tiny" / "12" / "frozen").glob("*/run/events.jsonl")):
        costs = [json.loads(line).get("cost") for line in log.read_text().splitlines() if '"child"' in line]
        curves.append([min(c for c in costs[: n + 1] if c is not None) for n in range(len(costs))])
    means = [statistics.mean(values) for values in zip(*curves, strict=True)]
    xs, ys = page.curve("frozen")
    assert [means[int(x) - 1] for x in xs] == ys


def test_a_grid_without_its_runs_has_no_curves(grid, read_page):
    """The tables alone are enough for a page."""
    out = grid()
    shutil.rmtree(out / "cells")
    page = read_page(grid_page(tell_grid(out)))
    assert "curves" not in {attributes.get("id") for _, attributes in page.tags}
    assert len(page.rows("Objective of each cell's best heuristic, by split")) == 5


def test_cells_without_numbers_are_named(grid):
    """A failed cell is listed with its reason."""
    assert "it broke: plain" in grid_page(tell_grid(grid()))


def test_a_hostile_grid_is_text(grid, read_page, hostile):
    """Titles, arms, reasons and the command stay text."""
    page = read_page(grid_page(tell_grid(grid(hostile))))
    assert not {"script", "iframe", "img", "object"} & {tag for tag, _ in page.tags}
    assert "window.ran = 1" in page.text


def test_report_tells_a_grid_from_a_run(grid, whole_run):
    """The page of either lands in its folder."""
    out, run = grid(), whole_run().path
    assert (is_grid(out), is_grid(run)) == (True, False)
    assert "coevo bench" in write_page(out).read_text()
    assert "coevo search" in write_page(run, draw=False).read_text()


@pytest.mark.parametrize("file", ["table.csv", "grid.toml"])
def test_a_spoilt_grid_is_refused(grid, file):
    """A file that does not hold what it should is named."""
    out = grid()
    (out / file).write_text("nonsense\nnonsense\n")
    with pytest.raises(RunError, match=file):
        tell_grid(out)


def test_a_run_that_cannot_be_told_is_named(grid, read_page):
    """One run whose log is spoilt costs its curve a seed, not the page; the page says which and why."""
    out = grid()
    log = out / "cells" / "tiny" / "12" / "frozen" / "s1" / "run" / "events.jsonl"
    log.write_text(log.read_text().replace('"kind": "generation"', '"kind": "generation", "generation": "x"', 1))
    with log.open("a") as file:
        file.write('{"kind": "child"}\n')
    story = tell_grid(out)
    ((cell, reason),) = story.untold
    assert (cell, "expected a child event" in reason) == ("tiny/12/frozen/s1", True)
    page = read_page(grid_page(story))
    assert "tiny/12/frozen/s1: expected a child event" in " ".join(page.text.split())
    assert {row["arm"]: row["seeds"] for row in page.rows("Ends of the curves, tiny, 12 completions")} == {
        "frozen": 1.0, "plain": 2.0,
    }  # fmt: skip


@pytest.mark.parametrize("spoil", ["config.toml", "events.jsonl"])
def test_no_run_kills_the_page(grid, spoil):
    """Whatever is wrong with the files of a run, the page of its grid is made without it."""
    out = grid()
    (out / "cells" / "tiny" / "12" / "plain" / "s0" / "run" / spoil).write_text("nonsense\n")
    assert [cell for cell, _ in tell_grid(out).untold] == ["tiny/12/plain/s0"]


def test_a_run_without_a_valid_candidate_has_no_curve(grid, run_maker):
    """It is a run like any other: neither named as unreadable nor part of a mean."""
    out = grid()
    run = run_maker(method="sample")
    run.begin(first=0)
    run.batch(1, "i1", [{"code": None, "cost": None}])
    run.emit("generation", generation=1, best=None, worst=None, stop=None)
    run.finish(None, "no-valid-candidate")
    place = out / "cells" / "tiny" / "12" / "plain" / "s0" / "run"
    shutil.rmtree(place)
    shutil.move(run.path, place)
    story = tell_grid(out)
    assert story.untold == ()
    assert {curve.arm: curve.seeds for curve in story.curves} == {"frozen": 2, "plain": 1}


def test_one_run_is_held_at_a_time(grid, monkeypatch):
    """When a run is read, the story of the one before is gone."""
    alive = []

    def counted(path):
        alive.append(sum(type(each) is RunStory for each in gc.get_objects()))
        return tell_run(path)

    monkeypatch.setattr(grid_story, "tell_run", counted)
    out = grid()
    before = sum(type(each) is RunStory for each in gc.get_objects())
    tell_grid(out)
    assert alive == [before] * 4


ROWS = st.lists(
    st.tuples(st.sampled_from([5.5, 5.5 * (1 + 1e-12), 5.0, 6.0, 0.0]), st.sampled_from([5.5, 5.0, 0.0])),
    min_size=1, max_size=6,
)  # fmt: skip


@settings(max_examples=25)
@given(ROWS)
def test_counts_and_intervals_are_those_of_the_table(means):
    """Written by the table's writer and read by the page: the same outcomes, ties included, and the same numbers."""
    results = []
    for place, (arm, baseline) in enumerate(means):
        comparison = Comparison("operator", "tiny", 12, "arm", "base")
        found = paired([arm, arm + 0.5], [baseline, baseline + 0.25], sign=1.0)
        better = outcome(arm, baseline, sign=1.0)
        results.append(Result(comparison, f"split{place}", 1.0, 2, arm, baseline, None, None, found, better))
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "table.csv"
        file.write_text(table_csv(results))
        told = _results(file)
    (figure,) = _differences(GridStory("", "", (), told, (), ()))
    outcomes = [result.outcome for result in results]
    wins, ties, losses = (outcomes.count(name) for name in ("win", "tie", "loss"))
    assert f"wins on {wins}, ties on {ties} and loses on {losses} of {len(means)} splits" in figure.caption
    for result, row in zip(results, figure.table.rows, strict=True):
        own = result.paired
        numbers = (result.mean_arm, result.mean_baseline, own.mean, own.low, own.high, own.wins, own.ties, own.losses)
        assert tuple(cell.value for cell in row[2:10]) == numbers
        assert row[-1].text == result.outcome
    drawn = figure.drawing.count('class="point"')
    assert drawn == sum(baseline != 0 for _, baseline in means)


@pytest.mark.slow
@pytest.mark.parametrize("width", [360, 1280])
def test_a_hostile_grid_does_nothing_in_a_browser(browser, grid, hostile, width):
    """Nothing runs or is fetched, and the page is no wider than the window."""
    file = write_page(grid(hostile))
    page = browser.new_context(viewport={"width": width, "height": 900}).new_page()
    said, asked = [], []
    page.on("console", lambda message: said.append(message.text))
    page.on("request", lambda request: asked.append(request.url))
    page.goto(file.as_uri())
    page.evaluate("document.querySelectorAll('details').forEach(each => each.open = true)")
    assert said == []
    assert [url for url in asked if url != file.as_uri() and not url.startswith("data:")] == []
    assert page.evaluate("window.ran") is None
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    page.context.close()

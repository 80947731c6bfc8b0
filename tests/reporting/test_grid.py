import csv
import json
import shutil
import statistics

import pytest

from coevo.errors import RunError
from coevo.experiments.rows import Row, to_csv
from coevo.reporting.grid_page import grid_page
from coevo.reporting.grid_story import is_grid, tell_grid
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

import fcntl
import json

import pytest
from scripted_server import Server, answer

from coevo.errors import RunError
from coevo.experiments.bench import Request, bench, environments, locked, row_of, rows_of, state_of, write
from coevo.experiments.cell_folder import CellFolder
from coevo.experiments.rows import read_rows
from coevo.experiments.running import CellRunner

TOTAL = 'baseline = "frozen"\ncompare_at = ["operator", "total"]'
SKILLS = '[arms.skills]\nes = "off"\nskill_every = 2\n'


@pytest.fixture
def text(grid_text):
    """The small grid with an arm that has skills, compared at equal totals too."""
    return grid_text.replace('baseline = "frozen"', TOTAL) + SKILLS


@pytest.fixture
def grid(layout, text):
    """Its layout."""
    return layout(text)


@pytest.fixture
def cells(grid):
    """Its cells by name."""
    return {cell.name: cell for cell in grid.cells}


@pytest.fixture
def out(grid, fill, tmp_path):
    """Its runs: three completions for skills, and raised cells to match."""
    fill(tmp_path / "out", grid, skill=lambda cell: 3 * (cell.arm == "skills"))
    return tmp_path / "out"


@pytest.fixture
def redo(out, cells, write_run):
    """Gives the donor of seed 0 another run, with so many skill completions."""
    donor = cells["tsp/10/skills/s0"]
    return lambda skill, **how: write_run(CellFolder(out, donor).path, donor.config, skill=skill, **how)


RAISED = "tsp/10/frozen@skills/s0"


def test_a_raised_cell_counts_while_it_matches_its_donor(out, cells, redo):
    """After another run of the donor it is stale, and says at which budget totals would be equal."""
    assert (row_of(out, cells[RAISED]).state, row_of(out, cells[RAISED]).planned) == ("done", 13)
    redo(5)
    row = row_of(out, cells[RAISED])
    assert (row.state, row.objectives) == ("stale", {})
    assert "budget 15" in row.detail
    redo(3)
    assert row_of(out, cells[RAISED]).state == "done"
    redo(0)
    assert (row_of(out, cells[RAISED]), state_of(out, cells[RAISED])) == (None, "not needed")


def test_a_stale_cell_is_said_to_be_stale_on_the_page(out, grid, grid_file, text, redo):
    """And its seed is no part of the comparison at equal totals."""
    redo(5)
    write(Request(grid_file(text), out), grid)
    lines = (out / "table.md").read_text().splitlines()
    assert any(line.startswith(f"- {RAISED}: stale: its run is not of budget 15") for line in lines)
    assert any(line.startswith("| total | tsp | 10 | test20 | skills | frozen@skills | 1 of 1 |") for line in lines)
    assert any(line.startswith("| Δ skills : frozen@skills | +0.00 %, 1 of 2 seeds |") for line in lines)


def test_a_raised_cell_waits_for_its_donor(out, cells, redo):
    """While that is not done there is nothing to match: a run is stale, no run is missing, neither has failed."""
    redo(3, finished=False)
    row = row_of(out, cells[RAISED])
    assert (row.state, row.detail) == ("stale", "it waits for tsp/10/skills/s0, which is unfinished")
    for file in CellFolder(out, cells[RAISED]).path.glob("*/config.toml"):
        file.unlink()
    assert row_of(out, cells[RAISED]).state == "missing"


@pytest.fixture
def started(monkeypatch):
    """Names and budgets of the cells that would have been run anew; none is."""
    found = []

    def note(self, folder, run):
        found.append((folder.cell.name, folder.cell.config.budget, run))
        raise RunError("not in this test")

    monkeypatch.setattr(CellRunner, "_start", note)
    return found


def test_a_donor_is_rerun_with_its_raised_cells(out, grid_file, text, started):
    """Its own raised cell, which waits for it, and no other one."""
    wanted = []
    bench(Request(grid_file(text), out, rerun=("*/skills/s0",)), lambda cells: wanted.extend(cells) or (lambda news: 0))
    assert [cell.name for cell in wanted] == ["tsp/10/skills/s0", RAISED]
    assert started == [("tsp/10/skills/s0", 10, None)]


def test_a_stale_cell_is_run_anew_by_the_same_command(out, grid_file, text, redo, started):
    """At the budget that makes totals equal now; everything else is kept."""
    redo(5)
    bench(Request(grid_file(text), out), lambda cells: lambda news: None)
    assert started == [(RAISED, 15, None)]


def test_environments_are_those_of_finished_cells(out, grid, cells, write_run):
    """Each different one once, with the number of its cells; a damaged note is refused by name."""
    donor = CellFolder(out, cells["tsp/10/es/s0"])
    write_run(donor.path, donor.cell.config, finished=False)
    done = [row for row in rows_of(out, grid) if row.state == "done"]
    (found,) = environments(out, done)
    assert (found["cells"], len(done), found["commit"]) == (7, 7, "abc")
    file = out / "cells" / done[0].cell / done[0].run / "environment.json"
    file.write_text(json.dumps({**json.loads(file.read_text()), "commit": "abd"}))
    assert sorted(each["cells"] for each in environments(out, done)) == [1, 6]
    file.write_text("[1]")
    with pytest.raises(RunError, match=r"environment.json is not a JSON object"):
        environments(out, done)


def test_a_cell_without_a_folder_leaves_the_others_alone(grid_file, layout, fill, tmp_path):
    """A file where a cell's folder should be fails that cell; the others are kept, and the tables are written."""
    out, news = tmp_path / "out", {}
    fill(out, layout())
    place = out / "cells" / "tsp" / "10" / "es" / "s0"
    place.rename(tmp_path / "away")
    place.write_text("mine")
    rows = bench(Request(grid_file(), out), lambda cells: lambda told: news.update({told.cell.name: told}))
    assert {row.cell: row.state for row in rows if row.state != "done"} == {"tsp/10/es/s0": "failed"}
    assert news["tsp/10/es/s0"].state == "failed"
    assert f"expected a folder at {place}" in news["tsp/10/es/s0"].detail
    assert [told.state for told in news.values()].count("kept") == len(rows) - 1
    assert (out / "table.md").is_file()


def test_a_folder_is_held_by_one_process(tmp_path):
    """A second one is refused; an error that looks like it, from inside, is passed on as it is."""
    with locked(tmp_path), pytest.raises(RunError, match="in use by another coevo bench"), locked(tmp_path):
        pass
    with pytest.raises(BlockingIOError), locked(tmp_path):
        raise BlockingIOError(fcntl.LOCK_NB, "a pipe is full")


@pytest.fixture
def server(monkeypatch):
    """Writes a program for every call and counts its tokens."""
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")
    monkeypatch.delenv("COEVO_API_KEY", raising=False)
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    code = "{{Weigh.}}\n```python\ndef priority(durations, worths):\n    return worths / durations ** {}\n```"
    running = Server()
    running.script = lambda number, body: answer(code.format(1 + body["seed"] % 97 / 97), usage=(120, 40))
    yield running
    running.close()


SERVED = """
[arms.served]
es = "off"
model = "http://127.0.0.1:9/v1#m"
allowance = { max_spent_tokens = 1000 }
"""
SERVED_CELL = "tsp/10/served/s0"


@pytest.fixture
def capped(grid_text, layout, fill, tmp_path):
    """The small grid with an arm on a server, whose first cell ended at its cap; the grid's text and its runs."""
    text = grid_text + SERVED
    grid = layout(text)
    fill(tmp_path / "out", grid)
    folder = CellFolder(tmp_path / "out", next(cell for cell in grid.cells if cell.name == SERVED_CELL))
    file = folder.run() / "result.json"
    file.write_text(json.dumps(json.loads(file.read_text()) | {"status": "tokens"}))
    return text, tmp_path / "out"


def test_a_cell_at_its_cap_is_shown_and_compared_with_nothing(capped, grid_file, started):
    """It has no numbers in the tables, its seed is no part of a comparison, and the same command leaves it alone."""
    text, out = capped
    news = []
    rows = {row.cell: row for row in bench(Request(grid_file(text), out), lambda cells: news.append)}
    assert started == []
    assert (rows[SERVED_CELL].state, rows[SERVED_CELL].objectives) == ("capped", {})
    assert {row.state for name, row in rows.items() if name != SERVED_CELL} == {"done"}
    assert [(each.cell.name, each.state) for each in news if each.detail] == [(SERVED_CELL, "kept")]
    lines = (out / "table.md").read_text().splitlines()
    assert any(line.startswith(f"- {SERVED_CELL}: capped: it reached its cap") for line in lines)
    assert any("| served | frozen | 1 of 1 |" in line for line in lines)
    assert {row.state for row in read_rows(out / "cells.csv") if row.cell == SERVED_CELL} == {"capped"}


def test_a_cell_goes_on_where_the_grid_raises_its_cap(capped, grid_file, started):
    """Its run is resumed; one that came to its end under the lower cap is what it is."""
    text, out = capped
    bench(Request(grid_file(text.replace("1000", "2000")), out), lambda cells: lambda news: None)
    ((name, _, run),) = started
    assert name == SERVED_CELL
    assert run == next(file.parent for file in (out / "cells" / SERVED_CELL).glob("*/config.toml"))


@pytest.mark.slow
def test_a_cell_goes_on_to_its_end_with_a_higher_cap(tmp_path, grid_file, server, tiny_problem):
    """A grid on a real server: capped, shown as such, and whole once the grid says so; nothing is asked twice."""
    text = (
        f'schema_version = 1\ntitle = "Paid"\nproblems = ["{tiny_problem}"]\nbudgets = [12]\nseeds = 1\n'
        f'baseline = "one"\n[common]\nes = "off"\ncompare = false\nmodel = "{server.url}#tiny"\nmax_tokens = 64\n'
        "workers = 1\n[arms.one]\nallowance = { max_spent_tokens = CAP }\n[arms.two]\nseeds = 'common'\n"
    )
    states = []
    for cap in ("1500", "1500", "1000000"):
        asked = len(server.posts)
        request = Request(grid_file(text.replace("CAP", cap)), tmp_path / "out")
        rows = {row.arm: row for row in bench(request, lambda cells: lambda news: None)}
        assert not [row.detail for row in rows.values() if row.state == "failed"]
        states.append((rows["one"].state, rows["two"].state, len(server.posts) > asked))
    assert states == [("capped", "done", True), ("capped", "done", False), ("done", "done", True)]
    assert rows["one"].operator == 12

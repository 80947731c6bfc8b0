import pytest

from coevo.errors import RunError
from coevo.experiments.cell_folder import CellFolder


@pytest.fixture
def cell(layout):
    """One cell of the small grid."""
    return layout().cells[1]


def test_a_cell_goes_from_missing_to_done(cell, tmp_path, write_run):
    """Its state follows from what is in its folder."""
    folder = CellFolder(tmp_path, cell)
    assert (folder.state(), folder.run()) == ("missing", None)
    write_run(folder.path, cell.config, finished=False)
    assert folder.state() == "unfinished"
    newer = write_run(folder.path, cell.config)
    assert (folder.state(), folder.run()) == ("done", newer.path)
    assert folder.row().objectives == {"test20": 8.0, "test50": 8.0, "test100": 8.0}


def test_a_failure_is_noted_until_it_is_cleared(cell, tmp_path, write_run):
    """Also beside an older run that has ended."""
    folder = CellFolder(tmp_path, cell)
    write_run(folder.path, cell.config)
    folder.fail("it broke")
    assert (folder.state(), folder.row().detail, folder.row().objectives) == ("failed", "it broke", {})
    folder.clear()
    assert folder.state() == "done"


@pytest.mark.parametrize("content", [b"{", b"[]", b"{}", b"\xff", b"[" * 200_000])
def test_a_damaged_note_is_a_failure_without_a_reason(cell, tmp_path, write_run, content):
    """So the cell is tried again, and until then says what cannot be read."""
    folder = CellFolder(tmp_path, cell)
    write_run(folder.path, cell.config)
    (folder.path / "failure.json").write_bytes(content)
    assert folder.state() == "failed"
    assert str(folder.path / "failure.json") in folder.row().detail
    folder.clear()
    assert folder.state() == "done"


@pytest.mark.parametrize("name", ["cells/tsp/10/es/s0", "cells/tsp"])
def test_a_file_in_the_place_of_a_folder_is_a_failure(cell, tmp_path, name):
    """Of that cell, which says what is in the way; the file stays as it is."""
    place = tmp_path / name
    place.parent.mkdir(parents=True)
    place.write_text("mine")
    folder = CellFolder(tmp_path, cell)
    folder.fail("not written down")
    assert (folder.state(), folder.row().detail) == (
        "failed", f"expected a folder at {place}, found something else; move it away"
    )  # fmt: skip
    assert place.read_text() == "mine"


def test_a_run_of_other_settings_is_refused_by_field(cell, tmp_path, write_run):
    """The message names the field, both values, and how to go on."""
    folder = CellFolder(tmp_path, cell)
    write_run(folder.path, cell.config.model_copy(update={"population": 9}))
    with pytest.raises(RunError, match=r"population = 4, as the grid says, got 9; .*--rerun 'tsp/10/es/s0'"):
        folder.check_config(cell.config)
    strategy = cell.config.evolution_strategy.model_copy(update={"alpha": 1.0})
    with pytest.raises(RunError, match=r"evolution_strategy.alpha"):
        folder.check_config(cell.config.model_copy(update={"evolution_strategy": strategy, "population": 9}))

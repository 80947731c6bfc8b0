import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from coevo.reporting.live.finding import find, slug_of


@pytest.fixture
def folder(tmp_path):
    """A folder of a run, a broken run, a grid with a cell's run, and other things."""
    for run in ("runs/b", "runs/a", "runs/grid/cells/one/run", "runs/.hidden/run", "runs/b/candidates/run"):
        (tmp_path / run / "candidates").mkdir(parents=True)
        (tmp_path / run / "config.toml").write_text("schema_version = 1\n")
    (tmp_path / "runs" / "broken").mkdir()
    (tmp_path / "runs" / "broken" / "events.jsonl").write_text("")
    for name in ("grid.toml", "cells.csv"):
        (tmp_path / "runs" / "grid" / name).write_text("")
    (tmp_path / "runs" / "notes").mkdir()
    return tmp_path / "runs"


def test_runs_and_grids_are_found_by_name(folder):
    """Runs, broken ones too, and grids with the runs of their cells; not what lies inside a run or is hidden."""
    found = {each.name: each.kind for each in find([folder])}
    assert found == {"a": "run", "b": "run", "broken": "run", "grid": "grid", "grid/cells/one/run": "run"}


def test_each_is_found_once(folder):
    """A run that is named itself, below its folder and through a link is one run."""
    (folder / "link").symlink_to(folder / "a")
    found = find([folder / "a", folder, folder.parent / "missing"])
    assert sorted(each.path.name for each in found) == ["a", "b", "broken", "grid", "run"]


def test_a_circle_of_links_has_an_end(folder):
    """Folders that contain themselves are left after a few levels."""
    (folder / "notes" / "again").symlink_to(folder)
    assert len(find([folder])) == 5


@given(
    names=st.lists(
        st.text(st.characters(exclude_characters="/\0", codec="utf-8"), min_size=1, max_size=40),
        min_size=2,
        max_size=6,
        unique=True,
    )
)
def test_slugs_are_plain_and_differ(tmp_path_factory, names):
    """Whatever folders are called, their addresses are different and need no escapes."""
    root = tmp_path_factory.getbasetemp()
    slugs = [slug_of(root / name) for name in names]
    assert len(set(slugs)) == len(slugs)
    assert all(re.fullmatch(r"[A-Za-z0-9._-]+-[0-9a-f]{8}", slug) for slug in slugs)

import json
import os
import subprocess
import sys

import pytest

from coevo.authoring import scaffold
from coevo.authoring.scaffold import TEMPLATE, new_problem
from coevo.content import find_problem
from coevo.errors import ConfigError


def test_a_new_problem_is_the_template_under_its_name(tmp_path):
    """Folder and metadata have the new name, every other file is the template's, and nothing else is left behind."""
    folder = new_problem("my-day", tmp_path)
    assert find_problem(str(folder)).spec.name == folder.name == "my-day"
    assert list(tmp_path.iterdir()) == [folder]
    own = {str(file.relative_to(TEMPLATE)) for file in TEMPLATE.rglob("*") if "__pycache__" not in file.parts}
    assert {str(file.relative_to(folder)) for file in folder.rglob("*")} == own
    for name in own - {"problem.toml", "baselines"}:
        assert (folder / name).read_text() == (TEMPLATE / name).read_text()


def test_the_template_fits_on_a_screen():
    """A starting point is read in a minute: at most forty lines of code in `problem.py`."""
    lines = (TEMPLATE / "problem.py").read_text().splitlines()
    assert len([line for line in lines if line.strip() and not line.strip().startswith(("#", '"""'))]) <= 40


@pytest.mark.parametrize("name", ["", "My-Problem", "9lives", "a_b", "../x", "a/b", "a b", "é", "-a", "a\n"])
def test_a_bad_name_is_refused(tmp_path, name):
    """A name that `problem.toml` would not accept writes nothing."""
    with pytest.raises(ConfigError, match="expected a name of small letters"):
        new_problem(name, tmp_path)
    assert list(tmp_path.iterdir()) == []


def test_the_name_of_a_known_problem_is_refused(tmp_path):
    """A second tsp could not be named."""
    with pytest.raises(ConfigError, match="tsp is a problem already"):
        new_problem("tsp", tmp_path)


@pytest.mark.parametrize("kind", ["folder", "empty folder", "file", "dangling link"])
def test_nothing_is_replaced(tmp_path, kind):
    """Whatever stands at the target stays as it is."""
    target = tmp_path / "mine"
    if kind == "file":
        target.write_text("precious")
    elif kind == "dangling link":
        target.symlink_to(tmp_path / "nowhere")
    else:
        target.mkdir()
        if kind == "folder":
            (target / "notes.txt").write_text("precious")
    before = sorted(tmp_path.rglob("*"))
    with pytest.raises(ConfigError, match=r"expected nothing at .*mine, which is there already"):
        new_problem("mine", tmp_path)
    assert sorted(tmp_path.rglob("*")) == before


def test_a_missing_parent_is_refused(tmp_path):
    """A mistyped `--to` makes no folder."""
    with pytest.raises(ConfigError, match=r"expected a folder to put mine into at .*nowhere"):
        new_problem("mine", tmp_path / "nowhere")
    assert list(tmp_path.iterdir()) == []


def test_a_target_that_appears_meanwhile_is_not_replaced(tmp_path, monkeypatch):
    """Somebody else's folder wins, and no half-written one is left beside it."""
    copy = scaffold._copy

    def copy_slowly(file, to, name):
        copy(file, to, name)
        (tmp_path / "mine").mkdir(exist_ok=True)
        (tmp_path / "mine" / "notes.txt").write_text("precious")

    monkeypatch.setattr(scaffold, "_copy", copy_slowly)
    with pytest.raises(ConfigError, match=r"expected to write .*mine, got: Directory not empty"):
        new_problem("mine", tmp_path)
    assert [path.name for path in tmp_path.iterdir()] == ["mine"]
    assert (tmp_path / "mine" / "notes.txt").read_text() == "precious"


def test_a_failure_half_way_leaves_nothing(tmp_path, monkeypatch):
    """A full disk leaves no folder that looks complete."""

    def fail(file, to, name):
        raise OSError(28, "No space left on device", str(to))

    monkeypatch.setattr(scaffold, "_copy", fail)
    with pytest.raises(OSError, match="No space left"):
        new_problem("mine", tmp_path)
    assert list(tmp_path.iterdir()) == []


def test_a_new_folder_has_ordinary_permissions(tmp_path):
    """The temporary folder's, which nobody else may enter, do not stay."""
    (tmp_path / "plain").mkdir()
    assert new_problem("mine", tmp_path).stat().st_mode == (tmp_path / "plain").stat().st_mode


@pytest.mark.slow
def test_the_scaffold_can_be_searched(scaffold, tmp_path):
    """Straight after `coevo problem new`, a search with the embedded model improves on its baseline."""
    command = [sys.executable, "-m", "coevo", "search", "--problem", str(scaffold.path), "--budget", "20", "--json"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, env=dict(os.environ))
    assert done.returncode == 0, done.stderr
    result = json.loads(done.stdout)
    assert result["budget"]["operator"] == 20
    assert result["best"]["objective"] > result["comparisons"]["most_valuable"]["search"]["objective"]

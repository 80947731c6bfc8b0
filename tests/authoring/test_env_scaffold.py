import os

import pytest

from coevo.authoring import env_scaffold
from coevo.authoring.env_listing import list_environments
from coevo.authoring.env_scaffold import FILES, TEMPLATE, new_environment
from coevo.environments.loading import environment_names, find_environment, read_environment
from coevo.errors import ConfigError


def test_a_new_environment_is_the_template_under_its_name(tmp_path):
    """Folder and metadata have the new name, the code is the template's, and nothing else is left behind."""
    folder = new_environment("my-game", tmp_path)
    assert find_environment(str(folder)).spec.name == folder.name == "my-game"
    assert list(tmp_path.iterdir()) == [folder]
    assert {file.name for file in folder.iterdir()} == set(FILES)
    assert {file.name for file in TEMPLATE.iterdir() if file.is_file()} == set(FILES)
    assert (folder / "environment.py").read_text() == (TEMPLATE / "environment.py").read_text()


def test_the_template_fits_on_a_screen():
    """A starting point is read in a minute: about forty lines of code, each of which an author meets."""
    lines = (TEMPLATE / "environment.py").read_text().splitlines()
    assert len([line for line in lines if line.strip() and not line.strip().startswith(("#", '"""'))]) <= 45


def test_the_template_can_be_won_and_lost(tmp_path):
    """Halving the range finds the number; saying nothing does not."""
    game = read_environment(new_environment("my-game", tmp_path)).load()
    won, lost = (game.open(guesses=6) for _ in range(2))
    task = game.tasks("train", guesses=6)[0]
    won.reset(task, 3)
    low, high, step = 1, task.data["end"], None
    while step is None or not (step.done or step.truncated):
        middle = (low + high) // 2
        step = won.step(f"guess {middle}")
        if not step.done:
            low, high = (middle + 1, high) if "higher" in step.messages[0].content else (low, middle - 1)
    assert (step.reward, step.done) == (1.0, True)
    lost.reset(task, 3)
    steps = [lost.step("") for _ in range(6)]
    assert [step.truncated for step in steps] == [False] * 5 + [True]
    assert sum(step.reward for step in steps) == 0


@pytest.mark.parametrize("name", ["", "My-Game", "9lives", "a_b", "../x", "a/b", "a b", "é", "-a", "a\n"])
def test_a_bad_name_is_refused(tmp_path, name):
    """A name that `environment.toml` would not accept writes nothing."""
    with pytest.raises(ConfigError, match="expected a name of small letters"):
        new_environment(name, tmp_path)
    assert list(tmp_path.iterdir()) == []


def test_the_name_of_a_known_environment_is_refused(tmp_path):
    """A second one could not be named."""
    with pytest.raises(ConfigError, match="sudoku is an environment already"):
        new_environment("sudoku", tmp_path)


@pytest.mark.parametrize("kind", ["folder", "file", "dangling link"])
def test_nothing_is_replaced(tmp_path, kind):
    """Whatever stands at the target stays as it is."""
    target = tmp_path / "mine"
    if kind == "file":
        target.write_text("precious")
    elif kind == "folder":
        target.mkdir()
    else:
        target.symlink_to(tmp_path / "nowhere")
    with pytest.raises(ConfigError, match=r"expected nothing at .*mine, which is there already"):
        new_environment("mine", tmp_path)
    assert [path.name for path in tmp_path.iterdir()] == ["mine"]
    assert os.path.lexists(target)


def test_a_missing_parent_is_refused(tmp_path):
    """A mistyped `--to` makes no folder."""
    with pytest.raises(ConfigError, match=r"expected a folder to put mine into at .*nowhere"):
        new_environment("mine", tmp_path / "nowhere")
    assert list(tmp_path.iterdir()) == []


def test_a_failure_half_way_leaves_nothing(tmp_path, monkeypatch):
    """No folder that looks complete, and no hidden one."""
    monkeypatch.setattr(env_scaffold, "FILES", (*FILES, "nowhere.md"))
    with pytest.raises(OSError, match=r"nowhere\.md"):
        new_environment("mine", tmp_path)
    assert list(tmp_path.iterdir()) == []


def test_the_bundled_environments_are_listed():
    """With splits, options and what is missing, as their metadata has them."""
    rows = {row.name: row for row in list_environments()}
    assert tuple(rows) == environment_names()
    folder = find_environment("sudoku")
    assert rows["sudoku"].origin == "bundled"
    assert rows["sudoku"].splits == folder.spec.splits
    assert [option.name for option in rows["sudoku"].options] == [option.name for option in folder.spec.options]
    for name, row in rows.items():
        missing = find_environment(name).missing()
        assert [need.name for need in row.missing] == [need.program or need.package for need in missing]

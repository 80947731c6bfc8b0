"""The folder as the loader sees it: options, splits and what is refused."""

import pytest

from coevo.environments.loading import find_environment, read_options
from coevo.environments.web.episodes import PageEpisodes
from coevo.errors import ConfigError, ContentError


@pytest.fixture(scope="module")
def folder():
    """The environment by its name."""
    return find_environment("web")


def options(folder, **given):
    """All options, some of them given as texts."""
    return read_options(folder.spec, given)


def test_splits_share_no_seed(folder, pages):
    """The pages come in turn, each with a seed of its own, and no two splits share one."""
    splits = [folder.load().tasks(split, **options(folder, size="25")) for split in ("train", "val", "test")]
    assert [len(split) for split in splits] == [25] * 3
    assert len({task.data["seed"] for split in splits for task in split}) == 75
    assert [task.data["page"] for task in splits[0]] == [task.data["page"] for task in splits[1]]
    assert len({task.data["page"] for task in splits[0]}) == 10
    assert all(len({task.name for task in split}) == 25 for split in splits)


def test_pages_can_be_held_out(folder, pages):
    """What is held out is in test alone, and test has nothing else."""
    given = options(folder, pages="click-test, enter-text,click-link", held_out="enter-text,tic-tac-toe", size="4")
    seen = {split: {task.data["page"] for task in folder.load().tasks(split, **given)} for split in folder.spec.splits}
    assert seen == {
        "train": {"click-test", "click-link"},
        "val": {"click-test", "click-link"},
        "test": {"enter-text", "tic-tac-toe"},
    }


def test_all_pages_can_be_asked_for(folder, pages):
    """The word all stands for every page that the package has."""
    tasks = folder.load().tasks("train", **options(folder, pages="all", size="1000"))
    assert len({task.data["page"] for task in tasks}) > 100


@pytest.mark.parametrize(
    ("given", "error", "words"),
    [
        ({"pages": "click-test,nonsense"}, ContentError, "expected pages of MiniWoB\\+\\+, got nonsense"),
        ({"pages": "../core/core"}, ContentError, "got ../core/core"),
        ({"pages": ""}, ConfigError, "at least one page"),
        ({"pages": "click-test", "held_out": "click-test"}, ConfigError, "not held out"),
        ({"size": "0"}, ConfigError, "size to be at least 1, got 0"),
        ({"data": "webarena-lite"}, ConfigError, "to be miniwob, got 'webarena-lite'; .* take --env webarena"),
        ({"data": "webarena"}, ConfigError, "to be miniwob, got 'webarena'; .* take --env webarena"),
    ],
)
def test_options_that_make_no_sense_are_refused(folder, pages, given, error, words):
    """One line names the option and what came."""
    with pytest.raises(error, match=words):
        folder.load().tasks("train", **options(folder, **given))


def test_opening_starts_no_browser(folder):
    """An environment is cheap until its first episode; bad options are refused at once."""
    opened = folder.load().open(**options(folder))
    assert isinstance(opened, PageEpisodes)
    opened.close()
    for given in ({"turns": "-1"}, {"page_chars": "10"}, {"data": "x"}, {"data": "webarena-lite"}):
        with pytest.raises(ConfigError, match="expected"):
            folder.load().open(**options(folder, **given))


def test_a_missing_package_is_named(folder, monkeypatch):
    """Without MiniWoB++ its tasks cannot be listed, and one line says what brings it."""
    from coevo.environments.web import pages

    pages.pages_folder.cache_clear()
    monkeypatch.setattr(pages.importlib.util, "find_spec", lambda name: None)
    with pytest.raises(ConfigError, match=r"the package miniwob for the pages.*pip install 'coevo\[agents\]'"):
        folder.load().tasks("train", **options(folder))
    pages.pages_folder.cache_clear()

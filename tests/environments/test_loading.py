import sys

import pytest
from hypothesis import given
from hypothesis import strategies as st

from coevo.authoring.env_scaffold import new_environment
from coevo.environments import loading
from coevo.environments.loading import (
    environment_names,
    find_environment,
    origin,
    read_environment,
    read_options,
)
from coevo.environments.spec import EnvironmentSpec, Need
from coevo.errors import ConfigError, ContentError


def spec_with(**fields):
    """A complete spec with the fields given."""
    needed = {"name": "game", "title": "A game", "conversation": "grows", "source": "here", "licence": "CC0-1.0"}
    needed |= {"splits": {"train": "", "val": ""}, "limits": {"turns": 1, "turn_tokens": 1}, "schema_version": 1}
    return EnvironmentSpec.model_validate(needed | fields)


OPTIONS = [
    {"name": "size", "type": "integer", "default": 5, "description": "how many"},
    {"name": "share", "type": "number", "default": 0.5, "description": "how much"},
    {"name": "data", "type": "text", "default": "", "description": "a file"},
]


@pytest.fixture
def game(tmp_path):
    """The folder of an environment of the user's."""
    return new_environment("my-game", tmp_path)


@pytest.fixture
def with_root(tmp_path, monkeypatch):
    """A content root of an installed package's, beside the bundled one."""
    (tmp_path / "environments").mkdir()
    monkeypatch.setattr(loading, "content_roots", lambda: (tmp_path,))
    monkeypatch.setattr(loading, "declared_roots", lambda: {tmp_path: "games"})
    return tmp_path


def test_a_bundled_environment_is_imported_by_name():
    """By name and by path alike, as a sub-package: one module, whoever asks."""
    folder = find_environment("sudoku")
    module = folder.load()
    assert module is sys.modules["coevo.environments.sudoku.environment"]
    assert find_environment(str(folder.path)).load() is module
    assert origin(folder) == "bundled"


def test_a_users_environment_is_loaded_by_path(game):
    """Twice the same module; it may import its neighbours relatively."""
    (game / "words.py").write_text("WORD = 'seven'\n")
    (game / "environment.py").write_text(
        "from .words import WORD\ndef tasks(split): return WORD\ndef open(): return None\n"
    )
    folder = find_environment(str(game))
    assert folder.load().tasks("train") == "seven"
    assert folder.load() is find_environment(str(game)).load()
    assert origin(folder) == str(game)


@pytest.mark.parametrize("code", ["", "def tasks(split): return []", "tasks = 1\ndef open(): pass"])
def test_a_module_without_its_functions_is_refused(game, code):
    """Naming the file and what it lacks."""
    (game / "environment.py").write_text(code)
    with pytest.raises(ContentError, match=r"environment\.py to define tasks, open; missing: "):
        find_environment(str(game)).load()


def test_an_environment_of_a_package_is_found_by_name(with_root):
    """In `environments/` of its root, after the bundled ones, one of whose names it cannot take."""
    new_environment("my-game", with_root / "environments")
    (with_root / "environments" / "my-game").joinpath("environment.toml").rename(with_root / "kept.toml")
    (with_root / "environments" / "sudoku").mkdir()
    for name in ("my-game", "sudoku"):
        folder = with_root / "environments" / name
        (folder / "environment.toml").write_text((with_root / "kept.toml").read_text())
    assert environment_names()[-1] == "my-game"
    assert origin(find_environment("my-game")) == "games"
    assert origin(find_environment("sudoku")) == "bundled"
    assert environment_names().count("sudoku") == 1


def test_a_package_cannot_call_an_environment_other_than_its_folder(with_root):
    """A name means one folder."""
    new_environment("my-game", with_root / "environments").rename(with_root / "environments" / "other")
    with pytest.raises(ContentError, match="expected name = 'other'"):
        find_environment("other")


def test_an_unknown_name_is_refused_with_those_there_are():
    """And with how to start one."""
    with pytest.raises(ContentError, match=r"got 'chess'; known: .*sudoku.*coevo env new"):
        find_environment("chess")


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("name = ", "is not valid TOML"),
        ("schema_version = 1", "expected a value, found none"),
        ("a = " + "[" * 5000, "nested too deeply|not valid TOML"),
        (b"\xff", "expected UTF-8"),
    ],
)
def test_metadata_that_does_not_parse_is_refused(game, text, words):
    """One line with the file."""
    (game / "environment.toml").write_bytes(text if isinstance(text, bytes) else text.encode())
    with pytest.raises(ContentError, match=words) as caught:
        read_environment(game)
    assert "environment.toml" in str(caught.value)
    assert "\n" not in str(caught.value)


def test_a_folder_without_its_code_is_refused(game):
    """Both files are named as needed."""
    (game / "environment.py").unlink()
    with pytest.raises(ContentError, match=r"expected environment\.py in the environment folder"):
        read_environment(game)


@pytest.mark.parametrize(
    ("need", "is_met"),
    [
        ({"program": "sh"}, True),
        ({"program": "no-such-program"}, False),
        ({"package": "xml.dom"}, True),
        ({"package": "sys"}, True),
        ({"package": "no_such_package"}, False),
        ({"package": "xml.nothing"}, False),
        ({"package": "no_such_package.part"}, False),
        ({"package": "."}, False),
    ],
)
def test_a_need_is_met_or_missing(game, need, is_met):
    """Programs on the PATH, packages and their parts."""
    need = Need(install="get it", **need)
    folder = loading.EnvironmentFolder(game, spec_with(needs=[need]))
    assert folder.missing() == (() if is_met else (need,))


def test_looking_for_a_package_imports_nothing(game, tmp_path, monkeypatch):
    """Neither the package nor, for a part, what it lies in."""
    (tmp_path / "heavy").mkdir()
    (tmp_path / "heavy" / "__init__.py").write_text("raise RuntimeError('imported')\n")
    (tmp_path / "heavy" / "part.py").write_text("raise RuntimeError('imported')\n")
    monkeypatch.syspath_prepend(tmp_path)
    needs = [Need(package=name, install="x") for name in ("heavy", "heavy.part", "heavy.other")]
    folder = loading.EnvironmentFolder(game, spec_with(needs=needs))
    assert [need.package for need in folder.missing()] == ["heavy.other"]
    assert "heavy" not in sys.modules


def test_what_is_missing_is_named_with_its_command(game):
    """All of it on one line; where nothing is, nothing happens."""
    needs = [Need(program="no-such-program", install="apt-get install it"), Need(package="no_one", install="pip it")]
    with pytest.raises(ConfigError) as caught:
        loading.EnvironmentFolder(game, spec_with(needs=needs)).require()
    assert "program no-such-program, which is not there: run apt-get install it" in str(caught.value)
    assert "package no_one, which is not there: run pip it" in str(caught.value)
    loading.EnvironmentFolder(game, spec_with()).require()


@given(st.integers(), st.floats(allow_nan=False), st.text())
def test_options_are_read_by_their_type(size, share, data):
    """What is written is what is read, and what is not given has its default."""
    spec = spec_with(options=OPTIONS)
    given_ = {"size": str(size), "share": repr(share), "data": data}
    assert read_options(spec, given_) == {"size": size, "share": share, "data": data}
    for name in given_:
        part = {key: text for key, text in given_.items() if key != name}
        default = {"size": 5, "share": 0.5, "data": ""}[name]
        assert read_options(spec, part)[name] == default


@pytest.mark.parametrize(
    ("given_", "words"),
    [
        ({"sise": "5"}, "expected an option of game, got 'sise'; it has size (integer, default 5): how many;"),
        ({"size": "five"}, "option size: expected integer, got 'five'; game has size"),
        ({"share": ""}, "option share: expected number, got ''"),
    ],
)
def test_a_bad_option_is_refused_with_those_there_are(given_, words):
    """On one line."""
    with pytest.raises(ConfigError) as caught:
        read_options(spec_with(options=OPTIONS), given_)
    assert words in str(caught.value)
    assert "data (text" in str(caught.value)
    assert "\n" not in str(caught.value)


def test_an_environment_without_options_says_so():
    """Rather than ending in the middle of a sentence."""
    with pytest.raises(ConfigError, match="it has none"):
        read_options(spec_with(), {"size": "5"})

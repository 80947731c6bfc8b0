import json
import shlex

import pytest

from coevo.authoring.env_scaffold import new_environment
from coevo.errors import CoevoError, ConfigError, ContentError


@pytest.mark.parametrize("command", [[], ["list"], ["new"], ["check"]])
def test_help_is_there(coevo, command):
    """Every command explains itself."""
    result = coevo("env", *command, "--help")
    assert result.exit_code == 0
    assert "Usage" in result.output


def test_the_table_and_the_json_have_every_environment(coevo):
    """A line each, with splits and options; what is missing is told below with its command."""
    rows = json.loads(coevo("env", "list", "--json").stdout)
    table = coevo("env", "list").stdout
    assert {"sudoku"} <= {row["name"] for row in rows}
    for row in rows:
        line = next(line for line in table.splitlines() if line.split()[:1] == [row["name"]])
        assert row["title"] in line
        assert ", ".join(row["splits"]) in line
        assert all(f"{need['name']}: {need['install']}" in table for need in row["missing"])


def test_the_check_that_new_prints_passes(coevo, tmp_path, monkeypatch):
    """As it is printed, in the folder where it was printed."""
    monkeypatch.chdir(tmp_path)
    printed = coevo("env", "new", "my-game").stdout
    commands = [shlex.split(line) for line in printed.splitlines() if line.startswith("  coevo ")]
    assert [command[1] for command in commands] == ["env", "tune"]
    result = coevo(*commands[0][1:], "--option", "guesses=3")
    assert result.exit_code == 0, result.output
    assert result.stdout.splitlines()[-1] == f"my-game keeps the contract ({tmp_path / 'my-game'})"


def test_a_failed_check_is_exit_code_1_and_json_says_which(coevo, tmp_path):
    """One document, with every check."""
    file = new_environment("mine", tmp_path) / "environment.toml"
    file.write_text(file.read_text() + '\n[[needs]]\nprogram = "no-such"\ninstall = "apt-get install it"\n')
    result = coevo("env", "check", file.parent, "--json")
    assert result.exit_code == 1
    answer = json.loads(result.stdout)
    assert answer["passed"] is False
    states = {check["check"]: check["status"] for check in answer["checks"]}
    assert (states["metadata"], states["needs"], states["module"]) == ("ok", "failed", "skipped")
    lines = coevo("env", "check", file.parent).stdout.splitlines()
    assert any(line.startswith("failed  needs") and "apt-get install it" in line for line in lines)
    assert lines[-1].startswith("1 check failed (")


@pytest.mark.parametrize(
    ("arguments", "error", "words"),
    [
        (["new", "Bad Name"], ConfigError, "expected a name of small letters"),
        (["new", "sudoku"], ConfigError, "is an environment already"),
        (["new", "fine", "--to", "nowhere"], ConfigError, "expected a folder"),
        (["check", "nowhere"], ContentError, "expected the name of an environment"),
        (["check", "sudoku", "--option", "blanks"], ConfigError, "expected --option name=value, got 'blanks'"),
        (["check", "sudoku", "--option", "holes=3"], ConfigError, "expected an option of sudoku, got 'holes'; it has"),
        (["check", "sudoku", "--option", "blanks=few"], ConfigError, "option blanks: expected integer, got 'few'"),
    ],
)
def test_bad_input_is_one_line(coevo, tmp_path, monkeypatch, arguments, error, words):
    """Of the kind that ends the command with exit code 2; nothing is written."""
    monkeypatch.chdir(tmp_path)
    with pytest.raises(error, match=words) as caught:
        coevo("env", *arguments)
    assert isinstance(caught.value, CoevoError)
    assert "\n" not in str(caught.value)
    assert list(tmp_path.iterdir()) == []

import json
import shlex

import pytest

from coevo.authoring.env_scaffold import new_environment
from coevo.errors import CoevoError, ConfigError, ContentError
from coevo.learning.suiting import SCRIPT


@pytest.mark.parametrize("command", [[], ["list"], ["new"], ["check"]])
def test_help_is_there(coevo, command):
    """Every command explains itself."""
    result = coevo("env", *command, "--help")
    assert result.exit_code == 0
    assert "Usage" in result.output


@pytest.mark.parametrize(("columns", "width"), [(None, 100), ("100", 100), ("140", 140)])
def test_the_tables_and_the_json_have_every_environment_and_option(coevo, monkeypatch, columns, width):
    """Titles, splits and options with what they are, wrapped to COLUMNS or 100; what is missing is told below."""
    monkeypatch.delenv("COLUMNS", raising=False)
    if columns is not None:
        monkeypatch.setenv("COLUMNS", columns)
    rows = json.loads(coevo("env", "list", "--json").stdout)
    shown = coevo("env", "list").stdout
    assert {"sudoku"} <= {row["name"] for row in rows}
    missing = [f"{row['name']} cannot run here" for row in rows if row["missing"]]
    tables = [line for line in shown.splitlines() if not line.startswith(tuple(missing))]
    assert max(map(len, tables)) == width
    for row in rows:
        assert row["title"].split()[0] in shown.split(row["name"], 1)[1]
        assert all(f"{need['name']}: {need['install']}" in shown for need in row["missing"])
    words = "".join("".join(line.split()) for line in column_of(tables, "what it is"))
    for option in (option for row in rows for option in row["options"]):
        assert "".join(f"{option['description']}  [{option['default']}]".split()) in words
        assert any(f" {option['name']} " in line for line in tables)


def column_of(lines, head):
    """The texts under a head that is the last of its table."""
    number = next(number for number, line in enumerate(lines) if head in line)
    start = lines[number].index(head)
    return [line[start:] for line in lines[number + 1 :]]


def test_the_check_that_new_prints_passes(coevo, tmp_path, monkeypatch):
    """As it is printed, in the folder where it was printed."""
    monkeypatch.chdir(tmp_path)
    printed = coevo("env", "new", "my-game").stdout
    commands = [shlex.split(line) for line in printed.splitlines() if line.startswith("  coevo ")]
    assert [command[1] for command in commands] == ["env", "tune"]
    assert commands[1][-2:] == ["--model", "MODEL"]
    result = coevo(*commands[0][1:], "--option", "guesses=3")
    assert result.exit_code == 0, result.output
    assert result.stdout.splitlines()[-1] == f"my-game keeps the contract ({tmp_path / 'my-game'})"


def test_the_tuning_that_new_prints_begins(coevo, tmp_path, monkeypatch):
    """With a script in the place of a model, as it says: nothing but a model was wanting."""
    monkeypatch.chdir(tmp_path)
    printed = coevo("env", "new", "my-game").stdout
    command = next(shlex.split(line) for line in printed.splitlines() if line.startswith("  coevo tune"))
    (tmp_path / "answers.json").write_text(SCRIPT[SCRIPT.index("[") :])
    assert SCRIPT in printed
    with_script = ["--engine", "scripted", "--model", "answers.json", "--generations", "1", "--tasks", "2"]
    result = coevo(*command[1:-2], *with_script, "--members", "2", "--val-tasks", "1")
    assert "generation 1/1" in result.stderr, result.output


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

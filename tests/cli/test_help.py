import subprocess
import sys
from pathlib import Path

import pytest
import typer
from typer.testing import CliRunner

from coevo.cli import app

ROOT = Path(__file__).parents[2]


@pytest.mark.parametrize("command", [[], ["search"], ["resume"], ["evaluate"]])
def test_help_is_there(command):
    """Every command explains itself."""
    result = CliRunner().invoke(app, [*command, "--help"])
    assert result.exit_code == 0
    assert "Usage" in result.output


def commands():
    """Every command with the words that lead to it."""
    found = [((), typer.main.get_command(app))]
    for words, command in found:
        found += [((*words, name), each) for name, each in getattr(command, "commands", {}).items()]
    return found


@pytest.mark.parametrize(
    ("words", "command"), [pytest.param(*each, id=" ".join(("coevo", *each[0]))) for each in commands()]
)
def test_help_shows_every_word_of_every_option(words, command):
    """Also what stands in brackets, as defaults do: no text is taken for a style or a link."""
    result = CliRunner().invoke(app, [*words, "--help"], env={"COLUMNS": "400", "TERMINAL_WIDTH": "400"})
    shown = " ".join(result.output.split())
    assert result.exit_code == 0
    for parameter in command.params:
        assert " ".join((getattr(parameter, "help", None) or "").split()) in shown


def test_help_loads_nothing_heavy():
    """`coevo --help` ends without torch, transformers, Numba or NumPy's friends."""
    code = (
        "import sys; sys.argv = ['coevo', '--help']\n"
        "from coevo.cli import main\n"
        "try:\n    main()\nexcept SystemExit:\n    pass\n"
        "sys.stderr.write(repr([m for m in ('torch', 'transformers', 'numba') if m in sys.modules]))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stderr == "[]"
    assert "search" in done.stdout


def test_the_readme_names_the_command_that_ci_runs():
    """README's test command is, word for word, a line of `.ci/run`."""
    readme, script = (ROOT / "README.md").read_text(), (ROOT / ".ci" / "run").read_text()
    commands = [line for line in readme.splitlines() if line.startswith("python3 -m venv") and "pytest" in line]
    assert len(commands) == 1
    assert commands[0] in script.splitlines()

import json
import os
import shlex
import subprocess
import sys

import pytest
from typer.testing import CliRunner

from coevo.cli import app


def coevo(*arguments, cwd):
    """Run the command and return the finished process."""
    command = [sys.executable, "-m", "coevo", *map(str, arguments)]
    return subprocess.run(command, cwd=cwd, capture_output=True, text=True, env=dict(os.environ))


@pytest.mark.parametrize("command", [[], ["list"], ["new"], ["check"]])
def test_help_is_there(command):
    """Every command explains itself."""
    result = CliRunner().invoke(app, ["problem", *command, "--help"])
    assert result.exit_code == 0
    assert "Usage" in result.output


@pytest.mark.parametrize("command", [["--help"], ["problem", "--help"], ["problem", "list"], ["problem", "new", "x-1"]])
def test_light_commands_load_nothing_heavy(tmp_path, command):
    """Neither torch nor transformers nor Numba is needed to look around."""
    code = (
        f"import sys; sys.argv = {['coevo', *command]!r}\n"
        "from coevo.cli import main\n"
        "try:\n    main()\nexcept SystemExit:\n    pass\n"
        "sys.stderr.write(repr([m for m in ('torch', 'transformers', 'numba') if m in sys.modules]))"
    )
    done = subprocess.run([sys.executable, "-c", code], cwd=tmp_path, capture_output=True, text=True, check=True)
    assert done.stderr == "[]"


@pytest.mark.parametrize(("columns", "width"), [(None, 100), ("160", 160)])
def test_the_table_has_every_problem(tmp_path, monkeypatch, columns, width):
    """Where no terminal shows it, it is wrapped to COLUMNS, or to 100; nothing is cut."""
    monkeypatch.delenv("COLUMNS", raising=False)
    if columns is not None:
        monkeypatch.setenv("COLUMNS", columns)
    done = coevo("problem", "list", cwd=tmp_path)
    rows = json.loads(coevo("problem", "list", "--json", cwd=tmp_path).stdout)
    assert done.returncode == 0
    lines = done.stdout.splitlines()
    assert max(map(len, lines)) == width
    heads = next(line for line in lines if "heuristic" in line)
    start, end = heads.index("heuristic"), heads.index("splits")
    heuristics = "".join("".join(line[start:end].split()) for line in lines)
    for row in rows:
        line = next(line.split() for line in lines if line.split()[:1] == [row["name"]])
        assert line[1:3] == [row["origin"], row["sense"]]
        assert "".join(row["heuristic"].split()) in heuristics
    assert "…" not in done.stdout


@pytest.mark.slow
def test_the_three_commands_that_new_prints_work(tmp_path):
    """Check, search and evaluate, as they are printed, succeed in the folder where they were printed."""
    done = coevo("problem", "new", "my-day", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    commands = [shlex.split(line) for line in done.stdout.splitlines() if line.startswith("  coevo ")]
    assert [command[1] for command in commands] == ["problem", "search", "evaluate"]
    for command in commands:
        again = coevo(*command[1:], cwd=tmp_path)
        assert again.returncode == 0, again.stdout + again.stderr


def test_new_prints_paths_that_a_shell_understands(tmp_path):
    """A parent with a space in its name is quoted; an absolute one stays absolute."""
    (tmp_path / "my problems").mkdir()
    done = coevo("problem", "new", "day", "--to", tmp_path / "my problems", cwd="/")
    first = next(line for line in done.stdout.splitlines() if "problem check" in line)
    assert shlex.split(first) == ["coevo", "problem", "check", str(tmp_path / "my problems" / "day")]


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["new", "Bad Name"], "expected a name of small letters"),
        (["new", "tsp"], "is a problem already"),
        (["new", "fine", "--to", "nowhere"], "expected a folder"),
        (["check", "nowhere"], "expected the name of a problem or a folder with a problem.toml"),
        (["check", "./broken"], "is not valid TOML"),
    ],
)
def test_bad_input_is_one_line_and_exit_code_2(tmp_path, arguments, words):
    """A bad name, a missing folder, metadata that does not parse."""
    (tmp_path / "broken" / "baselines").mkdir(parents=True)
    for name in ("problem.py", "description.md", "baselines/first.py"):
        (tmp_path / "broken" / name).write_text("")
    (tmp_path / "broken" / "problem.toml").write_text("name = ")
    done = coevo("problem", *arguments, cwd=tmp_path)
    assert done.returncode == 2
    assert done.stdout == ""
    assert done.stderr.count("\n") == 1
    assert words in done.stderr
    assert [path.name for path in tmp_path.iterdir()] == ["broken"]


def test_a_failed_check_is_a_line_and_exit_code_1(tmp_path):
    """No traceback, whatever the problem does."""
    coevo("problem", "new", "mine", cwd=tmp_path)
    with (tmp_path / "mine" / "problem.py").open("a") as file:
        file.write("\n\ndef instances(split):\n    raise RuntimeError('oh\\nno')\n")
    done = coevo("problem", "check", "./mine", "--no-model", cwd=tmp_path)
    assert done.returncode == 1
    assert all(line.startswith("checking ") for line in done.stderr.splitlines())
    lines = done.stdout.splitlines()
    assert [line for line in lines if line.startswith("failed")] == [
        line for line in lines if "RuntimeError: oh\\nno (problem.py, line" in line
    ]
    assert lines[-1].startswith("1 check failed (")


@pytest.mark.slow
def test_findings_as_json(tmp_path):
    """One document: every check with its description, its status and its sentence."""
    coevo("problem", "new", "mine", cwd=tmp_path)
    done = coevo("problem", "check", "mine", "--no-model", "--json", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    answer = json.loads(done.stdout)
    assert answer["problem"] == "mine"
    assert answer["path"] == str(tmp_path / "mine")
    assert answer["passed"] is True
    assert {tuple(check) for check in answer["checks"]} == {("check", "description", "status", "text")}
    assert {check["status"] for check in answer["checks"]} == {"ok", "skipped"}

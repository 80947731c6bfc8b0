import json
import os
import re
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]


def block(text, language, number=0):
    """The code of one fenced block of a language."""
    return re.findall(rf"^```{language}\n(.*?)^```", text, re.DOTALL | re.MULTILINE)[number]


def section():
    """The README's section on a problem of one's own."""
    return (ROOT / "README.md").read_text().partition("## A problem of your own")[2].partition("\n## ")[0]


@pytest.fixture
def independent_set(tmp_path):
    """The folder that the section describes, written from its own text."""
    folder = tmp_path / "independent-set"
    (folder / "baselines").mkdir(parents=True)
    (folder / "problem.py").write_text(block(section(), "python", 0))
    (folder / "problem.toml").write_text(block(section(), "toml", 0))
    (folder / "description.md").write_text(block(section(), "markdown"))
    (folder / "baselines" / "first_candidate.py").write_text(block(section(), "python", 1))
    return folder


def coevo(*arguments, cwd, path=""):
    """Run the command, with one more folder to import from; returns what its JSON says."""
    python_path = os.pathsep.join(filter(None, [str(path), os.environ.get("PYTHONPATH")]))
    process = subprocess.run(
        [sys.executable, "-m", "coevo", *map(str, arguments), "--json"],
        cwd=cwd,
        capture_output=True,
        text=True,
        env={**os.environ, "PYTHONPATH": python_path},
    )
    assert process.returncode == 0, process.stdout + process.stderr
    return json.loads(process.stdout)


def environment_section():
    """The README's section on an environment of one's own."""
    return (ROOT / "README.md").read_text().partition("## An environment of your own")[2].partition("\n## ")[0]


@pytest.fixture
def nim(tmp_path):
    """The environment that the section describes, and the script beside it, written from its own text."""
    folder = tmp_path / "nim"
    folder.mkdir()
    (folder / "environment.py").write_text(block(environment_section(), "python"))
    (folder / "environment.toml").write_text(block(environment_section(), "toml"))
    (tmp_path / "answers.json").write_text(block(environment_section(), "json"))
    return folder


@pytest.mark.slow
def test_the_readmes_own_environment_keeps_the_contract(nim, tmp_path):
    """No check fails."""
    answer = coevo("env", "check", nim, cwd=tmp_path)
    assert answer["checks"]
    assert {check["check"]: check["text"] for check in answer["checks"] if check["status"] == "failed"} == {}


@pytest.mark.slow
def test_a_script_plays_the_readmes_own_environment(nim, tmp_path):
    """The command of the section, word for word but for the folder of runs, wins some games and loses others."""
    command = "coevo tune --env ./nim --engine scripted --model answers.json --generations 2"
    assert command in environment_section()
    result = coevo(*command.split()[1:], cwd=tmp_path)
    assert result["status"] == "done"
    assert 0 < result["start"]["val"]["mean"] < 1


@pytest.mark.slow
def test_the_readmes_own_problem_keeps_the_contract(independent_set, tmp_path):
    """No check fails or is worth a note; so the embedded model, too, can write for it."""
    answer = coevo("problem", "check", independent_set, cwd=tmp_path)
    assert {check["check"]: check["text"] for check in answer["checks"] if check["status"] in ("failed", "note")} == {}


@pytest.mark.slow
def test_the_readmes_own_problem_can_be_searched(independent_set, tmp_path):
    """The README says what a search of that budget finds: seventeen nodes where the baseline chooses fifteen."""
    assert "coevo search --problem ./independent-set --budget 100" in section()
    result = coevo("search", "--problem", independent_set, "--budget", 100, cwd=tmp_path)
    assert result["splits"].keys() == {"search", "val", "test"}
    assert 14.5 <= result["comparisons"]["first_candidate"]["search"]["objective"] <= 15.5
    assert 17 <= result["best"]["objective"] <= 18.5


def test_the_readmes_package_brings_its_problem(independent_set, tmp_path):
    """The project file and the function that it prints, laid out as an installer would, add the problem to the list."""
    project = tomllib.loads(block(section(), "toml", 1))["project"]
    site = tmp_path / "site-packages"
    package = site / project["name"].replace("-", "_")
    shutil.copytree(independent_set, package / "problems" / "independent-set")
    (package / "__init__.py").write_text(block(section(), "python", 2))
    information = site / f"{package.name}-{project['version']}.dist-info"
    information.mkdir()
    (information / "METADATA").write_text(
        f"Metadata-Version: 2.1\nName: {project['name']}\nVersion: {project['version']}\n"
    )
    points = project["entry-points"]["coevo.content"].items()
    lines = "".join(f"{name} = {value}\n" for name, value in points)
    (information / "entry_points.txt").write_text(f"[coevo.content]\n{lines}")
    rows = {row["name"]: row for row in coevo("problem", "list", cwd=tmp_path, path=site)}
    assert rows["independent-set"]["origin"] == project["name"] == "graph-problems"
    assert rows["independent-set"]["heuristic"] == "choose_node(last, candidates, adjacency)"


@pytest.mark.slow
def test_the_readmes_listener_is_told_of_generations(tmp_path):
    """The example in Python, word for word: each generation prints its number and a best cost that never rises."""
    text = (ROOT / "README.md").read_text().partition("\nFrom Python:\n")[2]
    example = block(text, "python", 1)
    done = subprocess.run([sys.executable, "-c", example], cwd=tmp_path, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    numbers, costs = zip(*(line.split() for line in done.stdout.splitlines()), strict=True)
    assert numbers == tuple(str(place) for place in range(1, len(numbers) + 1))
    assert sorted(map(float, costs), reverse=True) == [float(cost) for cost in costs]


def test_every_linked_file_exists():
    """No link of the READMEs is dead."""
    for page in (ROOT / "README.md", ROOT / "coevo" / "README.md", ROOT / "runs" / "README.md"):
        for target in re.findall(r"\]\(([^)#]+)\)", page.read_text()):
            assert target.startswith("http") or (page.parent / target).exists(), f"{page}: {target}"

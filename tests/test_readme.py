import json
import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]


def block(text, language, number=0):
    """The code of one fenced block of a language."""
    return re.findall(rf"^```{language}\n(.*?)^```", text, re.DOTALL | re.MULTILINE)[number]


@pytest.fixture
def my_bins(tmp_path):
    """The folder that the README's section on a problem of one's own describes, written from its own text."""
    section = (ROOT / "README.md").read_text().partition("## A problem of your own")[2].partition("\n## ")[0]
    folder = tmp_path / "my-bins"
    (folder / "baselines").mkdir(parents=True)
    (folder / "problem.py").write_text(block(section, "python", 0))
    (folder / "problem.toml").write_text(block(section, "toml"))
    (folder / "description.md").write_text(block(section, "markdown"))
    (folder / "baselines" / "best_fit.py").write_text(block(section, "python", 1))
    return folder


@pytest.mark.slow
def test_the_readmes_own_problem_can_be_searched(my_bins, tmp_path):
    """What the README prints is a complete problem, and the shipped model finds valid heuristics for it."""
    command = [sys.executable, "-m", "coevo", "search", "--problem", str(my_bins), "--budget", "40", "--json"]
    process = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True)
    assert process.returncode == 0, process.stderr
    result = json.loads(process.stdout)
    assert result["splits"].keys() == {"search", "val", "test"}
    assert result["best"]["objective"] <= result["comparisons"]["best_fit"]["search"]["objective"] + 2


def test_every_linked_file_exists():
    """No link of the READMEs is dead."""
    for page in (ROOT / "README.md", ROOT / "coevo" / "README.md", ROOT / "runs" / "README.md"):
        for target in re.findall(r"\]\(([^)#]+)\)", page.read_text()):
            assert target.startswith("http") or (page.parent / target).exists(), f"{page}: {target}"

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from coevo.authoring import listing
from coevo.authoring.listing import list_problems
from coevo.authoring.scaffold import new_problem
from coevo.content import Solver, find_problem


@pytest.fixture
def installed(tmp_path):
    """A folder with an installed package that brings one problem, broken in its code, as pip would have left it."""
    site = tmp_path / "site-packages"
    package, information = site / "day_problems", site / "day_problems-1.0.dist-info"
    (package / "problems").mkdir(parents=True)
    information.mkdir()
    (package / "__init__.py").write_text("from pathlib import Path\ndef root(): return Path(__file__).parent\n")
    (information / "METADATA").write_text("Metadata-Version: 2.1\nName: day-problems\nVersion: 1.0\n")
    (information / "entry_points.txt").write_text("[coevo.content]\ndays = day_problems:root\n")
    folder = new_problem("my-day", package / "problems")
    (folder / "problem.py").write_text("raise RuntimeError('nobody imports me')\n")
    return site


def list_json(site):
    """Run `coevo problem list --json` with a further folder on the path."""
    path = os.pathsep.join(filter(None, [str(site), str(Path.cwd()), os.environ.get("PYTHONPATH")]))
    command = [sys.executable, "-m", "coevo", "problem", "list", "--json"]
    return subprocess.run(
        command, cwd=site, capture_output=True, text=True, check=True, env={**os.environ, "PYTHONPATH": path}
    )


def listed(site):
    """Its rows by name."""
    return {row["name"]: row for row in json.loads(list_json(site).stdout)}


def test_the_bundled_problems_are_listed():
    """With origin, sense, signature and splits, as their metadata has them."""
    found, faults = list_problems()
    rows = {row.name: row for row in found}
    assert faults == []
    spec = find_problem("tsp").spec
    assert rows["tsp"].origin == "bundled"
    assert rows["tsp"].sense == "min"
    assert rows["tsp"].heuristic == spec.heuristic.definition[4:-1]
    assert rows["tsp"].splits == spec.splits
    assert Path(rows["tsp"].path) == find_problem("tsp").path


def test_a_packages_problem_is_listed_with_its_origin(installed):
    """By its metadata alone: its code would raise."""
    rows = listed(installed)
    assert rows["my-day"]["origin"] == "day-problems"
    assert rows["my-day"]["path"].startswith(str(installed))
    assert rows["tsp"]["origin"] == "bundled"


def test_a_broken_problem_is_named_and_hides_no_other(installed):
    """One line says what is wrong with it; the rest is listed."""
    (installed / "day_problems" / "problems" / "my-day" / "problem.toml").write_text("name = 'my-day'\n")
    done = list_json(installed)
    assert {"tsp", "kp"} <= {row["name"] for row in json.loads(done.stdout)}
    assert "my-day" not in done.stdout
    assert [line[:9] for line in done.stderr.splitlines() if "my-day" in line] == ["left out:"]


def test_a_packages_problem_with_a_bundled_name_is_left_out(installed):
    """The bundled one is what its name means."""
    (installed / "day_problems" / "problems" / "my-day").rename(installed / "day_problems" / "problems" / "tsp")
    rows = listed(installed)
    assert rows["tsp"]["origin"] == "bundled"
    assert "my-day" not in rows


@pytest.mark.parametrize(
    ("declared", "expected"),
    [
        (["numpy>=1.26", "numpy>=1; extra == 'solvers'"], True),
        (["numpy>=1; extra == 'solvers'", 'no-such-package>=1 ; extra == "solvers"'], False),
        (["numpy>=1.26", "no-such-package; extra == 'dev'"], None),
        (None, None),
    ],
)
def test_a_solver_is_installed_if_everything_its_extra_brings_is(monkeypatch, declared, expected):
    """And unknown where coevo's own installation does not say what that is."""
    monkeypatch.setattr(listing, "requires", lambda name: declared)
    listing._packages_of.cache_clear()
    row = listing._solver(Solver(name="exact", extra="solvers", licence="MIT", gives="a proven optimum"))
    listing._packages_of.cache_clear()
    assert row.is_installed is expected

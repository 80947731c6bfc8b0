import json
import os
import subprocess
import sys
import venv
import zipfile
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
pytestmark = [pytest.mark.packaging, pytest.mark.slow]

LIST_CONTENT = """
import json, coevo
from coevo.content import bundled_root, problem_paths
from coevo.engines.loading import resolve_model
from coevo.experiments.grid import bundled_grids
root = bundled_root()
print(json.dumps({
    "package": coevo.__file__,
    "problems": sorted(p.name for p in problem_paths()),
    "operators": sorted(p.name for p in (root / "operators").glob("*.md")),
    "grids": sorted(bundled_grids()),
    "model": sorted(p.name for p in resolve_model("embedded").iterdir()),
}))
"""


@pytest.fixture(scope="module")
def wheel(tmp_path_factory):
    """The wheel, built from the checkout without isolation."""
    out = tmp_path_factory.mktemp("wheel")
    command = [
        sys.executable,
        "-m",
        "pip",
        "wheel",
        "-q",
        "--no-deps",
        "--no-build-isolation",
        "-w",
        str(out),
        str(ROOT),
    ]
    subprocess.run(command, check=True)
    return next(out.glob("*.whl"))


@pytest.fixture(scope="module")
def fresh_python(wheel, tmp_path_factory):
    """A fresh environment with the wheel; its dependencies are those of the environment that runs the tests."""
    folder = tmp_path_factory.mktemp("fresh")
    venv.create(folder, with_pip=False)
    python = folder / "bin" / "python"
    site = next((folder / "lib").glob("python*/site-packages"))
    subprocess.run(
        [sys.executable, "-m", "pip", "install", "-q", "--no-deps", "--target", str(site), str(wheel)], check=True
    )
    own = next(Path(p) for p in sys.path if p.endswith("site-packages"))
    for package in own.iterdir():
        if not package.name.startswith(("coevo", "_coevo", "__editable__")) and not (site / package.name).exists():
            (site / package.name).symlink_to(package)
    return python


def run(python, *arguments, cwd):
    """Run an interpreter without any of this process's Python settings."""
    environment = {key: value for key, value in os.environ.items() if not key.startswith("PYTHON")}
    return subprocess.run(
        [str(python), *arguments], cwd=cwd, env=environment, capture_output=True, text=True, check=True
    )


def test_the_wheel_and_the_checkout_find_the_same_content(fresh_python, tmp_path):
    """Installed from the wheel, coevo finds the same problems, operators and model as in the checkout."""
    found = [
        json.loads(run(python, "-c", LIST_CONTENT, cwd=tmp_path).stdout) for python in (fresh_python, sys.executable)
    ]
    installed, checkout = found
    assert "site-packages" in installed.pop("package")
    assert checkout.pop("package").startswith(str(ROOT))
    assert installed == checkout


def test_the_wheel_searches(fresh_python, tmp_path):
    """The installed command runs a small search with the shipped model, from a neutral directory."""
    command = ["-m", "coevo", "search", "--budget", "30", "--json"]
    result = json.loads(run(fresh_python, *command, cwd=tmp_path).stdout)
    assert (result["status"], result["budget"]["operator"]) == ("done", 30)
    assert (tmp_path / result["run"]).is_dir()


def test_the_wheel_holds_what_it_should(wheel):
    """No tests, runs, caches or pickles; at most 20 MB; optima and prompts are in."""
    with zipfile.ZipFile(wheel) as archive:
        names = archive.namelist()
    assert wheel.stat().st_size <= 20e6
    assert not [n for n in names if n.startswith(("tests/", "runs/")) or "__pycache__" in n]
    assert not [n for n in names if n.endswith((".pkl", ".pickle", ".bin", ".pt"))]
    assert {"coevo/_bundled/operators/m1.md", "coevo/_bundled/problems/tsp/problem.toml"} <= set(names)


def test_the_checkout_has_no_bundled_folder():
    """A `coevo/_bundled` in the checkout would win over the live content."""
    assert not (ROOT / "coevo" / "_bundled").exists()

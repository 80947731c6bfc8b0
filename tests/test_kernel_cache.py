"""What a compiled kernel calls, and what it reads from elsewhere, decides whether it is compiled again."""

import ast
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from coevo import kernel_cache
from coevo.kernel_cache import KEPT, compile_into, kernel_folder

PACKAGE = Path(kernel_cache.__file__).parent

CALLEE = """
from coevo.noise.compiled import kernel
FACTOR = 2
@kernel
def scaled(value):
    return FACTOR * value
"""
CALLER = """
from coevo.noise.compiled import kernel
from coevo.noise.callee import scaled
@kernel
def scaled_plus_one(value):
    return scaled(value) + 1
def loaded():
    return sum(scaled_plus_one.stats.cache_hits.values())
"""
RUN = "from coevo.noise import caller; print(caller.scaled_plus_one(20), caller.loaded())"

TOML = """
schema_version = 1
name = "toy"
title = "A toy"
sense = "min"
splits = { search = "seen" }
limits = { cpu_s = 1.0 }
source = "made up"
licence = "MIT"

[heuristic]
function = "choose"
arguments = [{ name = "left", kind = "nodes", type = "array", description = "what is left" }]
returns = { name = "next", kind = "node", type = "int", description = "what to take" }
"""
PROBLEM = """
from numba import njit
from {module} import scaled
@njit(cache=True)
def scaled_plus_one(value):
    return scaled(value) + 1
def instances(split): return [scaled_plus_one(20), sum(scaled_plus_one.stats.cache_hits.values())]
def solve(heuristic, instance): return heuristic(instance)
def objective(instance, solution): return float(solution)
"""
SCALED = "from numba import njit\n@njit(cache=True)\ndef scaled(value):\n    return 2 * value\n"
LOAD = (
    "import sys\nfrom coevo.content import find_problem\nprint(*find_problem(sys.argv[1]).load().instances('search'))"
)


@pytest.fixture
def copy(tmp_path):
    """A copy of coevo's sources, in which files may be edited."""
    ignored = shutil.ignore_patterns("__pycache__", "*.safetensors")
    folder = tmp_path / "site" / "coevo"
    shutil.copytree(PACKAGE, folder, ignore=ignored)
    # Of the noise, only how kernels are compiled: importing the rest takes longer than these tests.
    (folder / "noise" / "__init__.py").write_text("")
    return folder


@pytest.fixture
def run(copy, tmp_path):
    """Runs a program in a fresh process with that copy and an own cache, and gives the words that it prints."""

    def start(program, *arguments):
        path = os.pathsep.join([str(copy.parent), *filter(None, sys.path)])
        environment = {"PATH": "", "PYTHONPATH": path, "XDG_CACHE_HOME": str(tmp_path / "cache")}
        command = [sys.executable, "-P", "-c", program, *map(str, arguments)]
        return subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True, env=environment).stdout.split()

    return start


@pytest.fixture
def make_folder(tmp_path):
    """Writes a problem with a kernel that calls one of a module, and returns its folder."""

    def make(name="toy", *, module=".scaling"):
        folder = tmp_path / name
        (folder / "baselines").mkdir(parents=True)
        (folder / "problem.toml").write_text(TOML)
        (folder / "problem.py").write_text(PROBLEM.format(module=module))
        (folder / "description.md").write_text("Choose.")
        (folder / "baselines" / "first.py").write_text("def choose(left):\n    return left[0]\n")
        return folder

    return make


def edit(file, old, new):
    """Change a file as an editor would that keeps neither its time nor its size."""
    file.write_text(file.read_text().replace(old, new))


@pytest.mark.slow
def test_a_kernel_sees_an_edit_of_what_it_calls(copy, run):
    """Compiled once, then loaded; after an edit of a callee or a constant in another file, compiled again."""
    (copy / "noise" / "callee.py").write_text(CALLEE)
    (copy / "noise" / "caller.py").write_text(CALLER)
    assert run(RUN) == ["41", "0"]
    assert run(RUN) == ["41", "1"]
    edit(copy / "noise" / "callee.py", "FACTOR * value", "FACTOR * value + 100")
    assert run(RUN) == ["141", "0"]
    edit(copy / "noise" / "callee.py", "FACTOR = 2", "FACTOR = 3")
    assert run(RUN) == ["161", "0"]
    edit(copy / "noise" / "callee.py", "FACTOR = 3", "FACTOR = 2")
    assert run(RUN) == ["141", "1"]


@pytest.mark.slow
@pytest.mark.parametrize("module", [".scaling", "coevo.problemkit.scaling"])
def test_a_problems_kernel_sees_an_edit_of_what_it_calls(copy, run, make_folder, module):
    """In a neighbour of its file as in the package that problems share."""
    folder = make_folder(module=module)
    callee = (folder if module == ".scaling" else copy / "problemkit") / "scaling.py"
    callee.write_text(SCALED)
    assert run(LOAD, folder) == ["41", "0"]
    assert run(LOAD, folder) == ["41", "1"]
    edit(callee, "2 * value", "3 * value")
    assert run(LOAD, folder) == ["61", "0"]


@pytest.mark.slow
def test_the_second_problem_of_a_process_has_a_folder_of_its_own(run, make_folder):
    """Also once Numba has been loaded; its kernels see an edit of what they call."""
    first, second = make_folder("first"), make_folder("second")
    for folder in (first, second):
        (folder / "scaling.py").write_text(SCALED)
    program = f"{LOAD.rpartition('print')[0]}find_problem(sys.argv[2]).load().instances('search')\n{LOAD}"
    assert run(program, second, first) == ["41", "0"]
    edit(second / "scaling.py", "2 * value", "3 * value")
    assert run(program, second, first) == ["61", "0"]


@pytest.mark.slow
def test_kernels_of_a_package_that_cannot_be_written_to_lie_in_the_users_cache(copy, run, tmp_path):
    """An installed coevo may be read-only; a file in the place of the byte code stands for that."""
    (copy / "__pycache__").touch()
    (copy / "noise" / "callee.py").write_text(CALLEE)
    (copy / "noise" / "caller.py").write_text(CALLER)
    assert run(RUN) == ["41", "0"]
    assert run(RUN) == ["41", "1"]
    assert [*(tmp_path / "cache" / "coevo" / "numba").rglob("*.nbi")]


def test_where_nothing_can_be_written_there_is_no_folder(monkeypatch, tmp_path):
    """A file stands where the user's cache and the byte code should be."""
    (tmp_path / "file").touch()
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "file"))
    monkeypatch.setattr(kernel_cache, "__file__", str(tmp_path / "file" / "kernel_cache.py"))
    assert kernel_folder("toy", []) is None


@pytest.mark.parametrize(
    ("with_package", "broken", "chosen"),
    [(False, "", "user"), (False, "user", "__pycache__"), (True, "", "__pycache__"), (True, "__pycache__", "user")],
)
def test_each_place_stands_in_for_the_other(monkeypatch, tmp_path, with_package, broken, chosen):
    """Kernels of coevo lie with its byte code, those of problems in the user's cache, if that can be written to."""
    if broken:
        (tmp_path / broken).touch()
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "user"))
    monkeypatch.setattr(kernel_cache, "__file__", str(tmp_path / "kernel_cache.py"))
    folder = kernel_folder("toy", [], with_package=with_package)
    assert folder is not None
    assert folder.parent == tmp_path / chosen / "coevo" / "numba"


def test_the_folders_used_last_are_kept(monkeypatch, tmp_path):
    """What is asked for counts as used; no more than `KEPT` remain."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    source = tmp_path / "source.py"
    folders = []
    for number in range(KEPT + 3):
        source.write_text(str(number))
        folders.append(kernel_folder("toy", [source]))
    assert len(set(folders)) == KEPT + 3
    for number, folder in enumerate(folders):
        folder.mkdir()
        os.utime(folder, ns=(number, number))
    source.write_text("0")
    assert kernel_folder("toy", [source]) == folders[0]
    assert {folder for folder in folders if folder.exists()} == {folders[0], *folders[4:]}


def test_what_is_no_file_is_no_source(monkeypatch, tmp_path):
    """A folder or a dangling link that is called like a module; a name, a content and a further file count."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    source = tmp_path / "a.py"
    source.write_text("x = 1")
    first = kernel_folder("toy", tmp_path.glob("*.py"))
    (tmp_path / "b.py").mkdir()
    (tmp_path / "c.py").symlink_to("nowhere.py")
    assert kernel_folder("toy", tmp_path.glob("*.py")) == first
    (tmp_path / "d.py").write_text("")
    second = kernel_folder("toy", tmp_path.glob("*.py"))
    source.write_text("x = 2")
    third = kernel_folder("toy", tmp_path.glob("*.py"))
    source.rename(tmp_path / "e.py")
    assert len({first, second, third, kernel_folder("toy", tmp_path.glob("*.py"))}) == 4


def test_a_folder_of_the_users_stays(monkeypatch, tmp_path):
    """One that coevo has set gives way to the next, one that the user has named does not."""
    monkeypatch.delenv("NUMBA_CACHE_DIR", raising=False)
    # Loaded, it would be told as well, and go on compiling into this test's folder.
    monkeypatch.delitem(sys.modules, "numba", raising=False)
    for name in ("a", "b"):
        compile_into(tmp_path / "coevo" / "numba" / name)
        assert os.environ["NUMBA_CACHE_DIR"] == str(tmp_path / "coevo" / "numba" / name)
    monkeypatch.setenv("NUMBA_CACHE_DIR", str(tmp_path / "own"))
    compile_into(tmp_path / "coevo" / "numba" / "a")
    assert os.environ["NUMBA_CACHE_DIR"] == str(tmp_path / "own")


def test_kernels_outside_the_noise_call_none_elsewhere():
    """Whoever else compiles with `compiled` imports, of what is compiled, the noise alone."""
    users = [file for file in PACKAGE.rglob("*.py") if "noise.compiled import" in file.read_text()]
    outside = [file for file in users if file.parent.name != "noise"]
    assert [file.name for file in outside] == ["lean_kernels.py"]
    for file in outside:
        names = [
            node.module or "" for node in ast.walk(ast.parse(file.read_text())) if isinstance(node, ast.ImportFrom)
        ]
        assert {name for name in names if name.startswith("coevo")} == {"coevo.noise.compiled"}

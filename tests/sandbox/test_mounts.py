import json
import os
import subprocess
import sys
import sysconfig
from pathlib import Path
from typing import Any

import pytest

from coevo.content import ProblemFolder
from coevo.sandbox.launcher import find_bwrap
from coevo.sandbox.mounts import Content, bwrap_arguments, environment, interpreter

LOOK_AROUND = """
import json, os, sys
writable = []
for top, folders, files in os.walk("/"):
    if top.startswith("/usr/"):
        folders.clear()
    try:
        open(os.path.join(top, "x"), "w")
    except OSError:
        continue
    writable.append(top)
def listed(path):
    return sorted(os.listdir(path)) if os.path.isdir(path) else None
print(json.dumps({
    "writable": writable, "top": listed("/"), "dev": listed("/dev"), "environ": dict(os.environ), "pid": os.getpid(),
    "problem": listed(sys.argv[1]), "coevo": listed(sys.argv[2]), "packages": listed(sys.argv[3]),
    "base_packages": listed(sys.argv[4]),
}))
"""


@pytest.fixture(scope="module")
def seen(toy: ProblemFolder) -> dict[str, Any]:
    """What a process sees that has the sandbox's mounts around it, but no seccomp filter."""
    import coevo

    package = Path(coevo.__file__).parent
    import numpy

    base = sysconfig.get_path("purelib", vars={"base": sys.base_prefix})
    arguments = [str(toy.path), str(package), str(Path(numpy.__file__).parent.parent), base]
    command = [find_bwrap(), *bwrap_arguments(Content(toy.path)), "--", str(interpreter()), "-S", "-c", LOOK_AROUND]
    done = subprocess.run([*command, *arguments], capture_output=True, text=True, check=True, env={"SECRET": "x"})
    found: dict[str, Any] = json.loads(done.stdout)
    return found


def test_no_folder_can_be_written_to(seen: dict[str, Any]) -> None:
    """Even without the system call filter, no mount lets a file be created."""
    assert seen["writable"] == []


def test_only_the_allow_list_is_there(seen: dict[str, Any]) -> None:
    """The top has no /proc, /sys, /home, /run or /var; /dev holds harmless devices only."""
    assert not {"proc", "sys", "home", "run", "var", "mnt"} & set(seen["top"])
    assert set(seen["dev"]) <= {"null", "zero", "random", "urandom"}
    assert seen["pid"] <= 2


def test_of_the_problem_only_its_code_is_there(seen: dict[str, Any]) -> None:
    """No baselines, no data, no optima, no description."""
    assert seen["problem"] == ["problem.py"]


def test_of_coevo_only_what_problems_import_is_there(seen: dict[str, Any]) -> None:
    """Neither the parts nor bundled content, which hold or lead to the optima."""
    assert seen["coevo"] == ["candidate.py", "errors.py", "interfaces.py", "problemkit", "sandbox"]


def test_of_the_installed_packages_only_the_libraries_are_there(seen: dict[str, Any]) -> None:
    """Whatever else is installed beside numpy is hidden."""
    allowed = {"numpy", "numpy.libs", "numba", "llvmlite", "llvmlite.libs", "scipy", "scipy.libs"}
    assert "numpy" in seen["packages"]
    assert set(seen["packages"]) - {"coevo"} <= allowed
    assert set(seen["base_packages"] or []) - {"coevo"} <= allowed


def test_the_environment_is_made_from_nothing(seen: dict[str, Any], toy: ProblemFolder) -> None:
    """Inside there are the variables we set and no other; libraries are told to use one thread."""
    expected = environment(Content(toy.path), is_bound=True)
    assert seen["environ"].keys() - {"PWD", "LC_CTYPE"} == expected.keys()
    assert expected["OMP_NUM_THREADS"] == expected["OPENBLAS_NUM_THREADS"] == "1"
    assert not set(expected) & {"HOME", "USER", *(name for name in os.environ if "TOKEN" in name)}


def test_a_numba_cache_is_mounted_read_only(toy: ProblemFolder, tmp_path: Path) -> None:
    """The cache appears at a place of its own; the environment leads Numba there."""
    arguments = bwrap_arguments(Content(toy.path, tmp_path))
    at = arguments.index(str(tmp_path))
    assert arguments[at - 1] == "--ro-bind"
    assert environment(Content(toy.path, tmp_path), is_bound=True)["NUMBA_CACHE_DIR"] == arguments[at + 1]
    assert "--bind" not in arguments

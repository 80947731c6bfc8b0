"""What the sandbox can see: an allow-list of read-only mounts, and the environment to go with it.

Every path is mounted where it is outside, because Numba's caches are keyed by path. Packages lie side by side as they
do in site-packages, but each is bound by itself and whatever else is installed beside them is hidden: an installed
coevo keeps its problems, with their optima, in there.
"""

import importlib.util
import site
import sys
import sysconfig
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

_LIBRARIES = ("numpy", "scipy", "numba", "llvmlite")
_COEVO = ("errors.py", "interfaces.py", "candidate.py", "problemkit", "sandbox")
"""The parts of coevo that problem code may import and the server consists of. Not `__init__.py`: what it offers is not
in there, and without it the rest is a namespace package."""
_COEVO_FOLDER = Path(__file__).resolve().parent.parent
_SYSTEM = ("/lib", "/lib64", "/usr/lib", "/usr/lib64")
_LOADER_FILES = ("/etc/ld.so.cache",)
_DEVICES = ("/dev/null", "/dev/zero", "/dev/urandom", "/dev/random")
_NUMBA_CACHE = "/numba-cache"
_NOT_MULTITHREADED = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "NUMBA_NUM_THREADS")


@dataclass(frozen=True, slots=True)
class Content:
    """What one problem needs inside.

    Attributes:
        problem: The problem's folder, of which only the Python files at its top are visible.
        numba_cache: Host folder with Numba's cache, filled by trusted code, or None.
    """

    problem: Path
    numba_cache: Path | None = None


def interpreter() -> Path:
    """The real interpreter, past any virtual environment."""
    return Path(sys.executable).resolve()


def server_command() -> list[str]:
    """How the server is started: no site module (hence no .pth file), no user site, no byte code written."""
    return [str(interpreter()), "-s", "-S", "-P", "-B", "-m", "coevo.sandbox.server"]


def environment(content: Content, *, is_bound: bool) -> dict[str, str]:
    """The server's whole environment.

    Args:
        content: What the problem needs.
        is_bound: Whether the mounts of `bwrap_arguments` are in force.
    """
    roots = dict.fromkeys(str(folder) for folder in (_COEVO_FOLDER.parent, *(path.parent for path in _libraries())))
    values = {
        "PATH": "/usr/bin",
        "LANG": "C.UTF-8",
        "PYTHONPATH": ":".join(roots),
        # Sets and dicts of a candidate iterate the same way in every run.
        "PYTHONHASHSEED": "0",
        **dict.fromkeys(_NOT_MULTITHREADED, "1"),
    }
    if content.numba_cache is not None:
        values["NUMBA_CACHE_DIR"] = _NUMBA_CACHE if is_bound else str(content.numba_cache)
    return values


def bwrap_arguments(content: Content) -> list[str]:
    """Arguments of bwrap up to, and without, the command."""
    arguments = ["--unshare-all", "--die-with-parent", "--new-session", "--as-pid-1", "--cap-drop", "ALL"]
    arguments += ["--hostname", "sandbox", "--clearenv"]
    for name, value in environment(content, is_bound=True).items():
        arguments += ["--setenv", name, value]
    arguments += _system_mounts()
    masks = _package_folders()
    for mask in masks:
        arguments += ["--tmpfs", str(mask)]
    for path in [*_libraries(), *_coevo_parts(), *sorted(content.problem.glob("*.py"))]:
        arguments += ["--ro-bind", str(path), str(path)]
    if content.numba_cache is not None:
        arguments += ["--ro-bind", str(content.numba_cache), _NUMBA_CACHE]
    for device in _DEVICES:
        arguments += ["--dev-bind-try", device, device]
    arguments += ["--dir", "/tmp", "--chdir", "/tmp"]
    # No /proc and no /sys: nothing in there is any of a heuristic's business. Last, nothing stays writable.
    for mask in masks:
        arguments += ["--remount-ro", str(mask)]
    return [*arguments, "--remount-ro", "/"]


def _system_mounts() -> list[str]:
    arguments: list[str] = []
    for path in map(Path, _SYSTEM):
        if path.is_symlink():
            arguments += ["--symlink", str(path.readlink()), str(path)]
        elif path.is_dir():
            arguments += ["--ro-bind", str(path), str(path)]
    for folder in _interpreter_folders():
        arguments += ["--ro-bind", str(folder), str(folder)]
    arguments += ["--ro-bind", str(interpreter()), str(interpreter())]
    for file in _LOADER_FILES:
        arguments += ["--ro-bind-try", file, file]
    return arguments


def _interpreter_folders() -> list[Path]:
    """The libraries of the base interpreter, unless the system's mounts hold them already."""
    found = [Path(sys.base_prefix) / name for name in ("lib", "lib64")]
    return [path for path in found if path.is_dir() and not path.is_symlink() and str(path) not in _SYSTEM]


def _package_folders() -> list[Path]:
    """Every site-packages folder that the mounts above would show."""
    shown = [Path(path) for path in _SYSTEM] + _interpreter_folders()
    known = {Path(path) for path in site.getsitepackages([sys.base_prefix, "/usr", "/usr/local"])}
    known |= {Path(sysconfig.get_path(name)) for name in ("purelib", "platlib")}
    for folder in shown:
        known |= {*folder.glob("python3*/site-packages"), *folder.glob("python3*/dist-packages")}
    real = {path.resolve() for path in known if path.is_dir()}
    return sorted(path for path in real if any(path.is_relative_to(folder) for folder in shown))


def _libraries() -> Iterator[Path]:
    """Each library that is mounted, with the folder of its bundled shared objects beside it."""
    for name in _LIBRARIES:
        spec = importlib.util.find_spec(name)
        if spec is None or spec.origin is None:
            continue
        package = Path(spec.origin).resolve().parent
        yield package
        shared = package.with_name(f"{name}.libs")
        if shared.is_dir():
            yield shared


def _coevo_parts() -> list[Path]:
    return [_COEVO_FOLDER / name for name in _COEVO if (_COEVO_FOLDER / name).exists()]

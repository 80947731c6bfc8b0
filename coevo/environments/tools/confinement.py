"""What a shell's sandbox can see: an allow-list of read-only mounts, private folders and a bare environment."""

import importlib.util
import sys
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path

from coevo.sandbox.mounts import interpreter

WORKSPACE = "/workspace"
PACKAGES = ("numpy", "scipy", "sympy", "mpmath", "PIL", "pytesseract", "cv2", "packaging")
"""Python packages that commands can import, where they are installed."""

_SHARED_OBJECTS = {
    "PIL": ("pillow.libs", "Pillow.libs"),
    "cv2": ("opencv_python_headless.libs", "opencv_python.libs"),
}
"""Folders of bundled shared objects, where they are not called after the package."""

_SUPERVISOR = Path(__file__).with_name("supervisor.py")
_SUPERVISOR_INSIDE = "/opt/supervisor.py"
_PROGRAMS = "/opt/bin"
_PACKAGES = "/opt/packages"
_SYSTEM = ("/usr", "/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32")
_OPTIONAL = ("/etc/ld.so.cache", "/etc/alternatives", "/etc/fonts")
_DEVICES = ("/dev/null", "/dev/zero", "/dev/urandom", "/dev/random")
_LINKS = {
    "/dev/fd": "/proc/self/fd",
    "/dev/stdin": "/proc/self/fd/0",
    "/dev/stdout": "/proc/self/fd/1",
    "/dev/stderr": "/proc/self/fd/2",
}
_ENVIRONMENT = {
    "PATH": f"{_PROGRAMS}:/usr/local/bin:/usr/bin:/bin",
    "HOME": WORKSPACE,
    "LANG": "C.UTF-8",
    "TMPDIR": "/tmp",
    "PYTHONPATH": _PACKAGES,
    "PYTHONNOUSERSITE": "1",
    "PYTHONDONTWRITEBYTECODE": "1",
    "PYTHONHASHSEED": "0",
    # Many episodes run at a time: a command that wants more threads than one says so itself.
    **dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "OMP_THREAD_LIMIT"), "1"),
}
_WRITABLE = {WORKSPACE: 1, "/tmp": 4, "/dev/shm": 4}
"""Private folders, each with what the size of the workspace is divided by to give its own."""


def bwrap_arguments(files: Mapping[str, Path], disk_bytes: int) -> list[str]:
    """Arguments of bwrap up to, and without, the command.

    Args:
        files: Name inside the workspace -> host file, shown read-only.
        disk_bytes: Size of the workspace.
    """
    arguments = ["--unshare-all", "--unshare-user", "--uid", "1000", "--gid", "1000", "--hostname", "sandbox"]
    arguments += ["--new-session", "--as-pid-1", "--cap-drop", "ALL", "--clearenv"]
    for name, value in _ENVIRONMENT.items():
        arguments += ["--setenv", name, value]
    arguments += [*_system_mounts(), *_python_mounts(), "--proc", "/proc"]
    for device in _DEVICES:
        arguments += ["--dev-bind-try", device, device]
    for name, target in _LINKS.items():
        arguments += ["--symlink", target, name]
    for folder, share in _WRITABLE.items():
        arguments += ["--size", str(disk_bytes // share), "--tmpfs", folder]
    for name, file in files.items():
        arguments += ["--ro-bind", str(file.resolve()), f"{WORKSPACE}/{name}"]
    return [*arguments, "--chdir", WORKSPACE, "--remount-ro", "/"]


def installed_packages() -> list[str]:
    """Which of `PACKAGES` commands can import here."""
    return [name for name in PACKAGES if importlib.util.find_spec(name) is not None]


def supervisor_command(settings: str) -> list[str]:
    """How the process inside is started: no site module, nothing but the standard library."""
    return [str(interpreter()), "-I", "-S", "-B", _SUPERVISOR_INSIDE, settings]


def _system_mounts() -> list[str]:
    arguments: list[str] = []
    for path in map(Path, _SYSTEM):
        if path.is_symlink():
            arguments += ["--symlink", str(path.readlink()), str(path)]
        elif path.is_dir():
            arguments += ["--ro-bind", str(path), str(path)]
    for file in _OPTIONAL:
        arguments += ["--ro-bind-try", file, file]
    return arguments


def _python_mounts() -> list[str]:
    arguments: list[str] = []
    folders = [path for path in (Path(sys.base_prefix) / name for name in ("lib", "lib64")) if path.is_dir()]
    for folder in folders:
        if not _is_system(folder):
            arguments += ["--ro-bind", str(folder), str(folder)]
    # Whatever else is installed is hidden: an installed coevo has its problems and environments in there.
    for folder in sorted(_package_folders([*folders, Path("/usr/lib"), Path("/usr/local/lib")])):
        arguments += ["--tmpfs", str(folder), "--remount-ro", str(folder)]
    if not _is_system(interpreter()):
        arguments += ["--ro-bind", str(interpreter()), str(interpreter())]
    for name in ("python", "python3"):
        arguments += ["--symlink", str(interpreter()), f"{_PROGRAMS}/{name}"]
    for path in _packages(PACKAGES):
        arguments += ["--ro-bind", str(path), f"{_PACKAGES}/{path.name}"]
    return [*arguments, "--ro-bind", str(_SUPERVISOR), _SUPERVISOR_INSIDE]


def _is_system(path: Path) -> bool:
    return any(path.resolve().is_relative_to(Path(folder).resolve()) for folder in _SYSTEM if Path(folder).exists())


def _package_folders(libraries: Iterable[Path]) -> set[Path]:
    found = set()
    for library in libraries:
        found |= {*library.glob("python3*/site-packages"), *library.glob("python3*/dist-packages")}
    return {path.resolve() for path in found if path.is_dir()}


def _packages(names: Iterable[str]) -> Iterator[Path]:
    """Each package that is installed, with the folder of its bundled shared objects beside it."""
    for name in names:
        spec = importlib.util.find_spec(name)
        if spec is None or spec.origin is None:
            continue
        origin = Path(spec.origin).resolve()
        package = origin.parent if origin.name == "__init__.py" else origin
        yield package
        for shared in _SHARED_OBJECTS.get(name, (f"{name}.libs",)):
            if package.with_name(shared).is_dir():
                yield package.with_name(shared)

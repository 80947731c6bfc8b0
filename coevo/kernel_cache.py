"""Where compiled kernels are kept: one folder for each state of the sources that they are made of.

Numba asks whether the file of a kernel has changed, and no more: after an edit of another file, from which the kernel
calls a function or takes a constant, it would go on with the old machine code. So the folder's name holds a hash of
all sources and of the compilers' versions, and what has changed in any way finds an empty folder. The folders that
have not been used for longest are removed.
"""

import hashlib
import os
import shutil
import sys
import tempfile
from collections.abc import Iterable
from importlib.metadata import version
from pathlib import Path

KEPT = 32
"""Folders that are kept, of all packages together; one takes a few megabytes."""

_VARIABLE = "NUMBA_CACHE_DIR"
_PLACE = ("coevo", "numba")
_COMPILERS = ("numba", "llvmlite", "numpy")


def kernel_folder(label: str, sources: Iterable[Path], *, with_package: bool = False) -> Path | None:
    """The folder for what Numba compiles of some sources; Numba creates it.

    Args:
        label: First part of its name, for the eyes.
        sources: Every file that takes part in a kernel: where it stands, and what it calls or reads from elsewhere.
            Their names and contents count; where they lie does not, because Numba tells places apart itself.
        with_package: Whether it lies with the byte code of coevo, for its own kernels, rather than in the user's cache;
            the other place is taken where the first cannot be written to.

    Returns:
        None, hence compiling in every process, where no folder can be written to.
    """
    base = _writable_base(with_package)
    if base is None:
        return None
    folder = base / f"{label}-{_digest(sources)}"
    if folder.is_dir():
        os.utime(folder)
    _forget_old(base)
    return folder


def compile_into(folder: Path) -> None:
    """Let this process and those that it starts keep what they compile from here on in `folder`.

    A folder that the user has named in `NUMBA_CACHE_DIR` stays.
    """
    named = os.environ.get(_VARIABLE)
    if named and Path(named).parts[-3:-1] != _PLACE:
        return
    os.environ[_VARIABLE] = str(folder)
    if "numba" in sys.modules:
        sys.modules["numba"].config.reload_config()


def _writable_base(with_package: bool) -> Path | None:
    # A Path would raise where there is no home.
    user = Path(os.environ.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache"))  # noqa: PTH111
    places = [user, Path(__file__).resolve().parent / "__pycache__"]
    for place in reversed(places) if with_package else places:
        try:
            base = place.joinpath(*_PLACE)
            base.mkdir(parents=True, exist_ok=True)
            with tempfile.TemporaryFile(dir=base):
                return base
        except OSError:
            continue
    return None


def _digest(sources: Iterable[Path]) -> str:
    state = hashlib.sha256(f"{sys.version} {[version(name) for name in _COMPILERS]}".encode())
    for file in sorted(file for file in sources if file.is_file()):
        content = file.read_bytes()
        state.update(f"\0{file.name}\0{len(content)}\0".encode() + content)
    return state.hexdigest()[:16]


def _forget_old(base: Path) -> None:
    """Remove what was used longest ago; another process may be doing the same."""
    used = {}
    for entry in base.iterdir():
        try:
            if entry.is_dir():
                used[entry] = entry.stat().st_mtime_ns
        except FileNotFoundError:
            continue
    for folder in sorted(used, key=lambda entry: used[entry], reverse=True)[KEPT:]:
        shutil.rmtree(folder, ignore_errors=True)

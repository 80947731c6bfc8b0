"""How a problem folder gets to another machine: found there, or sent and laid into a temporary folder.

One that ships with coevo is found by its name; one of the user's may lie at the same path there, as on a shared disk.
Either counts only if all its files are the same.
"""

import hashlib
import importlib.metadata
import io
import sys
import zipfile
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

from coevo.content import bundled_root
from coevo.errors import ContentError

MOST_BYTES = 64 * 2**20
"""What is sent of a problem folder at most, before compression."""
MOST_FILES = 2000

_SKIPPED = ("__pycache__", ".git", ".ipynb_checkpoints")


def describe(folder: Path) -> dict[str, Any]:
    """What another machine needs to know in order to find the same folder."""
    return {"name": folder.name, "path": str(folder.resolve()), "digest": digest_of(folder)}


def digest_of(folder: Path) -> str:
    """Hash of all files of a problem folder, with their names in it."""
    digest = hashlib.blake2b(digest_size=16)
    for name, file in _files(folder):
        digest.update(f"{name}\0".encode())
        digest.update(hashlib.sha256(file.read_bytes()).digest())
    return digest.hexdigest()


def identity() -> dict[str, str]:
    """What verdicts depend on besides the problem folder: name -> version here."""
    packages = {name: importlib.metadata.version(name) for name in ("numpy", "numba")}
    return {"Python": ".".join(map(str, sys.version_info[:2])), **packages}


def find_here(described: dict[str, Any]) -> Path | None:
    """The same folder on this machine, or None."""
    places: tuple[Path, ...] = (bundled_root() / "problems" / described["name"], Path(described["path"]))
    for place in places:
        with suppress(OSError, ContentError):  # what this node may not read, or is no such folder, is not the same
            if (place / "problem.toml").is_file() and digest_of(place) == described["digest"]:
                return place
    return None


def pack(folder: Path) -> bytes:
    """The folder's files as an archive.

    Raises:
        ContentError: If they are too many or too large to be sent to every judge.
    """
    files = dict(_files(folder))
    size = sum(file.stat().st_size for file in files.values())
    if size > MOST_BYTES or len(files) > MOST_FILES:
        raise ContentError(
            f"expected a problem folder of at most {MOST_FILES} files and {MOST_BYTES >> 20} MB to send to the nodes, "
            f"got {len(files)} files and {size / 2**20:.0f} MB in {folder}; put it at that path on every node instead"
        )
    archive = io.BytesIO()
    with zipfile.ZipFile(archive, "w", zipfile.ZIP_DEFLATED) as opened:
        for name, file in files.items():
            opened.writestr(zipfile.ZipInfo(name), file.read_bytes(), zipfile.ZIP_DEFLATED)
    return archive.getvalue()


def lay_out(archive: bytes, described: dict[str, Any], parent: Path) -> Path:
    """The folder made anew below `parent`, under its own name.

    Raises:
        ContentError: If it is not what was described: it was changed since, or it is too large.
    """
    name = str(described["name"])
    folder = parent / name
    with zipfile.ZipFile(io.BytesIO(archive)) as opened:
        size = sum(info.file_size for info in opened.infolist())
        if name in ("", ".", "..") or Path(name).name != name or size > MOST_BYTES:
            raise ContentError(
                f"expected a problem folder of at most {MOST_BYTES >> 20} MB, got {name!r} of {size} bytes"
            )
        opened.extractall(folder)
    if digest_of(folder) != described["digest"]:
        raise ContentError(f"expected {described['path']} as it was when the run began, but it was changed; start anew")
    return folder


def _files(folder: Path) -> Iterator[tuple[str, Path]]:
    """Every file by its name below the folder, in order; what tools leave beside them is left out.

    Raises:
        ContentError: If a name is not UTF-8, or a folder is a link, which would not be entered.
    """
    for file in sorted(folder.rglob("*")):
        inside = file.relative_to(folder)
        if any(part in _SKIPPED for part in inside.parts):
            continue
        name = inside.as_posix()
        if not name.isprintable() or (file.is_symlink() and file.is_dir()):
            raise ContentError(
                f"expected a problem folder of plain files and folders to send to the nodes, got {name!r} in {folder}; "
                "rename it or put a copy in its place"
            )
        if file.is_file():
            yield name, file

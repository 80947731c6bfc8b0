"""The folder of runs: can it be written, locked and renamed in, and is there room for what was asked?"""

import errno
import fcntl
import os
import tempfile
from pathlib import Path

from coevo.experiments.doctor.finding import Finding, failed, passed, warned
from coevo.searching.config import SearchConfig
from coevo.tuning.config import TuneConfig

NAME = "disk"
COMPLETION_BYTES = 900
"""Events of one completion but its text: its request, verdict, child and share of the steps. On a search on tsp of
budget 100 with the embedded model they took 730 bytes."""
FILE_BYTES = 4096
"""A candidate's file takes a block of the disk at the least."""
TOKEN_BYTES = 4
"""Of a token's text; an answer is written twice, to the event log and as a candidate."""
EPISODE_BYTES, TURN_BYTES = 300, 2500
"""Events of one episode, 180 bytes in a tuning run on sudoku, and of a turn that is recorded word by word, 1,800."""
FIXED_BYTES = 10 << 20
"""Configuration, result, history and a report."""
MEASUREMENTS = 2
ROOMY = 2
"""How many times the estimate should be free."""
_ELSEWHERE = "choose another --runs-dir"


def search_bytes(config: SearchConfig) -> int:
    """An upper estimate of what a search writes: every answer as long as it may be, every one a new candidate."""
    text = TOKEN_BYTES * config.max_tokens
    blocks = -(-text // FILE_BYTES) * FILE_BYTES
    return FIXED_BYTES + config.budget * (COMPLETION_BYTES + text + blocks)


def tuning_bytes(config: TuneConfig, turns: int, turn_tokens: int) -> int:
    """An upper estimate of what a tuning run writes.

    Args:
        config: The run.
        turns: Most answers of an episode.
        turn_tokens: Longest answer.
    """
    points = config.generations + MEASUREMENTS + config.generations // config.every
    kept = config.episodes if config.skill_every else points * config.transcripts
    return FIXED_BYTES + 2 * config.episodes * EPISODE_BYTES + kept * turns * (TURN_BYTES + TOKEN_BYTES * turn_tokens)


def disk(runs_dir: Path, wanted: int, free: int | None = None) -> Finding:
    """Whether runs can be written to a folder, which need not exist yet; nothing is left in it.

    Args:
        runs_dir: The folder.
        wanted: Bytes that the run is estimated to write.
        free: Bytes there are; asked of the file system without a number.
    """
    place = next(folder for folder in (runs_dir.absolute(), *runs_dir.absolute().parents) if folder.exists())
    if not place.is_dir():
        return failed(NAME, f"expected a folder at {place}, found a file", _ELSEWHERE)
    try:
        fault = _try_writing(place)
        left = _free_bytes(place) if free is None else free
    except OSError as error:
        return failed(
            NAME, f"{place} cannot be written to: {error.strerror}", f"check its permissions, or {_ELSEWHERE}"
        )
    if fault:
        return failed(NAME, f"{place} {fault}", f"{_ELSEWHERE} on a local disk")
    found = f"{place} can be written, locked and renamed in; about {_mb(wanted)} wanted, {_mb(left)} free"
    if wanted > left:
        return failed(NAME, found, f"free some room, or {_ELSEWHERE}")
    if ROOMY * wanted > left:
        return warned(NAME, found, f"free some room, or {_ELSEWHERE}: the estimate is close")
    return passed(NAME, found)


def _try_writing(place: Path) -> str:
    """What runs rely on and the file system does not do; empty if it does all of it."""
    with tempfile.TemporaryDirectory(prefix=".coevo-doctor-", dir=place) as name:
        old, new = Path(name, "old"), Path(name, "new")
        old.write_bytes(b"old")
        new.write_bytes(b"new")
        if not _excludes(old):
            return "does not lock files: two processes could write one run"
        new.replace(old)
        if old.read_bytes() != b"new" or new.exists():
            return "does not replace a file in one step"
    return ""


def _excludes(file: Path) -> bool:
    """Whether a lock of one descriptor keeps out another."""
    with file.open("ab") as holder, file.open("ab") as other:
        try:
            fcntl.flock(holder, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            return False
        try:
            fcntl.flock(other, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError as error:
            return error.errno in (errno.EWOULDBLOCK, errno.EAGAIN)
    return False


def _free_bytes(place: Path) -> int:
    status = os.statvfs(place)
    return status.f_bavail * status.f_frsize


def _mb(number: int) -> str:
    return f"{number / 1e6:,.0f} MB" if number < 1e10 else f"{number / 1e9:,.0f} GB"

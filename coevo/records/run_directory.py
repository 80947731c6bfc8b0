"""The run directory: where a run writes, and the only place that knows its file names.

config.toml  environment.json  events.jsonl  candidates/<identity>.py  es/history.jsonl  SKILL.md  best.py  result.json
trackers.json
"""

import json
import logging
import shutil
import tomllib
from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from coevo.candidate import Candidate
from coevo.errors import RunError
from coevo.records.event_log import EventLog, Listener
from coevo.records.files import write_json, write_text

SCHEMA_VERSION = 1

CONFIG = "config.toml"
"""A run directory is told by it."""

_EXPECTED = f"a run directory (with {CONFIG} and events.jsonl)"

_FOLDERS = ("candidates", "es")

_log = logging.getLogger(__name__)


class RunDirectory:
    """Paths and whole-file writes of one run."""

    def __init__(self, path: Path):
        self.path = path

    @classmethod
    def create(cls, runs_dir: Path, name: str, config: Mapping[str, Any]) -> "RunDirectory":
        """Make a new directory `runs_dir/name-<UTC time>` (with a counter if taken) and write its config.

        Raises:
            RunError: If the directory cannot be made; then nothing of it is left.
        """
        stamp = datetime.now(UTC).strftime("%Y%m%d-%H%M%S")
        try:
            runs_dir.mkdir(parents=True, exist_ok=True)
            path = _first_free(runs_dir, f"{name}-{stamp}")
        except OSError as error:
            raise RunError(f"expected a directory to write runs to at {runs_dir}, got: {error.strerror}") from error
        run = cls(path)
        try:
            for folder in _FOLDERS:
                (path / folder).mkdir()
            run.save_config(config)
        except OSError as error:  # such as a full disk
            shutil.rmtree(path, ignore_errors=True)
            raise RunError(f"expected to begin a run in {path}, got: {error.strerror}") from error
        return run

    @classmethod
    def open(cls, path: Path, expected: str = _EXPECTED) -> "RunDirectory":
        """An existing run.

        Args:
            path: Its directory.
            expected: What would have done, in the words of the refusal.

        Raises:
            RunError: If the path is not a run directory.
        """
        if not (path / CONFIG).is_file():
            raise RunError(
                f"expected {expected}, got {path}"
                f"{'' if path.exists() else ', which does not exist'}; runs are written under --runs-dir"
            )
        run = cls(path)
        if not run.events.exists() and (run.result_file.exists() or any((path / "candidates").glob("*"))):
            raise RunError(f"expected the event log {run.events} of a run that has begun, found none; restore it")
        return run

    def config(self) -> dict[str, Any]:
        """The resolved configuration, without the schema version.

        Raises:
            RunError: If it does not parse or was written by another version.
        """
        file = self.path / CONFIG
        try:
            values = tomllib.loads(file.read_text())
        except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
            raise RunError(f"{file} is not valid TOML: {error}") from error
        version = values.pop("schema_version", None)
        if version != SCHEMA_VERSION:
            raise RunError(
                f"{file}: expected schema_version {SCHEMA_VERSION}, got {version}; use the coevo that wrote it"
            )
        return values

    def save_config(self, config: Mapping[str, Any]) -> None:
        """Write the resolved configuration; of a run that has a log, with the log open."""
        write_text(self.path / CONFIG, to_toml({"schema_version": SCHEMA_VERSION, **config}))

    def open_log(self, now: Callable[[], float], listeners: tuple[Listener, ...] = ()) -> EventLog:
        """The event log, locked for this process.

        Folders that somebody has deleted are made again: a run that goes on repeats its past, and writes them anew.
        """
        for name in _FOLDERS:
            if not (folder := self.path / name).exists():
                _log.warning("%s is gone; what was in it is written anew as the run repeats its past", folder)
                folder.mkdir()
        return EventLog(self.events, now=now, listeners=listeners)

    @property
    def events(self) -> Path:
        """The event log's file."""
        return self.path / "events.jsonl"

    @property
    def history(self) -> Path:
        """The ES history's file: one line per step."""
        return self.path / "es" / "history.jsonl"

    @property
    def result_file(self) -> Path:
        """The file of the result, where there is one."""
        return self.path / "result.json"

    def save_candidate(self, candidate: Candidate) -> None:
        """Keep a candidate's source under its identity; does nothing if it is there."""
        file = self.path / "candidates" / f"{candidate.identity}.py"
        if not file.exists():
            write_text(file, candidate.code, durable=False)  # the event log holds the answer it came from

    def save_step(self, step: int, line: str) -> None:
        """Append a step to the ES history; one that is there is kept, and a torn last line is replaced."""
        known = self.history.read_text().splitlines(keepends=True) if self.history.exists() else []
        if known and not known[-1].endswith("\n"):
            write_text(self.history, "".join(known := known[:-1]))
        if step >= len(known):
            with self.history.open("a") as file:
                file.write(line)

    def save_environment(self, environment: Mapping[str, Any]) -> None:
        """Write what the run ran on; an existing one is kept, since that one started the run."""
        file = self.path / "environment.json"
        if not file.exists():
            write_json(file, {"schema_version": SCHEMA_VERSION, **environment})

    def save_skill(self, text: str) -> None:
        """Write the latest version of the skill; earlier ones are in the event log."""
        write_text(self.path / "SKILL.md", text)

    def trackers(self) -> dict[str, str]:
        """What each tracker that has followed the run calls it, by the tracker's name."""
        try:
            return dict(json.loads((self.path / "trackers.json").read_text())["runs"])
        except (OSError, ValueError, LookupError, TypeError):  # worth no run: the tracker begins one of its own then
            return {}

    def save_tracker(self, name: str, known_as: str) -> None:
        """Remember what a tracker calls the run; never a key."""
        runs = {**self.trackers(), name: known_as}
        write_json(self.path / "trackers.json", {"schema_version": SCHEMA_VERSION, "runs": runs})

    def save_best(self, best: Candidate) -> None:
        """Write `best.py`."""
        write_text(self.path / "best.py", best.code)

    def save_result(self, result: Mapping[str, Any]) -> None:
        """Write `result.json`."""
        write_json(self.result_file, {"schema_version": SCHEMA_VERSION, **result})

    def result(self) -> dict[str, Any] | None:
        """The result without its schema version, or None while there is none.

        What it says of the run's own place is where the run lies now: directories are moved.

        Raises:
            RunError: If the file is not a JSON object, or another version wrote it.
        """
        file = self.result_file
        if not file.is_file():
            return None
        try:
            values = dict(json.loads(file.read_text()))
        except (ValueError, TypeError) as error:
            raise RunError(
                f"{file} is not a JSON object: {error}; delete it, and resume the run to have it made anew"
            ) from error
        if (version := values.pop("schema_version", None)) != SCHEMA_VERSION:
            raise RunError(
                f"{file}: expected schema_version {SCHEMA_VERSION}, got {version}; use the coevo that wrote it"
            )
        return {**values, "run": str(self.path)} if "run" in values else values


def _first_free(runs_dir: Path, name: str) -> Path:
    for attempt in range(1, 1000):
        path = runs_dir / (name if attempt == 1 else f"{name}-{attempt}")
        try:
            path.mkdir()
        except FileExistsError:
            continue
        return path
    raise RunError(f"expected a free name like {name} in {runs_dir}, found 999 taken")


def to_toml(values: Mapping[str, Any]) -> str:
    """A flat mapping of strings, numbers, booleans and lists of these as TOML; None is left out, tables follow last."""
    lines, tables = [], []
    for key, value in values.items():
        if isinstance(value, Mapping):
            tables.append(f"\n[{key}]\n{to_toml(value)}")
        elif value is not None:
            # JSON's numbers, booleans and arrays are TOML's too, and so are its strings but for a bare DEL
            text = json.dumps(value, ensure_ascii=False, allow_nan=False).replace("\x7f", "\\u007f")
            lines.append(f"{key} = {text}\n")
    return "".join(lines + tables)

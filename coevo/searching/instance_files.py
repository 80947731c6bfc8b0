"""Instances from the user's own files, through a problem's `read`."""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from coevo.content import Option, ProblemFolder
from coevo.errors import CoevoError, ConfigError, ContentError
from coevo.evaluation.judge import checked_instance
from coevo.evaluation.verdict import printable_line
from coevo.interfaces import Instance

_TYPES: dict[str, Callable[[str], Any]] = {"number": float, "integer": int, "text": str}


@dataclass(frozen=True, slots=True)
class InstanceFile:
    """One file: its instances and, in the same order, the best objectives it knows of, None where it knows none."""

    path: Path
    instances: list[Instance]
    references: list[float | None]


def read_instance_files(folder: ProblemFolder, files: Sequence[Path], options: Mapping[str, str]) -> list[InstanceFile]:
    """Read every file with the problem's own reader.

    Args:
        folder: The problem.
        files: Paths of instance files.
        options: What the user says besides, as text, by the names that `problem.toml` declares.

    Raises:
        ConfigError: If the problem reads no files or an option does not fit.
        ContentError: If a file cannot be read, with the line at fault.
    """
    problem: Any = folder.load()
    if not hasattr(problem, "read"):
        raise ConfigError(f"expected a problem that reads instance files, got {folder.spec.name}, which does not")
    values = parse_options(folder, options)
    return [_read(problem, Path(file), values) for file in files]


def parse_options(folder: ProblemFolder, given: Mapping[str, str]) -> dict[str, Any]:
    """The values of `--option name=value`.

    Raises:
        ConfigError: If an option is unknown or its value is of another type.
    """
    known = {option.name: option for option in folder.spec.options}
    for name in given:
        if name not in known:
            raise ConfigError(
                f"expected an option of the problem {folder.spec.name} ({', '.join(known) or 'it has none'}), "
                f"got {name!r}"
            )
    return {name: _parse(known[name], text) for name, text in given.items()}


def _parse(option: Option, text: str) -> Any:
    try:
        value = _TYPES[option.type](text)
        is_usable = option.type == "text" or math.isfinite(value)
    except (ValueError, OverflowError):
        is_usable = False
    if not is_usable:
        raise ConfigError(f"expected a finite {option.type} for --option {option.name}, got {text!r}")
    return value


def _read(problem: Any, file: Path, options: Mapping[str, Any]) -> InstanceFile:
    if not file.is_file():
        raise ConfigError(f"expected an instance file at {file}, found {'a folder' if file.is_dir() else 'nothing'}")
    try:
        instances = [_named(checked_instance(each)) for each in problem.read(file, **options)]
        known = problem.read_reference(file, **options) if hasattr(problem, "read_reference") else None
        references = [None if each is None else float(each) for each in _listed(known, len(instances))]
    except (CoevoError, OSError):
        raise
    except Exception as error:
        # A reader that trips over a file has not said what is wrong with it; the file is the likelier culprit.
        raise ContentError(f"{file}: cannot be read: {type(error).__name__}: {error}") from error
    if not instances:
        raise ContentError(f"expected at least one instance in {file}, found none")
    if len(references) != len(instances):
        raise ContentError(f"{file}: expected {len(instances)} best known objectives, got {len(references)}")
    return InstanceFile(file, instances, references)


def _named(instance: Instance) -> Instance:
    """The instance under a name that can be printed and drawn, whatever its file calls it."""
    return replace(instance, name=printable_line(instance.name))


def _listed(known: Any, count: int) -> list[Any]:
    return [None] * count if known is None else list(known)

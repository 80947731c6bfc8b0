"""Start a problem folder from the template, which is a small complete problem itself."""

import os
import re
import tempfile
from collections.abc import Callable
from pathlib import Path

from coevo.content import ProblemSpec, problem_paths
from coevo.errors import ConfigError

TEMPLATE = Path(__file__).parent / "template"
_NAME_LINE = f'name = "{TEMPLATE.name}"'


def new_problem(name: str, parent: Path) -> Path:
    """Write a problem folder that runs at once; it is there whole or not at all, and replaces nothing.

    Args:
        name: Of the problem and its folder.
        parent: An existing folder to put it into.

    Returns:
        The new folder.

    Raises:
        ConfigError: If the name cannot be used, there is no such parent, or something is in the way.
    """
    _check_name(name)
    return placed(name, parent, lambda draft: _fill(draft, name))


def placed(name: str, parent: Path, fill: Callable[[Path], None]) -> Path:
    """A folder `parent/name`, there whole or not at all.

    Args:
        name: Of the folder.
        parent: An existing folder to put it into.
        fill: Writes its files into the folder it is given, which exists.

    Raises:
        ConfigError: If there is no such parent, or something is in the way.
    """
    target = parent / name
    if not parent.is_dir():
        raise ConfigError(f"expected a folder to put {name} into at {parent}, found none; make it first")
    if os.path.lexists(target):
        raise ConfigError(f"expected nothing at {target}, which is there already; choose another name or --to")
    with tempfile.TemporaryDirectory(prefix=f".{name}-", dir=parent) as beside:
        draft = Path(beside) / name
        draft.mkdir()
        fill(draft)
        try:
            draft.rename(target)
        except OSError as error:
            raise ConfigError(f"expected to write {target}, got: {error.strerror}") from error
    return target


def _fill(draft: Path, name: str) -> None:
    for file in sorted(TEMPLATE.rglob("*")):
        if file.is_file() and file.suffix in (".py", ".toml", ".md"):
            _copy(file, draft / file.relative_to(TEMPLATE), name)


def _copy(file: Path, to: Path, name: str) -> None:
    to.parent.mkdir(parents=True, exist_ok=True)
    text = file.read_text(encoding="utf-8")
    if file.name == "problem.toml":
        text = text.replace(_NAME_LINE, f'name = "{name}"')
    to.write_text(text, encoding="utf-8")


def _check_name(name: str) -> None:
    pattern = next(m.pattern for m in ProblemSpec.model_fields["name"].metadata if getattr(m, "pattern", None))
    if not re.fullmatch(pattern, name):
        raise ConfigError(
            f"expected a name of small letters, digits and hyphens that begins with a letter, got {name!r}"
        )
    if name in {path.name for path in problem_paths()}:
        raise ConfigError(f"expected a new name, {name} is a problem already; `coevo problem list` shows all")

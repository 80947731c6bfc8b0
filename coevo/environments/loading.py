"""Find, read and load environment folders: the bundled ones, those of installed packages, and any path of the user's.

A bundled environment is a sub-package beside this file. Any other lies in `environments/` of a content root
(`coevo.content`) or where the user says, and is loaded by path. All have an `environment.toml` and an `environment.py`.
"""

import importlib
import importlib.util
import shutil
import tomllib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from importlib.machinery import PathFinder
from pathlib import Path
from typing import cast

from pydantic import ValidationError

from coevo.content import BUNDLED, content_roots, declared_roots, load_module, read_text
from coevo.environments.spec import EnvironmentSpec, Need
from coevo.errors import ConfigError, ContentError
from coevo.explaining import explain
from coevo.interfaces import EnvironmentModule

ENVIRONMENT_FUNCTIONS = ("tasks", "open")
"""What every `environment.py` defines (`coevo.interfaces.EnvironmentModule`)."""

_HERE = Path(__file__).resolve().parent


@dataclass(frozen=True)
class EnvironmentFolder:
    """An environment as found on disk."""

    path: Path
    spec: EnvironmentSpec

    @property
    def is_bundled(self) -> bool:
        """Whether it ships with coevo, as a sub-package that is imported by name."""
        return self.path.parent == _HERE

    def load(self) -> EnvironmentModule:
        """Import the folder's `environment.py`; trusted code.

        Raises:
            ContentError: If it fails on import, or lacks a function that every environment has.
        """
        if self.is_bundled:
            module = importlib.import_module(f"coevo.environments.{self.path.name}.environment")
        else:
            module = load_module(self.path / "environment.py", package=True)
        if missing := [name for name in ENVIRONMENT_FUNCTIONS if not callable(getattr(module, name, None))]:
            raise ContentError(
                f"expected {self.path / 'environment.py'} to define {', '.join(ENVIRONMENT_FUNCTIONS)}; "
                f"missing: {', '.join(missing)}"
            )
        return cast(EnvironmentModule, module)

    def missing(self) -> tuple[Need, ...]:
        """The programs and packages that it needs and this machine lacks; nothing is imported to find out."""
        return tuple(need for need in self.spec.needs if not _is_met(need))

    def require(self) -> None:
        """Do nothing where everything it needs is there.

        Raises:
            ConfigError: Naming each program and package that is not, with the command that brings it.
        """
        if missing := self.missing():
            raise ConfigError(f"{self.spec.name} cannot run here: it needs {describe(missing)}")


def describe(needs: tuple[Need, ...]) -> str:
    """Needs on one line, each with the command that brings it."""
    named = ((f"the program {n.program}" if n.program else f"the package {n.package}", n.install) for n in needs)
    return "; ".join(f"{what}, which is not there: run {install}" for what, install in named)


def _is_met(need: Need) -> bool:
    return shutil.which(need.program) is not None if need.program else _is_importable(need.package)


def _is_importable(package: str) -> bool:
    """Whether a module can be found. `importlib.util.find_spec` alone would import the parents of a dotted name."""
    first, *rest = package.split(".")
    try:
        spec = importlib.util.find_spec(first)
    except (ValueError, ImportError):
        return False
    name = first
    for part in rest:
        if spec is None or spec.submodule_search_locations is None:
            return False
        name = f"{name}.{part}"
        spec = PathFinder.find_spec(name, list(spec.submodule_search_locations))
    return spec is not None


def environment_paths() -> Iterator[Path]:
    """The folder of every environment that can be named, in search order."""
    for root in (_HERE, *(root / "environments" for root in content_roots())):
        for file in sorted(root.glob("*/environment.toml")):
            # What is laid out for copying is no environment yet.
            if not file.parent.name.startswith(("_", ".")):
                yield file.parent


def environment_names() -> tuple[str, ...]:
    """The name of every environment, in search order, each once."""
    return tuple(_known())


def origin(folder: EnvironmentFolder) -> str:
    """Where an environment comes from: `bundled`, the package that declares its root, or its path."""
    if folder.is_bundled:
        return BUNDLED
    return declared_roots().get(folder.path.parent.parent, str(folder.path))


def _known() -> dict[str, Path]:
    known: dict[str, Path] = {}
    for path in environment_paths():
        known.setdefault(path.name, path)
    return known


def find_environment(name_or_path: str) -> EnvironmentFolder:
    """Read an environment's metadata by name, or by the path of a folder that holds an `environment.toml`.

    Raises:
        ContentError: If there is none, with the names that exist; or if its metadata does not parse.
    """
    as_path = Path(name_or_path)
    if (as_path / "environment.toml").is_file():
        return read_environment(as_path.resolve())
    known = _known()
    if name_or_path in known:
        return _named_as_its_folder(read_environment(known[name_or_path]))
    raise ContentError(
        f"expected the name of an environment or a folder with an environment.toml, got {name_or_path!r}; "
        f"known: {', '.join(known) or 'none'}; start one of your own with: coevo env new NAME"
    )


def _named_as_its_folder(folder: EnvironmentFolder) -> EnvironmentFolder:
    if folder.spec.name != folder.path.name:
        raise ContentError(
            f"expected name = {folder.path.name!r} in {folder.path / 'environment.toml'}, as its folder is called, "
            f"got {folder.spec.name!r}; rename one of them"
        )
    return folder


def read_environment(path: Path) -> EnvironmentFolder:
    """Read and check the metadata of an environment folder without importing its code.

    Raises:
        ContentError: Naming the file and what is wrong with it.
    """
    for needed in ("environment.toml", "environment.py"):
        if not (path / needed).is_file():
            raise ContentError(f"expected {needed} in the environment folder {path}, found none")
    file = path / "environment.toml"
    try:
        return EnvironmentFolder(path, EnvironmentSpec.model_validate(tomllib.loads(read_text(file))))
    except tomllib.TOMLDecodeError as error:
        raise ContentError(f"{file} is not valid TOML: {error}") from error
    except RecursionError:
        raise ContentError(f"{file} is nested too deeply") from None
    except ValidationError as error:
        raise ContentError(f"{file}: {explain(error, EnvironmentSpec)}") from error


def read_options(spec: EnvironmentSpec, given: Mapping[str, str]) -> dict[str, float | int | str]:
    """Every option of an environment by name, as `tasks` and `open` are given them: what the user said, else defaults.

    Raises:
        ConfigError: For an option that is not there or a value that is not of its type, with the options there are.
    """
    options = {option.name: option for option in spec.options}
    there_are = "; ".join(f"{o.name} ({o.type}, default {o.default!r}): {o.description}" for o in spec.options)
    if unknown := [name for name in given if name not in options]:
        raise ConfigError(
            f"expected an option of {spec.name}, got {', '.join(map(repr, unknown))}; it has {there_are or 'none'}"
        )
    try:
        return {name: option.read(given.get(name, str(option.default))) for name, option in options.items()}
    except ValueError as error:
        raise ConfigError(f"{error}; {spec.name} has {there_are}") from None

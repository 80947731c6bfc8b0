"""Start an environment folder from the template, which is a small complete environment itself."""

import re
from pathlib import Path

from coevo.authoring.scaffold import placed
from coevo.environments.loading import environment_names
from coevo.environments.spec import EnvironmentSpec
from coevo.errors import ConfigError

TEMPLATE = Path(__file__).parent / "env_template"
FILES = ("environment.toml", "environment.py")
_NAME_LINE = 'name = "template"'


def new_environment(name: str, parent: Path) -> Path:
    """Write an environment folder that runs at once; it is there whole or not at all, and replaces nothing.

    Args:
        name: Of the environment and its folder.
        parent: An existing folder to put it into.

    Returns:
        The new folder.

    Raises:
        ConfigError: If the name cannot be used, there is no such parent, or something is in the way.
    """
    _check_name(name)
    return placed(name, parent, lambda draft: _fill(draft, name))


def _fill(draft: Path, name: str) -> None:
    for file in FILES:
        text = (TEMPLATE / file).read_text(encoding="utf-8").replace(_NAME_LINE, f'name = "{name}"')
        (draft / file).write_text(text, encoding="utf-8")


def _check_name(name: str) -> None:
    pattern = next(m.pattern for m in EnvironmentSpec.model_fields["name"].metadata if getattr(m, "pattern", None))
    if not re.fullmatch(pattern, name):
        raise ConfigError(
            f"expected a name of small letters, digits and hyphens that begins with a letter, got {name!r}"
        )
    if name in environment_names():
        raise ConfigError(f"expected a new name, {name} is an environment already; `coevo env list` shows all")

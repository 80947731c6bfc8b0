"""What the user gave: a configuration file, flags that win over it, and options as name=value."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any


def read_config(file: Path | None) -> dict[str, Any]:
    """The values of a `--config` file, without its schema version; none without a file.

    Raises:
        ConfigError: If it is missing or no TOML.
    """
    import tomllib

    from coevo.errors import ConfigError

    if file is None:
        return {}
    try:
        values = tomllib.loads(file.read_text())
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError, RecursionError) as error:
        raise ConfigError(f"expected a TOML file for --config at {file}, got: {error}") from error
    values.pop("schema_version", None)
    return values


def merged(
    file: Mapping[str, Any], given: Mapping[str, Any], tables: Mapping[str, Mapping[str, Any]]
) -> dict[str, Any]:
    """Flags win over the file, key by key inside its tables."""
    values = {**file, **given}
    for name, flags in tables.items():
        in_file = file.get(name, {})
        values[name] = {**in_file, **flags} if isinstance(in_file, dict) else in_file
    return values


def name_and_value(text: str) -> tuple[str, str]:
    """An `--option name=value`.

    Raises:
        ConfigError: If it holds no "=".
    """
    from coevo.errors import ConfigError

    name, equals, value = text.partition("=")
    if not equals:
        raise ConfigError(f"expected --option name=value, got {text!r}")
    return name, value


def options_of(texts: Sequence[str] | None) -> dict[str, str]:
    """Every `--option`; the last of a name counts."""
    return dict(map(name_and_value, texts or ()))

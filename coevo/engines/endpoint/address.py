"""Where a server is, which of its models is meant, and the key it is asked with."""

import os
import re
from collections.abc import Mapping
from urllib.parse import urlsplit

from coevo.errors import ConfigError, escaped

KEY_VARIABLES = ("COEVO_API_KEY", "OPENAI_API_KEY")

_FORM = "an address such as http://127.0.0.1:8000/v1 or https://host/v1#model-name"
_ROUTES = ("/chat/completions", "/completions", "/models", "/responses")


def is_address(model: str) -> bool:
    """Whether a model is named by the address of a server."""
    return model.lower().startswith(("http://", "https://"))


def parse_address(model: str) -> tuple[str, str | None]:
    """The base address and the model name in `URL` or `URL#name`.

    Pure, and strict about what could leak: an address is written to the run's configuration, so whatever may hold a
    secret (a password, a query) is refused, and not repeated in the message.

    Args:
        model: What the user gave for `--model`. The name is everything after the first "#", taken literally.

    Returns:
        The address without a slash at its end, and the name, or None where there is none.

    Raises:
        ConfigError: If it is no http address, lacks a host or a path, names a route, or carries credentials.
    """
    address, has_name, name = model.strip().partition("#")
    if "@" in address or "?" in address:
        raise ConfigError(
            f"expected {_FORM} without user, password or query, because it is written to the run's config.toml; "
            f"put the key into the environment variable {KEY_VARIABLES[0]}"
        )
    shown = repr(escaped(model))
    if not model.isprintable() or " " in address:
        raise ConfigError(f"expected {_FORM}, got {shown} with a blank or control character in it")
    if has_name and not name:
        raise ConfigError(f"expected a model name after the # of --model, got {shown}; drop the # or add the name")
    return _base_url(address, shown), name or None


def api_key(environ: Mapping[str, str] = os.environ) -> str:
    """The key in `COEVO_API_KEY`, or else in `OPENAI_API_KEY`; empty if there is none.

    The first of them that is set decides, even if it is empty: `COEVO_API_KEY=` keeps the other from being sent.

    Raises:
        ConfigError: If it cannot be sent in a header. The message names the variable, never the key.
    """
    for variable in KEY_VARIABLES:
        if variable in environ:
            key = environ[variable].strip()
            if not re.fullmatch(r"[!-~]*", key):
                raise ConfigError(
                    f"expected an API key of printable ASCII characters without blanks in {variable}, got others; "
                    "copy the key anew"
                )
            return key
    return ""


def _base_url(address: str, shown: str) -> str:
    try:
        parts = urlsplit(address)
        has_host = bool(parts.hostname) and parts.port != 0
    except ValueError as error:
        raise ConfigError(f"expected {_FORM}, got {shown}: {error}") from error
    if parts.scheme not in ("http", "https") or "://" not in address:
        raise ConfigError(f"expected {_FORM}, got {shown}; it has to begin with http:// or https://")
    if not has_host:
        raise ConfigError(f"expected {_FORM}, got {shown}, which names no host")
    path = parts.path.rstrip("/")
    for route in _ROUTES:
        if path.endswith(route):
            raise ConfigError(f"expected {_FORM}, got {shown}; drop {route}, it is added where it is needed")
    if not path:
        raise ConfigError(f"expected {_FORM}, got {shown} without a path; most servers want {address.rstrip('/')}/v1")
    return f"{parts.scheme}://{parts.netloc}{path}"

"""Where a cluster is: `auto`, `host:port` of its head, or `ray://host:port` of its client server."""

from typing import Annotated, TypeVar
from urllib.parse import urlsplit

from pydantic import AfterValidator, BaseModel

from coevo.errors import ConfigError

AUTO = "auto"
"""The cluster that this machine is part of, or the one that the variable RAY_ADDRESS names."""

NOWHERE = "none"
"""What a run that began on a cluster is told, in order to go on without one."""

CLIENT_SCHEME = "ray"
CLIENT_PORT = 10001


def check_address(text: str) -> str:
    """The address, if it is one.

    Raises:
        ValueError: Saying what an address is.
    """
    if text != AUTO and endpoint_of(text) is None:
        raise ValueError(f"expected auto, HOST:PORT or ray://HOST:PORT as the address of a Ray cluster, got {text!r}")
    return text


def endpoint_of(address: str) -> tuple[str, int] | None:
    """Host and port that an address names; None for `auto`, and for what is no address."""
    if not address.isprintable() or " " in address:
        return None
    has_scheme = "://" in address
    try:
        parts = urlsplit(address if has_scheme else f"//{address}")
        host, port = parts.hostname, parts.port
    except ValueError:
        return None
    extra = parts.path or parts.query or parts.fragment or parts.username
    if not host or extra or (has_scheme and parts.scheme != CLIENT_SCHEME):
        return None
    if port is None:
        return (host, CLIENT_PORT) if has_scheme else None
    return (host, port) if port else None


ClusterAddress = Annotated[str, AfterValidator(check_address)]
"""An address in a configuration."""

_Config = TypeVar("_Config", bound=BaseModel)


def moved(config: _Config, ray: str | None) -> _Config:
    """A configuration with its run on another cluster, which says nothing about results.

    Args:
        config: With a field `ray`.
        ray: An address, `NOWHERE` for this machine, or None to leave it as it is.

    Raises:
        ConfigError: If it is none of these.
    """
    if ray is None:
        return config
    try:
        return config.model_copy(update={"ray": None if ray == NOWHERE else check_address(ray)})
    except ValueError as error:
        raise ConfigError(str(error)) from error

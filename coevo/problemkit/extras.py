"""Optional packages, imported when a solver is called."""

import importlib
from typing import Any

from coevo.errors import ExtraMissingError


def import_extra(module: str, extra: str, purpose: str) -> Any:
    """A module of an optional package.

    Args:
        module: Its dotted name.
        extra: Which extra of this package brings it.
        purpose: What it is needed for.

    Raises:
        ExtraMissingError: If it is not installed.
    """
    try:
        return importlib.import_module(module)
    except ModuleNotFoundError as error:
        raise ExtraMissingError(module.partition(".")[0], extra, purpose) from error

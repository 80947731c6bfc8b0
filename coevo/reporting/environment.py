"""What a run ran on, as its `environment.json` says."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from coevo.errors import RunError


def read_environment(run: Path) -> Mapping[str, Any]:
    """The facts of `environment.json`; empty while a run has none.

    Raises:
        RunError: If it is not a JSON object.
    """
    file = run / "environment.json"
    try:
        values = json.loads(file.read_text())
    except FileNotFoundError:
        return {}
    except (ValueError, RecursionError) as error:
        raise RunError(f"{file} is not a JSON object: {error}; restore it, or delete it to go without") from error
    if not isinstance(values, dict):
        raise RunError(f"{file}: expected a JSON object, got {type(values).__name__}; restore or delete it")
    return {str(key): value for key, value in values.items() if key != "schema_version"}

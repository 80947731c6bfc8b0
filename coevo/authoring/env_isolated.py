"""The worker that runs an environment's own code, seen from outside."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from coevo.authoring.isolated import Isolated


class IsolatedEnvironment(Isolated):
    """As `Isolated`, for an environment folder.

    Args:
        folder: The environment folder.
        options: Every option by name.
        deadline_s: What one check may take on the clock.
    """

    def __init__(self, folder: Path, options: Mapping[str, Any], deadline_s: float):
        super().__init__(folder, deadline_s)
        self._options = options

    def _command(self) -> list[str]:
        return ["coevo.authoring.env_worker", str(self._folder), json.dumps(self._options)]

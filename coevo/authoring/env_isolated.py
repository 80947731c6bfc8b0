"""The worker that runs an environment's own code, seen from outside."""

import json
import subprocess
import sys
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from coevo.authoring.isolated import Isolated, _environment


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

    def _start(self) -> subprocess.Popen[bytes]:
        self._said = tempfile.TemporaryFile()  # noqa: SIM115 - closed with the process
        module = "coevo.authoring.env_worker"
        self._process = subprocess.Popen(
            [sys.executable, "-P", "-m", module, str(self._folder), json.dumps(self._options)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self._said,
            env=_environment(),
            start_new_session=True,
            bufsize=0,
        )
        return self._process

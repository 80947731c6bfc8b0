"""Whether agents can read a page at all: tesseract and its data have to be visible inside their shell."""

import functools

from coevo.environments.tools.shell import Shell
from coevo.errors import ConfigError

LANGUAGE = "eng"
INSTALL = "apt-get install -y --no-install-recommends tesseract-ocr tesseract-ocr-eng"


@functools.cache
def require_tesseract() -> None:
    """Do nothing if a shell has tesseract with data for English; asked once in a process.

    A tesseract on the PATH outside is not enough: the shell sees the system's programs alone, and an agent without OCR
    would quietly score 0 in every episode.

    Raises:
        ConfigError: With what was found instead.
        EnvironmentFault: If the shell does not start.
        SandboxError: If no shell can be held here.
    """
    shell = Shell()
    try:
        result = shell.run("tesseract --list-langs 2>&1")
    finally:
        shell.close()
    if result.exit_code != 0 or LANGUAGE not in result.output.split():
        said = " / ".join(result.output.split("\n")).strip(" /") or "nothing"
        raise ConfigError(
            f"expected tesseract with the language {LANGUAGE} in the agents' shell, which has the programs under /usr "
            f"alone; it says: {said}; run {INSTALL}"
        )

"""The errors coevo raises on purpose.

    CoevoError
    ├── ConfigError              a flag, a config file or an argument is not usable
    │   └── ExtraMissingError    something was asked for that optional dependencies bring
    ├── ContentError             a problem, operator or heuristic file is missing or malformed
    │   └── InstanceFileError    an instance file of the user's cannot be read
    ├── ModelError               a model folder cannot be loaded or served
    ├── SandboxError             untrusted code cannot be contained on this machine
    └── RunError                 a run directory is missing, in use, corrupt or of another version

A message is one line: what was expected, what came, where we looked, what to do next. The command line prints it
and exits with 2; any other exception keeps its traceback, because it is a fault of coevo's. A bad *candidate* is
never an exception: it is an `Evaluation` whose status says what happened.
"""

from pathlib import Path


def escaped(text: str) -> str:
    """Text with every character that cannot be printed escaped, so that it stays on its line and steers no terminal."""
    return "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in text)


def one_line(text: object, most: int | None = None) -> str:
    """A text, or an error's, without line breaks, cut off after so many characters."""
    return " ".join(str(text).split())[:most]


class CoevoError(Exception):
    """Base of every error whose message is meant for the user."""


class ConfigError(CoevoError):
    """A flag, configuration file or argument cannot be used."""


class ExtraMissingError(ConfigError):
    """An optional dependency is not installed.

    Args:
        package: What could not be imported.
        extra: The optional dependencies of coevo that bring it.
        purpose: What it was needed for.
    """

    def __init__(self, package: str, extra: str, purpose: str):
        super().__init__(
            f"expected the package {package} for {purpose}, it is not installed; run: pip install 'coevo[{extra}]'"
        )


class ContentError(CoevoError):
    """A problem folder, operator file or heuristic file is missing or malformed."""


class InstanceFileError(ContentError):
    """An instance file cannot be read.

    Args:
        file: The file.
        line: Line number, from 1; None if it is about the file as a whole.
        message: What was expected and what came.
    """

    def __init__(self, file: Path, line: int | None, message: str):
        super().__init__(f"{file}{'' if line is None else f', line {line}'}: {message}")


class ModelError(CoevoError):
    """A model folder cannot be loaded, trusted or served."""


class SandboxError(CoevoError):
    """Untrusted code cannot be contained here."""


class RunError(CoevoError):
    """A run directory is missing, in use, corrupt or written by another version."""


class Infeasible(Exception):  # noqa: N818 - the word of the field, raised by problems and caught by the judge
    """Raised by a problem's `objective` when a solution breaks a constraint; the text says which one."""


class EnvironmentFault(Exception):  # noqa: N818 - a fault of the surroundings, caught by the rollouts
    """Raised by an environment whose surroundings failed (a browser, a server, a tool): says nothing of the agent."""

"""The errors coevo raises on purpose.

    CoevoError
    ├── ConfigError    a flag, a config file or an argument is not usable
    ├── ContentError   a problem, operator or heuristic file is missing or malformed
    ├── ModelError     a model folder cannot be loaded or served
    ├── SandboxError   untrusted code cannot be contained on this machine
    └── RunError       a run directory is missing, in use, corrupt or of another version

A message is one line: what was expected, what came, where we looked, what to do next. The command line prints it
and exits with 2; any other exception keeps its traceback, because it is a fault of coevo's. A bad *candidate* is
never an exception: it is an `Evaluation` whose status says what happened.
"""


class CoevoError(Exception):
    """Base of every error whose message is meant for the user."""


class ConfigError(CoevoError):
    """A flag, configuration file or argument cannot be used."""


class ContentError(CoevoError):
    """A problem folder, operator file or heuristic file is missing or malformed."""


class ModelError(CoevoError):
    """A model folder cannot be loaded, trusted or served."""


class SandboxError(CoevoError):
    """Untrusted code cannot be contained here."""


class RunError(CoevoError):
    """A run directory is missing, in use, corrupt or written by another version."""


class Infeasible(Exception):  # noqa: N818 - the word of the field, raised by problems and caught by the judge
    """Raised by a problem's `objective` when a solution breaks a constraint; the text says which one."""

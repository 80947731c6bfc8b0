"""The command line: one file per command, and the only place that prints.

Exit codes: 0 done · 1 the job ran and failed its purpose · 2 bad input · 130 interrupted.
"""

import logging
import sys
from typing import Annotated, Any, NoReturn

import typer

from coevo.cli.bench import bench
from coevo.cli.compare import compare
from coevo.cli.doctor import doctor
from coevo.cli.env import env
from coevo.cli.eval_agent import eval_agent
from coevo.cli.evaluate import evaluate
from coevo.cli.export import export
from coevo.cli.landscape import landscape
from coevo.cli.model import model
from coevo.cli.probe import probe
from coevo.cli.problem import problem
from coevo.cli.replay import replay
from coevo.cli.report import report
from coevo.cli.resume import resume
from coevo.cli.search import search
from coevo.cli.tune import tune
from coevo.cli.view import view
from coevo.errors import CoevoError, escaped, one_line

app = typer.Typer(
    help="Heuristic programs and the language model that writes them evolve together.",
    no_args_is_help=True,
    add_completion=False,
    rich_markup_mode="markdown",  # in that of rich, defaults in brackets would be read as styles and vanish
    pretty_exceptions_enable=False,
)


def _tell_version(wanted: bool) -> None:
    if wanted:
        from coevo import __version__

        typer.echo(f"coevo {__version__}")
        raise typer.Exit


@app.callback()
def _options(
    version: Annotated[
        bool, typer.Option("--version", callback=_tell_version, is_eager=True, help="Show the version and exit.")
    ] = False,
) -> None:
    """Heuristic programs and the language model that writes them evolve together."""


app.command()(search)
app.command()(tune)
app.command()(resume)
app.command()(replay)
app.command()(report)
app.command()(view)
app.command()(export)
app.command()(evaluate)
app.command()(eval_agent)
app.command()(landscape)
app.command()(bench)
app.command()(compare)
app.command()(probe)
app.command()(doctor)
app.add_typer(problem, name="problem")
app.add_typer(env, name="env")
app.add_typer(model, name="model")


_UsageError: Any = next(kind for kind in typer.BadParameter.__mro__ if kind.__name__ == "ClickException")
"""The parser's own errors; typer brings the parser along, under a name that differs between versions."""


class _StandardError(logging.Handler):
    """Writes to what standard error is at the moment: the live view replaces it while it is up."""

    def emit(self, record: logging.LogRecord) -> None:
        """Write one line."""
        sys.stderr.write(self.format(record) + "\n")


def main() -> None:
    """Entry point of the `coevo` script: errors meant for the user become one line and exit code 2."""
    logging.basicConfig(level=logging.WARNING, handlers=[_StandardError()], format="coevo: %(message)s")
    logging.getLogger("coevo").setLevel(logging.INFO)
    try:
        # Outside its standalone mode the parser raises what it has to say, and does not draw a box around it.
        sys.exit(app(standalone_mode=False) or 0)
    except _UsageError as error:
        _refuse_usage(error)
    except CoevoError as error:
        _refuse(str(error))
    except OSError as error:
        if error.errno is None:
            raise
        if error.filename is None:  # of a file that was open already, as on a full disk
            _refuse(
                f"expected to read and write files, got: {error.strerror}; see to the disk, then go on by coevo resume"
            )
        _refuse(f"expected to use {error.filename}, got: {error.strerror}; check the path and its permissions")
    except KeyboardInterrupt:
        sys.exit(130)


def _refuse_usage(error: Any) -> NoReturn:
    """A command line that cannot be read; for one that stops short, the help that lists what can follow."""
    if type(error).__name__ == "NoArgsIsHelpError":
        error.show()
        sys.exit(2)
    command = error.ctx.command_path if getattr(error, "ctx", None) else "coevo"
    _refuse(f"{error.format_message().rstrip('.')}; see: {command} --help")


def _refuse(message: str) -> NoReturn:
    """One line, without what could steer the terminal."""
    sys.stderr.write(f"coevo: {escaped(one_line(message))}\n")
    sys.exit(2)

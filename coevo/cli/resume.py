"""`coevo resume`: go on with an interrupted or killed run."""

from pathlib import Path
from typing import Annotated

import typer


def resume(
    run: Annotated[Path, typer.Argument(help="The run directory.")],
    json: Annotated[bool, typer.Option("--json", help="Result as JSON on standard output.")] = False,
) -> None:
    """Go on with a run that was interrupted or killed, to the same result."""
    from coevo.cli.live import following
    from coevo.cli.summary import print_result
    from coevo.searching.api import config_of, resume_search

    with following(config_of(run)) as listener:
        result = resume_search(run, listeners=(listener,))
    print_result(result, as_json=json)

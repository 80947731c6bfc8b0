"""`coevo resume`: go on with an interrupted or killed run."""

from pathlib import Path
from typing import Annotated

import typer


def resume(
    run: Annotated[Path, typer.Argument(help="The run directory.")],
    json: Annotated[bool, typer.Option("--json", help="Result as JSON on standard output.")] = False,
) -> None:
    """Go on with a run that was interrupted or killed, to the same result."""
    from coevo.experiments.probe_config import is_probe
    from coevo.tuning.config import is_tuning

    if is_probe(run):
        _resume_probe(run, as_json=json)
    elif is_tuning(run):
        _resume_tuning(run, as_json=json)
    else:
        _resume_search(run, as_json=json)


def _resume_search(run: Path, *, as_json: bool) -> None:
    from coevo.cli.live import following
    from coevo.cli.summary import print_result
    from coevo.searching.api import config_of, resume_search

    with following(config_of(run)) as listener:
        result = resume_search(run, listeners=(listener,))
    print_result(result, as_json=as_json)


def _resume_probe(run: Path, *, as_json: bool) -> None:
    from coevo.cli.probe_report import following_probe, print_probe
    from coevo.experiments.probe_config import probe_config_of
    from coevo.experiments.probe_running import resume_probe

    with following_probe(probe_config_of(run)) as listener:
        result = resume_probe(run, listeners=(listener,))
    print_probe(result, as_json=as_json)


def _resume_tuning(run: Path, *, as_json: bool) -> None:
    from coevo.cli.tune_report import following_tuning, print_tuning
    from coevo.tuning.api import resume_tuning
    from coevo.tuning.config import tune_config_of

    with following_tuning(tune_config_of(run)) as listener:
        result = resume_tuning(run, listeners=(listener,))
    print_tuning(result, as_json=as_json)

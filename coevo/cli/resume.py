"""`coevo resume`: go on with an interrupted or killed run."""

from pathlib import Path
from typing import Annotated, Any

import typer


def resume(
    run: Annotated[Path, typer.Argument(help="The run directory.")],
    max_cost: Annotated[float | None, typer.Option(help="A new cap on what servers cost (searches).")] = None,
    max_spent_tokens: Annotated[int | None, typer.Option(help="A new cap on their tokens (searches).")] = None,
    json: Annotated[bool, typer.Option("--json", help="Result as JSON on standard output.")] = False,
) -> None:
    """Go on with a run that was interrupted, killed or at a cap, to the same result."""
    from coevo.cli.summary import present
    from coevo.errors import ConfigError
    from coevo.records.run_kind import EVAL_AGENT, LANDSCAPE, PROBE, SEARCH, TUNE, check_kind

    allowance = present({"max_cost": max_cost, "max_spent_tokens": max_spent_tokens})
    kinds = {
        PROBE: _resume_probe, TUNE: _resume_tuning, EVAL_AGENT: _resume_eval, LANDSCAPE: _resume_landscape,
    }  # fmt: skip
    if (kind := check_kind(run, SEARCH, *kinds)) == SEARCH:
        _resume_search(run, allowance, as_json=json)
    elif allowance:
        raise ConfigError(f"caps are for searches that ask servers, {run} is another job ({kind}); drop the caps")
    else:
        kinds[kind](run, as_json=json)


def _resume_search(run: Path, allowance: dict[str, Any], *, as_json: bool) -> None:
    from coevo.cli.live import following
    from coevo.cli.summary import print_result
    from coevo.reporting.trackers.tracking import tracking_again
    from coevo.searching.api import config_of, resume_search

    with following(config_of(run)) as listener:
        result = resume_search(run, allowance=allowance, listeners=(listener, *tracking_again(run)))
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
    from coevo.reporting.trackers.tracking import tracking_again
    from coevo.tuning.api import resume_tuning
    from coevo.tuning.config import tune_config_of

    with following_tuning(tune_config_of(run)) as listener:
        result = resume_tuning(run, listeners=(listener, *tracking_again(run)))
    print_tuning(result, as_json=as_json)


def _resume_eval(run: Path, *, as_json: bool) -> None:
    from coevo.cli.eval_report import following_eval, print_eval
    from coevo.experiments.agent_eval import resume_eval

    with following_eval() as listener:
        result = resume_eval(run, listeners=(listener,))
    print_eval(result, as_json=as_json)


def _resume_landscape(run: Path, *, as_json: bool) -> None:
    from coevo.cli.landscape import following_landscape, show_landscape
    from coevo.experiments.landscape import resume_landscape
    from coevo.tuning.landscape import landscape_config_of

    with following_landscape(landscape_config_of(run).points ** 2) as listener:
        result = resume_landscape(run, listeners=(listener,))
    show_landscape(result, as_json=as_json)

"""`coevo resume`: go on with an interrupted or killed run."""

from pathlib import Path
from typing import Annotated, Any

import typer

from coevo.cli.options import Json, RunArgument


def resume(
    run: RunArgument,
    max_cost: Annotated[float | None, typer.Option(help="A new cap on servers' cost (searches, evaluations).")] = None,
    max_spent_tokens: Annotated[int | None, typer.Option(help="A new cap on their tokens (likewise).")] = None,
    ray: Annotated[
        str | None,
        typer.Option(help="Another Ray cluster for the rest, or none for this machine (searches, tuning, probes)."),
    ] = None,
    json: Json = False,
) -> None:
    """Go on with a run that was interrupted, killed or at a cap, to the same result."""
    from coevo.cli.summary import present
    from coevo.errors import ConfigError
    from coevo.records.run_kind import EVAL_AGENT, LANDSCAPE, PROBE, SEARCH, TUNE, check_kind

    allowance = present({"max_cost": max_cost, "max_spent_tokens": max_spent_tokens})
    kinds = {PROBE: _resume_probe, TUNE: _resume_tuning, LANDSCAPE: _resume_landscape}
    kind = check_kind(run, SEARCH, EVAL_AGENT, *kinds)
    moved = present({"ray": ray})
    if kind == SEARCH:
        _resume_search(run, moved | {"allowance": allowance}, as_json=json)
    elif kind == EVAL_AGENT and not moved:
        _resume_eval(run, allowance, as_json=json)
    elif allowance and kind != EVAL_AGENT:
        raise ConfigError(f"caps are for jobs that ask servers, {run} is another one ({kind}); drop the caps")
    elif moved and kind in (EVAL_AGENT, LANDSCAPE):
        raise ConfigError(f"searches, tuning runs and probes use clusters, {run} is another job ({kind}); drop --ray")
    else:
        kinds[kind](run, as_json=json, **moved)


def _resume_search(run: Path, changes: dict[str, Any], *, as_json: bool) -> None:
    from coevo.cli.live import following
    from coevo.cli.summary import print_result
    from coevo.reporting.trackers.tracking import tracking_again
    from coevo.searching.api import config_of, resume_search

    with following(config_of(run)) as listener:
        result = resume_search(run, **changes, listeners=(listener, *tracking_again(run)))
    print_result(result, as_json=as_json)


def _resume_probe(run: Path, *, as_json: bool, ray: str | None = None) -> None:
    from coevo.cli.probe_report import following_probe, print_probe
    from coevo.experiments.probe_config import probe_config_of
    from coevo.experiments.probe_running import resume_probe

    with following_probe(probe_config_of(run)) as listener:
        result = resume_probe(run, ray=ray, listeners=(listener,))
    print_probe(result, as_json=as_json)


def _resume_tuning(run: Path, *, as_json: bool, ray: str | None = None) -> None:
    from coevo.cli.tune_report import following_tuning, print_tuning
    from coevo.reporting.trackers.tracking import tracking_again
    from coevo.tuning.api import resume_tuning
    from coevo.tuning.config import tune_config_of

    with following_tuning(tune_config_of(run)) as listener:
        result = resume_tuning(run, ray=ray, listeners=(listener, *tracking_again(run)))
    print_tuning(result, as_json=as_json)


def _resume_eval(run: Path, allowance: dict[str, Any], *, as_json: bool) -> None:
    from coevo.cli.eval_report import following_eval, print_eval
    from coevo.experiments.agent_eval import resume_eval

    with following_eval() as listener:
        result = resume_eval(run, allowance=allowance, listeners=(listener,))
    print_eval(result, as_json=as_json)


def _resume_landscape(run: Path, *, as_json: bool) -> None:
    from coevo.cli.landscape import following_landscape, show_landscape
    from coevo.experiments.landscape import resume_landscape
    from coevo.tuning.landscape import landscape_config_of

    with following_landscape(landscape_config_of(run).points ** 2) as listener:
        result = resume_landscape(run, listeners=(listener,))
    show_landscape(result, as_json=as_json)

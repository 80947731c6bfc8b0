"""`coevo probe`: what a model learns from fixed parents, measured before and after."""

from pathlib import Path
from typing import Annotated

import typer

from coevo.cli import options
from coevo.cli.options import ES, MEASURE, MODEL


def probe(
    problem: Annotated[str | None, typer.Option(help="Name of a problem, or path of its folder.  [tsp]")] = None,
    model: Annotated[
        str | None,
        typer.Option(
            help="embedded, a Hugging Face folder or a downloaded hub name.  [embedded]", rich_help_panel=MODEL
        ),
    ] = None,
    engine: Annotated[str | None, typer.Option(help="auto, torch, vllm or scripted.", rich_help_panel=MODEL)] = None,
    engines: options.Engines = None,
    heal: options.Heal = None,
    ray: options.RayForAll = None,
    max_tokens: Annotated[int | None, typer.Option(help="Longest completion.", rich_help_panel=MODEL)] = None,
    temperature: Annotated[float | None, typer.Option(help="Sampling temperature.", rich_help_panel=MODEL)] = None,
    steps: Annotated[int | None, typer.Option(help="ES steps.  [20]", rich_help_panel=ES)] = None,
    members: Annotated[int | None, typer.Option(help="Perturbed models in a step.  [20]", rich_help_panel=ES)] = None,
    children: Annotated[int | None, typer.Option(help="Children each of them writes.  [4]", rich_help_panel=ES)] = None,
    es: Annotated[str | None, typer.Option(help="dense or low-rank.", rich_help_panel=ES)] = None,
    sigma: Annotated[float | None, typer.Option(help="Standard deviation of the noise.", rich_help_panel=ES)] = None,
    sigma_end: Annotated[float | None, typer.Option(help="Last one, if cosine.", rich_help_panel=ES)] = None,
    schedule: Annotated[str | None, typer.Option(help="constant or cosine.  [constant]", rich_help_panel=ES)] = None,
    alpha: Annotated[float | None, typer.Option(help="Step size of the update.", rich_help_panel=ES)] = None,
    alpha_rule: options.AlphaRule = None,
    antithetic: options.Antithetic = None,
    subspaces: options.Subspaces = None,
    subspace_unit: options.SubspaceUnit = None,
    z_scores: options.ZScores = None,
    spread: options.Spread = None,
    rank: options.Rank = None,
    scope: options.Scope = None,
    basis: options.Basis = None,
    update_rule: options.UpdateRule = None,
    cases: Annotated[
        str | None, typer.Option(help="Prompts of members: common or independent.", rich_help_panel=ES)
    ] = None,
    seeds: Annotated[
        str | None, typer.Option(help="Sampling seeds of members: common or independent.", rich_help_panel=ES)
    ] = None,
    rewards: Annotated[str | None, typer.Option(help="measured, or random (a control).", rich_help_panel=ES)] = None,
    learns: Annotated[bool | None, typer.Option(help="Apply updates, or perturb only.", rich_help_panel=ES)] = None,
    guard: Annotated[
        bool | None,
        typer.Option(help="Refuse steps whose members fail; σ and α are halved then.", rich_help_panel=ES),
    ] = None,
    guard_floor: Annotated[
        float | None, typer.Option(help="Fraction of the base's valid share they must reach.", rich_help_panel=ES)
    ] = None,
    parents: Annotated[
        list[Path] | None, typer.Option(help="A parent of your own; repeatable.", rich_help_panel=MEASURE)
    ] = None,
    trained: Annotated[
        int | None,
        typer.Option(
            help="Parents to train on, if the model writes them: that takes up to 40 completions for each parent, "
            "10,000 in all.  [6]",
            rich_help_panel=MEASURE,
        ),
    ] = None,
    held_out: Annotated[
        int | None, typer.Option(help="Parents to measure only; likewise.  [6]", rich_help_panel=MEASURE)
    ] = None,
    evaluations: Annotated[
        int | None, typer.Option(help="Completions of one measurement.  [480]", rich_help_panel=MEASURE)
    ] = None,
    every: Annotated[
        int | None, typer.Option(help="Measure after every so many steps too.", rich_help_panel=MEASURE)
    ] = None,
    seed: options.Seed = None,
    workers: options.Workers = None,
    runs_dir: options.RunsDir = Path("runs"),
    unsafe_no_sandbox: options.Unsafe = None,
    json: options.RunJson = False,
) -> None:
    """Measure what a model learns from fixed parents, on these and on parents held out."""
    own = None if parents is None else [str(file) for file in parents]
    given = {
        "problem": problem, "model": model, "engine": engine, "max_tokens": max_tokens, "temperature": temperature,
        "steps": steps, "es": es, "cases": cases, "seeds": seeds, "rewards": rewards, "learns": learns, "guard": guard,
        "guard_floor": guard_floor, "parents": own, "trained": trained,
        "held_out": held_out, "evaluations": evaluations, "every": every, "seed": seed, "workers": workers,
        "engines": engines, "heal": heal, "ray": ray,
        "unsafe_no_sandbox": unsafe_no_sandbox,
    }  # fmt: skip
    weights = {"scope": scope, "basis": basis and str(basis), "update_rule": update_rule}
    strategy = {
        "members": members, "children": children, "sigma": sigma, "sigma_end": sigma_end, "schedule": schedule,
        "alpha": alpha, "alpha_rule": alpha_rule, "antithetic": antithetic, "subspaces": subspaces,
        "subspace_unit": subspace_unit, "z_scores": z_scores, "spread": spread, "rank": rank,
    }  # fmt: skip

    from coevo.cli.live import warning
    from coevo.cli.probe_report import following_probe, print_probe
    from coevo.cli.summary import present
    from coevo.experiments.probe_config import make_probe_config
    from coevo.experiments.probe_running import run_probe

    tables = {"evolution_strategy": present(strategy), "weights": present(weights)}
    config = make_probe_config(present(given) | tables)
    warnings = warning(config.evolution_strategy.warnings())
    with following_probe(config) as listener:
        result = run_probe(config, runs_dir=runs_dir, listeners=(warnings, listener))
    print_probe(result, as_json=json)

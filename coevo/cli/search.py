"""`coevo search`: from a problem and a budget to a better heuristic."""

from pathlib import Path
from typing import Annotated

import typer

from coevo.cli import options
from coevo.cli.options import ES, MODEL, RUN, SKILL, STOP


def search(
    problem: Annotated[str | None, typer.Option(help="Name of a problem, or path of its folder.  [tsp]")] = None,
    budget: Annotated[int | None, typer.Option(help="Operator completions in all; never exceeded.  [200]")] = None,
    method: Annotated[
        str | None, typer.Option(help="eoh, sample (new heuristics only), or grammar (a control without a model).")
    ] = None,
    recipe: Annotated[
        str | None, typer.Option(help="Published settings: [esopt-]eoh|sample-1000|2000, e.g. esopt-eoh-1000.")
    ] = None,
    start: Annotated[
        list[Path] | None, typer.Option(help="Your own heuristic, for the first population; repeatable.")
    ] = None,
    model: Annotated[
        str | None,
        typer.Option(
            help="embedded, a Hugging Face folder, a downloaded hub name, or a server: http://host:port/v1#model.",
            rich_help_panel=MODEL,
        ),
    ] = None,
    engine: Annotated[
        str | None, typer.Option(help="auto, torch, vllm, endpoint or scripted.", rich_help_panel=MODEL)
    ] = None,
    tensor_parallel: options.TensorParallel = None,
    engines: options.Engines = None,
    heal: options.Heal = None,
    ray: options.RayForAll = None,
    max_tokens: Annotated[int | None, typer.Option(help="Longest completion.", rich_help_panel=MODEL)] = None,
    temperature: Annotated[float | None, typer.Option(help="Sampling temperature.", rich_help_panel=MODEL)] = None,
    es: Annotated[
        str | None, typer.Option(help="dense, low-rank, or off for the frozen model.", rich_help_panel=ES)
    ] = None,
    members: Annotated[int | None, typer.Option(help="Perturbed models in a step.", rich_help_panel=ES)] = None,
    children: Annotated[int | None, typer.Option(help="Children each of them writes.", rich_help_panel=ES)] = None,
    sigma: Annotated[
        float | None, typer.Option(help="First standard deviation of the noise.", rich_help_panel=ES)
    ] = None,
    sigma_end: Annotated[float | None, typer.Option(help="Last standard deviation.", rich_help_panel=ES)] = None,
    schedule: Annotated[str | None, typer.Option(help="cosine or constant.", rich_help_panel=ES)] = None,
    alpha: Annotated[float | None, typer.Option(help="Step size of the update.", rich_help_panel=ES)] = None,
    alpha_rule: options.AlphaRule = None,
    antithetic: options.Antithetic = None,
    subspaces: options.Subspaces = None,
    subspace_unit: options.SubspaceUnit = None,
    z_scores: options.ZScores = None,
    spread: options.Spread = None,
    rank: options.Rank = None,
    noise_only: options.NoiseOnly = None,
    guard: Annotated[
        bool | None, typer.Option("--guard", help="Refuse steps whose members fall apart.", rich_help_panel=ES)
    ] = None,
    basis: options.Basis = None,
    reward: Annotated[
        str | None, typer.Option(help="difference (parent − child), cost (−child) or rank.", rich_help_panel=ES)
    ] = None,
    copies: Annotated[
        str | None, typer.Option(help="Child equal to a parent: zero or invalid.", rich_help_panel=ES)
    ] = None,
    parents: Annotated[
        str | None, typer.Option(help="Parents of members: common or independent.", rich_help_panel=ES)
    ] = None,
    seeds: Annotated[
        str | None, typer.Option(help="Sampling seeds of members: independent or common.", rich_help_panel=ES)
    ] = None,
    scope: options.Scope = None,
    update_rule: options.UpdateRule = None,
    restore: options.Restore = None,
    skill_every: options.SkillEvery = None,
    skill_model: Annotated[
        str | None, typer.Option(help="Who distils it: a model or server, or statistics.", rich_help_panel=SKILL)
    ] = None,
    target: Annotated[float | None, typer.Option(help="Stop at this objective.", rich_help_panel=STOP)] = None,
    patience: options.Patience = None,
    max_hours: options.MaxHours = None,
    max_cost: Annotated[
        float | None, typer.Option(help="Stop before servers cost more (needs prices).", rich_help_panel=STOP)
    ] = None,
    max_spent_tokens: Annotated[
        int | None, typer.Option(help="Stop before servers read and write more tokens in all.", rich_help_panel=STOP)
    ] = None,
    price_in: Annotated[
        float | None, typer.Option(help="A server's price per million tokens read.", rich_help_panel=STOP)
    ] = None,
    price_out: Annotated[
        float | None, typer.Option(help="Its price per million tokens written.", rich_help_panel=STOP)
    ] = None,
    skill_price_in: Annotated[
        float | None, typer.Option(help="The same of the skill model.  [the model's]", rich_help_panel=STOP)
    ] = None,
    skill_price_out: Annotated[
        float | None, typer.Option(help="Likewise.  [the model's]", rich_help_panel=STOP)
    ] = None,
    seed: options.Seed = None,
    workers: options.Workers = None,
    no_compare: Annotated[
        bool | None,
        typer.Option(
            "--no-compare", help="Measure no baselines or textbook algorithms in the end.", rich_help_panel=RUN
        ),
    ] = None,
    track: options.Track = None,
    runs_dir: options.RunsDir = Path("runs"),
    config: options.Config = None,
    unsafe_no_sandbox: options.Unsafe = None,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Show plan and prompts; ask no model.", rich_help_panel=RUN)
    ] = False,
    json: options.RunJson = False,
) -> None:
    """Evolve a better heuristic, and the model that writes it."""
    own = None if start is None else [str(file) for file in start]
    given = {
        "problem": problem, "budget": budget, "method": method, "start": own,
        "model": model, "engine": engine, "max_tokens": max_tokens, "temperature": temperature, "es": es,
        "target": target, "patience": patience, "max_hours": max_hours, "seed": seed, "workers": workers,
        "engines": engines, "heal": heal, "ray": ray,
        "unsafe_no_sandbox": unsafe_no_sandbox, "tensor_parallel": tensor_parallel, "seeds": seeds,
        "learns": False if noise_only else None, "guard": guard,
        "reward": reward, "copies": copies, "parents": parents,
        "compare": False if no_compare else None,
        "skill_every": skill_every, "skill_model": skill_model,
    }  # fmt: skip
    weights = {"scope": scope, "basis": basis and str(basis), "update_rule": update_rule, "restore": restore}
    strategy = {
        "members": members, "children": children, "sigma": sigma, "sigma_end": sigma_end, "schedule": schedule,
        "alpha": alpha, "alpha_rule": alpha_rule, "antithetic": antithetic,
        "subspaces": subspaces, "subspace_unit": subspace_unit, "z_scores": z_scores, "spread": spread, "rank": rank,
    }  # fmt: skip

    from coevo.cli.given import merged, read_config
    from coevo.cli.summary import present, print_dry_run, print_result

    allowance = {
        "max_cost": max_cost, "max_spent_tokens": max_spent_tokens, "price_in": price_in, "price_out": price_out,
        "skill_price_in": skill_price_in, "skill_price_out": skill_price_out,
    }  # fmt: skip
    tables = {
        "evolution_strategy": present(strategy), "weights": present(weights), "allowance": present(allowance),
    }  # fmt: skip
    values = merged(read_config(config), present(given), tables)
    if budget is None and recipe is None:
        values.setdefault("budget", 200)

    from coevo.cli.live import following, warning
    from coevo.reporting.trackers.tracking import tracking
    from coevo.searching.api import run_search
    from coevo.searching.config import make_config
    from coevo.searching.idle import refuse_idle
    from coevo.searching.preview import idle_warnings

    refuse_idle(present(given) | tables)
    resolved = make_config(values, recipe)
    trackers = tracking(track or ())
    if dry_run:
        print_dry_run(resolved, as_json=json)
        return
    warnings = warning((*resolved.evolution_strategy.warnings(), *idle_warnings(resolved)))
    with following(resolved) as listener:
        result = run_search(resolved, runs_dir=runs_dir, listeners=(warnings, listener, *trackers))
    print_result(result, as_json=json)

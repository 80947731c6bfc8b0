"""`coevo search`: from a problem and a budget to a better heuristic."""

from pathlib import Path
from typing import Annotated

import typer

MODEL = "Model and engine"
ES = "Evolution strategies"
SKILL = "Skill in the prompts"
STOP = "Stopping"
RUN = "Run"


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
    tensor_parallel: Annotated[
        int | None, typer.Option(help="Devices that vLLM shards the model over.", rich_help_panel=MODEL)
    ] = None,
    engines: Annotated[
        int | None, typer.Option(help="Engines that share the work.  [1]", rich_help_panel=MODEL)
    ] = None,
    heal: Annotated[
        bool | None,
        typer.Option("--heal", help="Open an engine anew that disagrees with the others.", rich_help_panel=MODEL),
    ] = None,
    ray: Annotated[
        str | None,
        typer.Option(
            help="Ray cluster for engines and judges: auto, HOST:PORT or ray://HOST:PORT.", rich_help_panel=MODEL
        ),
    ] = None,
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
    alpha_rule: Annotated[str | None, typer.Option(help="constant or proportional (to σ).", rich_help_panel=ES)] = None,
    antithetic: Annotated[bool | None, typer.Option(help="Mirror the members in pairs.", rich_help_panel=ES)] = None,
    subspaces: Annotated[
        int | None, typer.Option(help="Random subspaces that members are dealt to (CoPES).", rich_help_panel=ES)
    ] = None,
    subspace_unit: Annotated[
        str | None, typer.Option(help="element (published) or tile (saves memory).", rich_help_panel=ES)
    ] = None,
    z_scores: Annotated[
        str | None, typer.Option(help="joint (published) or separate for each subspace.", rich_help_panel=ES)
    ] = None,
    spread: Annotated[
        str | None,
        typer.Option(help="Rewards are measured by the spread of their step or run.  [step]", rich_help_panel=ES),
    ] = None,
    rank: Annotated[int | None, typer.Option(help="Rank of low-rank noise.  [1]", rich_help_panel=ES)] = None,
    noise_only: Annotated[
        bool | None, typer.Option("--noise-only", help="Perturb, never update (ablation).", rich_help_panel=ES)
    ] = None,
    guard: Annotated[
        bool | None, typer.Option("--guard", help="Refuse steps whose members fall apart.", rich_help_panel=ES)
    ] = None,
    basis: Annotated[
        Path | None, typer.Option(help="Basis of scope guided.  [beside the model]", rich_help_panel=ES)
    ] = None,
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
    scope: Annotated[
        str | None,
        typer.Option(help="Weights that move: full, linear, guided or a regular expression.", rich_help_panel=ES),
    ] = None,
    update_rule: Annotated[
        str | None, typer.Option(help="16-bit weights: master, stochastic or nearest.", rich_help_panel=ES)
    ] = None,
    restore: Annotated[
        str | None, typer.Option(help="Base while members serve: copy, host, tiles or mapped.", rich_help_panel=ES)
    ] = None,
    skill_every: Annotated[
        int | None, typer.Option(help="Generations between updates of the skill text.", rich_help_panel=SKILL)
    ] = None,
    skill_model: Annotated[
        str | None, typer.Option(help="Who distils it: a model or server, or statistics.", rich_help_panel=SKILL)
    ] = None,
    target: Annotated[float | None, typer.Option(help="Stop at this objective.", rich_help_panel=STOP)] = None,
    patience: Annotated[
        int | None, typer.Option(help="Stop after generations without progress.", rich_help_panel=STOP)
    ] = None,
    max_hours: Annotated[float | None, typer.Option(help="Stop after this wall time.", rich_help_panel=STOP)] = None,
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
    seed: Annotated[int | None, typer.Option(help="Seed of everything random.  [0]", rich_help_panel=RUN)] = None,
    workers: Annotated[int | None, typer.Option(help="Processes.  [one per core]", rich_help_panel=RUN)] = None,
    no_compare: Annotated[
        bool | None,
        typer.Option(
            "--no-compare", help="Measure no baselines or textbook algorithms in the end.", rich_help_panel=RUN
        ),
    ] = None,
    track: Annotated[
        list[str] | None,
        typer.Option(help="Send numbers to tensorboard, wandb, mlflow or trackio; repeatable.", rich_help_panel=RUN),
    ] = None,
    runs_dir: Annotated[Path, typer.Option(help="Where run directories are made.", rich_help_panel=RUN)] = Path("runs"),
    config: Annotated[Path | None, typer.Option(help="TOML file with any of these.", rich_help_panel=RUN)] = None,
    unsafe_no_sandbox: Annotated[
        bool | None, typer.Option("--unsafe-no-sandbox", help="Run candidates without bubblewrap.", rich_help_panel=RUN)
    ] = None,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Show plan and prompts; ask no model.", rich_help_panel=RUN)
    ] = False,
    json: Annotated[
        bool, typer.Option("--json", help="Result as JSON on standard output.", rich_help_panel=RUN)
    ] = False,
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

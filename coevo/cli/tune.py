"""`coevo tune`: from an environment and a model to one that acts better in it."""

from pathlib import Path
from typing import Annotated

import typer

MODEL = "Model and engine"
ES = "Evolution strategies"
EPISODES = "Episodes"
MEASURE = "Measuring"
SKILL = "Skill in the prompts"
STOP = "Stopping"
RUN = "Run"


def tune(
    env: Annotated[
        str | None,
        typer.Option(help="sudoku, math, docvqa, web, webarena, or the path of an environment's folder.  [sudoku]"),
    ] = None,
    option: Annotated[
        list[str] | None, typer.Option(help="Option of the environment, name=value; repeatable (coevo env list).")
    ] = None,
    recipe: Annotated[str | None, typer.Option(help="Published settings: sudoku-5|10|15, math, docvqa or web.")] = None,
    method: Annotated[
        str | None, typer.Option(help="es, or as a baseline with backpropagation grpo or ppo.  [es]")
    ] = None,
    generations: Annotated[int | None, typer.Option(help="One ES step each.  [player: 12, else 40]")] = None,
    tasks: Annotated[int | None, typer.Option(help="Tasks of a generation.  [player: 32, else 16]")] = None,
    model: Annotated[
        str | None,
        typer.Option(
            help="player (Sudoku only), a Hugging Face folder or a downloaded hub name.", rich_help_panel=MODEL
        ),
    ] = None,
    engine: Annotated[
        str | None, typer.Option(help="auto, torch, vllm or scripted.  [auto]", rich_help_panel=MODEL)
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
        typer.Option(help="Ray cluster for engines: auto, HOST:PORT or ray://HOST:PORT.", rich_help_panel=MODEL),
    ] = None,
    temperature: Annotated[
        float | None, typer.Option(help="Sampling temperature.  [the environment's]", rich_help_panel=EPISODES)
    ] = None,
    top_p: Annotated[float | None, typer.Option(help="Nucleus.  [the environment's]", rich_help_panel=EPISODES)] = None,
    top_k: Annotated[
        int | None, typer.Option(help="Likeliest tokens kept.  [the environment's]", rich_help_panel=EPISODES)
    ] = None,
    presence_penalty: Annotated[
        float | None, typer.Option(help="On tokens that an answer already has.", rich_help_panel=EPISODES)
    ] = None,
    turns: Annotated[
        int | None, typer.Option(help="Most answers of an episode.  [the environment's]", rich_help_panel=EPISODES)
    ] = None,
    turn_tokens: Annotated[
        int | None, typer.Option(help="Longest answer.  [the environment's]", rich_help_panel=EPISODES)
    ] = None,
    total_tokens: Annotated[
        int | None, typer.Option(help="Most tokens of an episode's answers.", rich_help_panel=EPISODES)
    ] = None,
    seeds: Annotated[
        str | None,
        typer.Option(help="Sampling seeds of members: common or independent.  [common]", rich_help_panel=EPISODES),
    ] = None,
    es: Annotated[str | None, typer.Option(help="dense or low-rank.  [dense]", rich_help_panel=ES)] = None,
    members: Annotated[
        int | None, typer.Option(help="Perturbed models in a step.  [player: 24, else 32]", rich_help_panel=ES)
    ] = None,
    children: Annotated[
        int | None, typer.Option(help="Episodes of each task that a member plays.  [1]", rich_help_panel=ES)
    ] = None,
    sigma: Annotated[
        float | None,
        typer.Option(help="First standard deviation of the noise.  [player: 0.015, else 0.001]", rich_help_panel=ES),
    ] = None,
    sigma_end: Annotated[
        float | None, typer.Option(help="Last standard deviation.  [player: 0.005, else 0.00025]", rich_help_panel=ES)
    ] = None,
    schedule: Annotated[str | None, typer.Option(help="cosine or constant.  [cosine]", rich_help_panel=ES)] = None,
    alpha: Annotated[
        float | None, typer.Option(help="Step size of the update.  [player: 0.01, else 0.0005]", rich_help_panel=ES)
    ] = None,
    alpha_rule: Annotated[
        str | None, typer.Option(help="constant or proportional (to σ).  [constant]", rich_help_panel=ES)
    ] = None,
    antithetic: Annotated[bool | None, typer.Option(help="Mirror the members in pairs.", rich_help_panel=ES)] = None,
    subspaces: Annotated[
        int | None, typer.Option(help="Random subspaces that members are dealt to (CoPES).  [1]", rich_help_panel=ES)
    ] = None,
    subspace_unit: Annotated[str | None, typer.Option(help="element or tile.", rich_help_panel=ES)] = None,
    z_scores: Annotated[str | None, typer.Option(help="joint or separate.  [joint]", rich_help_panel=ES)] = None,
    spread: Annotated[
        str | None,
        typer.Option(help="Rewards are measured by the spread of their step or run.  [step]", rich_help_panel=ES),
    ] = None,
    rank: Annotated[int | None, typer.Option(help="Rank of low-rank noise.  [1]", rich_help_panel=ES)] = None,
    noise_only: Annotated[
        bool | None, typer.Option("--noise-only", help="Perturb, never update (ablation).", rich_help_panel=ES)
    ] = None,
    scope: Annotated[
        str | None,
        typer.Option(help="Weights that move: full, linear, guided or a regular expression.", rich_help_panel=ES),
    ] = None,
    basis: Annotated[Path | None, typer.Option(help="Basis of scope guided.", rich_help_panel=ES)] = None,
    update_rule: Annotated[
        str | None, typer.Option(help="16-bit weights: master, stochastic or nearest.", rich_help_panel=ES)
    ] = None,
    restore: Annotated[
        str | None, typer.Option(help="Base while members serve: copy, host, tiles or mapped.", rich_help_panel=ES)
    ] = None,
    every: Annotated[
        int | None,
        typer.Option(help="Generations between measurements.  [player: 4, else 10]", rich_help_panel=MEASURE),
    ] = None,
    val_tasks: Annotated[int | None, typer.Option(help="Tasks of val.  [all]", rich_help_panel=MEASURE)] = None,
    repeats: Annotated[
        int | None, typer.Option(help="Episodes of each task of a measurement.  [1]", rich_help_panel=MEASURE)
    ] = None,
    split: Annotated[
        list[str] | None,
        typer.Option(help="Split measured first and last besides, such as test; repeatable.", rich_help_panel=MEASURE),
    ] = None,
    skill_every: Annotated[
        int | None, typer.Option(help="Generations between updates of the skill text.", rich_help_panel=SKILL)
    ] = None,
    target: Annotated[float | None, typer.Option(help="Stop at this mean score on val.", rich_help_panel=STOP)] = None,
    patience: Annotated[
        int | None, typer.Option(help="Stop after generations without progress.", rich_help_panel=STOP)
    ] = None,
    max_hours: Annotated[float | None, typer.Option(help="Stop after this wall time.", rich_help_panel=STOP)] = None,
    seed: Annotated[int | None, typer.Option(help="Seed of everything random.  [0]", rich_help_panel=RUN)] = None,
    workers: Annotated[int | None, typer.Option(help="Processes.  [one per core]", rich_help_panel=RUN)] = None,
    track: Annotated[
        list[str] | None,
        typer.Option(help="Send numbers to tensorboard, wandb, mlflow or trackio; repeatable.", rich_help_panel=RUN),
    ] = None,
    runs_dir: Annotated[Path, typer.Option(help="Where run directories are made.", rich_help_panel=RUN)] = Path("runs"),
    config: Annotated[Path | None, typer.Option(help="TOML file with any of these.", rich_help_panel=RUN)] = None,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Show the plan; ask no model.", rich_help_panel=RUN)
    ] = False,
    json: Annotated[
        bool, typer.Option("--json", help="Result as JSON on standard output.", rich_help_panel=RUN)
    ] = False,
) -> None:
    """Fine-tune an agent by evolution strategies: rewards of whole episodes, no backpropagation."""
    given = {
        "env": env, "method": method, "generations": generations, "tasks": tasks, "model": model, "engine": engine,
        "tensor_parallel": tensor_parallel, "seeds": seeds, "es": es, "learns": False if noise_only else None,
        "every": every, "val_tasks": val_tasks, "repeats": repeats, "splits": split, "skill_every": skill_every,
        "target": target, "patience": patience, "max_hours": max_hours, "seed": seed, "workers": workers,
        "engines": engines, "heal": heal, "ray": ray,
    }  # fmt: skip
    weights = {"scope": scope, "basis": basis and str(basis), "update_rule": update_rule, "restore": restore}
    answers = {
        "temperature": temperature, "top_p": top_p, "top_k": top_k, "presence_penalty": presence_penalty,
        "turns": turns, "turn_tokens": turn_tokens, "total_tokens": total_tokens,
    }  # fmt: skip
    strategy = {
        "members": members, "children": children, "sigma": sigma, "sigma_end": sigma_end, "schedule": schedule,
        "alpha": alpha, "alpha_rule": alpha_rule, "antithetic": antithetic, "subspaces": subspaces,
        "subspace_unit": subspace_unit, "z_scores": z_scores, "spread": spread, "rank": rank,
    }  # fmt: skip

    from coevo.cli.given import merged, options_of, read_config
    from coevo.cli.live import warning
    from coevo.cli.summary import present
    from coevo.cli.tune_report import following_tuning, print_plan, print_tuning
    from coevo.reporting.trackers.tracking import tracking
    from coevo.tuning.api import run_tuning
    from coevo.tuning.config import make_tune_config
    from coevo.tuning.preview import skill_warnings

    tables = {
        "options": options_of(option), "evolution_strategy": present(strategy), "weights": present(weights),
        "answers": present(answers),
    }  # fmt: skip
    values = merged(read_config(config), present(given), tables)
    if recipe is None:
        values.setdefault("env", "sudoku")
    resolved = make_tune_config(values, recipe)
    trackers = tracking(track or ())
    if dry_run:
        print_plan(resolved, as_json=json)
        return
    warnings = warning((*resolved.evolution_strategy.warnings(), *skill_warnings(resolved)))
    with following_tuning(resolved) as listener:
        result = run_tuning(resolved, runs_dir=runs_dir, listeners=(warnings, listener, *trackers))
    print_tuning(result, as_json=json)

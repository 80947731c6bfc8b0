"""`coevo tune`: from an environment and a model to one that acts better in it."""

from pathlib import Path
from typing import Annotated

import typer

from coevo.cli import options
from coevo.cli.options import EPISODES, ES, MEASURE, MODEL, RUN, STOP


def tune(
    env: Annotated[
        str | None,
        typer.Option(help="sudoku, math, docvqa, web, webarena, or the path of an environment's folder.  [sudoku]"),
    ] = None,
    option: options.EnvOption = None,
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
    tensor_parallel: options.TensorParallel = None,
    engines: options.Engines = None,
    heal: options.Heal = None,
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
    presence_penalty: options.PresencePenalty = None,
    turns: Annotated[
        int | None, typer.Option(help="Most answers of an episode.  [the environment's]", rich_help_panel=EPISODES)
    ] = None,
    turn_tokens: Annotated[
        int | None, typer.Option(help="Longest answer.  [the environment's]", rich_help_panel=EPISODES)
    ] = None,
    total_tokens: options.TotalTokens = None,
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
    alpha_rule: options.AlphaRule = None,
    antithetic: options.Antithetic = None,
    subspaces: options.Subspaces = None,
    subspace_unit: options.SubspaceUnit = None,
    z_scores: options.ZScores = None,
    spread: options.Spread = None,
    rank: options.Rank = None,
    noise_only: options.NoiseOnly = None,
    scope: options.Scope = None,
    basis: options.Basis = None,
    update_rule: options.UpdateRule = None,
    restore: options.Restore = None,
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
    skill_every: options.SkillEvery = None,
    target: Annotated[float | None, typer.Option(help="Stop at this mean score on val.", rich_help_panel=STOP)] = None,
    patience: options.Patience = None,
    max_hours: options.MaxHours = None,
    seed: options.Seed = None,
    workers: options.Workers = None,
    track: options.Track = None,
    runs_dir: options.RunsDir = Path("runs"),
    config: options.Config = None,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Show the plan; ask no model.", rich_help_panel=RUN)
    ] = False,
    json: options.RunJson = False,
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

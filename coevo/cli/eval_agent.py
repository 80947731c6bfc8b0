"""`coevo eval-agent`: how well an agent acts, with intervals."""

from pathlib import Path
from typing import Annotated

import typer

from coevo.cli import options
from coevo.cli.options import MODEL

PAY = "What a server may cost"


def eval_agent(
    env: options.AgentEnv = None,
    option: options.EnvOption = None,
    run: Annotated[
        list[Path] | None,
        typer.Option(help="Tuning run whose weights and skill play; repeatable, for several training seeds."),
    ] = None,
    generation: Annotated[
        str | None, typer.Option(help="After which generation of the runs: best, last or a number.  [best]")
    ] = None,
    split: Annotated[list[str] | None, typer.Option(help="Split to play, such as test; repeatable.  [val]")] = None,
    tasks: Annotated[int | None, typer.Option(help="Tasks of a split, from its start.  [all]")] = None,
    repeats: Annotated[int | None, typer.Option(help="K: episodes of each task.  [4]")] = None,
    model: Annotated[
        str | None,
        typer.Option(
            help="player (Sudoku only), a Hugging Face folder, a downloaded hub name, or a server's "
            "http://host:port/v1#name.  [the run's, or player]",
            rich_help_panel=MODEL,
        ),
    ] = None,
    engine: Annotated[
        str | None, typer.Option(help="auto, torch, vllm, endpoint or scripted.", rich_help_panel=MODEL)
    ] = None,
    tensor_parallel: options.TensorParallel = None,
    temperature: options.SamplingTemperature = None,
    top_p: options.TopP = None,
    top_k: options.TopK = None,
    presence_penalty: options.PresencePenalty = None,
    turns: options.Turns = None,
    turn_tokens: options.TurnTokens = None,
    total_tokens: options.TotalTokens = None,
    max_cost: Annotated[
        float | None, typer.Option(help="Stop before a server costs more (needs prices).", rich_help_panel=PAY)
    ] = None,
    max_spent_tokens: Annotated[
        int | None, typer.Option(help="Stop before it reads and writes more tokens in all.", rich_help_panel=PAY)
    ] = None,
    price_in: Annotated[
        float | None, typer.Option(help="A server's price per million tokens read.", rich_help_panel=PAY)
    ] = None,
    price_out: Annotated[
        float | None, typer.Option(help="Its price per million tokens written.", rich_help_panel=PAY)
    ] = None,
    seed: options.Seed = None,
    workers: options.Workers = None,
    runs_dir: options.RunsDir = Path("runs"),
    json: options.RunJson = False,
) -> None:
    """Measure an agent without training it: Mean@K and Pass@k, turns and tokens, with intervals over tasks."""
    given = {
        "env": env, "splits": split, "tasks": tasks, "repeats": repeats, "model": model, "engine": engine,
        "tensor_parallel": tensor_parallel, "seed": seed, "workers": workers,
    }  # fmt: skip
    answers = {
        "temperature": temperature, "top_p": top_p, "top_k": top_k, "presence_penalty": presence_penalty,
        "turns": turns, "turn_tokens": turn_tokens, "total_tokens": total_tokens,
    }  # fmt: skip

    from coevo.cli.eval_report import following_eval, print_eval
    from coevo.cli.given import options_of
    from coevo.cli.summary import present
    from coevo.experiments.agent_eval import run_eval
    from coevo.tuning.eval_config import make_eval_config

    allowance = {
        "max_cost": max_cost, "max_spent_tokens": max_spent_tokens, "price_in": price_in, "price_out": price_out,
    }  # fmt: skip
    tables = {"options": options_of(option), "answers": present(answers), "allowance": present(allowance)}
    values = present(given) | tables
    config = make_eval_config(values, run or (), generation)
    with following_eval() as listener:
        result = run_eval(config, runs_dir=runs_dir, listeners=(listener,))
    print_eval(result, as_json=json)

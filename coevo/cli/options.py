"""Options that several commands share, each declared once; what differs between commands is declared by the command."""

from pathlib import Path
from typing import Annotated

import typer

# Panels of the help page.
MODEL = "Model and engine"
ES = "Evolution strategies"
EPISODES = "Episodes"
MEASURE = "Measuring"
SKILL = "Skill in the prompts"
STOP = "Stopping"
RUN = "Run"

TensorParallel = Annotated[
    int | None, typer.Option(help="Devices that vLLM shards the model over.", rich_help_panel=MODEL)
]
Engines = Annotated[int | None, typer.Option(help="Engines that share the work.  [1]", rich_help_panel=MODEL)]
Heal = Annotated[
    bool | None,
    typer.Option("--heal", help="Open an engine anew that disagrees with the others.", rich_help_panel=MODEL),
]
RayForAll = Annotated[
    str | None,
    typer.Option(help="Ray cluster for engines and judges: auto, HOST:PORT or ray://HOST:PORT.", rich_help_panel=MODEL),
]

AlphaRule = Annotated[str | None, typer.Option(help="constant or proportional (to σ).  [constant]", rich_help_panel=ES)]
Antithetic = Annotated[bool | None, typer.Option(help="Mirror the members in pairs.", rich_help_panel=ES)]
Subspaces = Annotated[
    int | None, typer.Option(help="Random subspaces that members are dealt to (CoPES).  [1]", rich_help_panel=ES)
]
SubspaceUnit = Annotated[
    str | None, typer.Option(help="element (published) or tile (saves memory).  [element]", rich_help_panel=ES)
]
ZScores = Annotated[
    str | None, typer.Option(help="joint (published) or separate for each subspace.  [joint]", rich_help_panel=ES)
]
Spread = Annotated[
    str | None,
    typer.Option(help="Rewards are measured by the spread of their step or run.  [step]", rich_help_panel=ES),
]
Rank = Annotated[int | None, typer.Option(help="Rank of low-rank noise.  [1]", rich_help_panel=ES)]
NoiseOnly = Annotated[
    bool | None, typer.Option("--noise-only", help="Perturb, never update (ablation).", rich_help_panel=ES)
]
Scope = Annotated[
    str | None,
    typer.Option(help="Weights that move: full, linear, guided or a regular expression.", rich_help_panel=ES),
]
Basis = Annotated[Path | None, typer.Option(help="Basis of scope guided.  [beside the model]", rich_help_panel=ES)]
UpdateRule = Annotated[
    str | None, typer.Option(help="16-bit weights: master, stochastic or nearest.", rich_help_panel=ES)
]
Restore = Annotated[
    str | None, typer.Option(help="Base while members serve: copy, host, tiles or mapped.", rich_help_panel=ES)
]

PresencePenalty = Annotated[
    float | None, typer.Option(help="On tokens that an answer already has.", rich_help_panel=EPISODES)
]
TotalTokens = Annotated[int | None, typer.Option(help="Most tokens of an episode's answers.", rich_help_panel=EPISODES)]
SkillEvery = Annotated[
    int | None, typer.Option(help="Generations between updates of the skill text.", rich_help_panel=SKILL)
]
Patience = Annotated[int | None, typer.Option(help="Stop after generations without progress.", rich_help_panel=STOP)]
MaxHours = Annotated[float | None, typer.Option(help="Stop after this wall time.", rich_help_panel=STOP)]

Seed = Annotated[int | None, typer.Option(help="Seed of everything random.  [0]", rich_help_panel=RUN)]
Workers = Annotated[int | None, typer.Option(help="Processes.  [one per core]", rich_help_panel=RUN)]
Track = Annotated[
    list[str] | None,
    typer.Option(help="Send numbers to tensorboard, wandb, mlflow or trackio; repeatable.", rich_help_panel=RUN),
]
RunsDir = Annotated[Path, typer.Option(help="Where run directories are made.", rich_help_panel=RUN)]
Config = Annotated[Path | None, typer.Option(help="TOML file with any of these.", rich_help_panel=RUN)]
Unsafe = Annotated[
    bool | None, typer.Option("--unsafe-no-sandbox", help="Run candidates without bubblewrap.", rich_help_panel=RUN)
]
RunJson = Annotated[bool, typer.Option("--json", help="Result as JSON on standard output.", rich_help_panel=RUN)]
Json = Annotated[bool, typer.Option("--json", help="Result as JSON on standard output.")]
"""Of commands whose help has no panels."""

AgentEnv = Annotated[
    str | None,
    typer.Option(
        help="sudoku, math, docvqa, web, webarena, or the path of an environment's folder.  [the run's, or sudoku]"
    ),
]
SamplingTemperature = Annotated[float | None, typer.Option(help="Sampling temperature.", rich_help_panel=EPISODES)]
TopP = Annotated[float | None, typer.Option(help="Nucleus.", rich_help_panel=EPISODES)]
TopK = Annotated[int | None, typer.Option(help="Likeliest tokens kept.", rich_help_panel=EPISODES)]
Turns = Annotated[int | None, typer.Option(help="Most answers of an episode.", rich_help_panel=EPISODES)]
TurnTokens = Annotated[int | None, typer.Option(help="Longest answer.", rich_help_panel=EPISODES)]

StartModel = Annotated[str | None, typer.Option(help="The model the run began with, where that lies elsewhere now.")]
WeightsAfter = Annotated[
    str | None, typer.Option(help="Weights after this generation, or best, as val chose in tuning.  [last]")
]
RunArgument = Annotated[Path, typer.Argument(help="The run directory.")]
EnvOption = Annotated[
    list[str] | None, typer.Option(help="Option of the environment, name=value; repeatable (coevo env list).")
]

"""Everything that decides a tuning run, resolved: what `config.toml` in its run directory holds."""

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError, model_validator

from coevo.answer_bounds import AnswerTokens, EpisodeTokens, Temperature, TopK, TopP
from coevo.cluster.address import ClusterAddress
from coevo.engines.endpoint.address import is_address
from coevo.engines.policy import FROZEN, GUIDED, WeightPolicy
from coevo.environments.loading import find_environment
from coevo.errors import ConfigError, RunError
from coevo.es.settings import ESSettings
from coevo.explaining import explain
from coevo.learning.choice import ModelChoice
from coevo.learning.layers import layered
from coevo.learning.suiting import SCRIPT, check_suits
from coevo.records.run_directory import RunDirectory
from coevo.records.run_kind import TUNE, check_kind
from coevo.skills.settings import SkillSettings
from coevo.tuning.baselines.settings import BaselineSettings, Method
from coevo.tuning.recipes import RECIPES

TRAIN, VAL = "train", "val"
"""Splits that every run plays: the one it learns from, and the one that chooses its weights."""

PLAYER = "player"
"""The name of the embedded model that plays."""

OPTION = float | int | str


class AnswerSettings(BaseModel):
    """How answers are drawn and bounded; None where the environment's own value holds."""

    model_config = ConfigDict(frozen=True, extra="forbid", use_attribute_docstrings=True)

    temperature: Temperature | None = None
    """Sampling temperature; 0 is greedy."""
    top_p: TopP | None = None
    """Nucleus of the sampling distribution."""
    top_k: TopK | None = None
    """Likeliest tokens kept; 0 keeps all."""
    presence_penalty: float | None = Field(default=None, ge=-2, le=2)
    """Subtracted from the logit of every token that the answer already has."""
    turns: int | None = Field(default=None, ge=1, le=10_000)
    """Most answers of an episode."""
    turn_tokens: AnswerTokens | None = None
    """Longest answer."""
    total_tokens: EpisodeTokens | None = None
    """Most tokens an episode's answers may have together."""


class TuneConfig(BaseModel):
    """One tuning run. Scores and rewards are maximised."""

    model_config = ConfigDict(frozen=True, extra="forbid", use_attribute_docstrings=True)

    kind: Literal["tune"] = "tune"
    """Tells the run directory of a tuning run from that of a search."""
    env: str
    """Name of an environment, or path of its folder."""
    options: dict[str, OPTION] = Field(default_factory=dict)
    """Options of the environment, by name."""
    model: str
    """"player", a Hugging Face folder, the name of a downloaded model, or a script of the scripted engine."""
    engine: Literal["auto", "torch", "vllm", "scripted"] = "auto"
    """What completes text; "auto" is torch."""
    tensor_parallel: int = Field(default=1, ge=1, le=1024)
    """Devices (on the CPU: processes) over which vLLM shards the model; never changes the weights' bits."""
    engines: int = Field(default=1, ge=1, le=1024)
    """Engines that share the work; each applies every update itself, and all must agree."""
    heal: bool = False
    """Whether an engine that disagrees with the others is opened anew and replays the updates, instead of ending the
    run."""
    ray: ClusterAddress | None = None
    """Address of the Ray cluster on whose nodes engines run: auto, HOST:PORT or ray://HOST:PORT; none for this machine
    alone. It says nothing about results."""
    es: Literal["dense", "low-rank"] = "dense"
    """Kind of the noise; members of low rank answer in one batch."""
    method: Method = "es"
    """How scores move the weights: "es", or one of the baselines that backpropagate, "grpo" and "ppo"."""
    baseline: BaselineSettings = BaselineSettings()
    """Settings of the baselines. Of the next table they take `members` and `children` alone, as numbers of rollouts."""
    evolution_strategy: ESSettings
    """σ, α, members; `children` is how often a member plays each task of a generation."""
    weights: WeightPolicy = WeightPolicy()
    """Which weights move, how updates reach them, and where their base is kept."""
    learns: bool = True
    """Whether steps move the weights; without, members are perturbed and scored and nothing follows (an ablation)."""
    generations: int = Field(default=40, ge=1, le=100_000)
    """T: generations, of one ES step each; σ's horizon."""
    tasks: int = Field(default=16, ge=1, le=100_000)
    """B: tasks of a generation, the next B of the training split in its order, again from its start at its end."""
    seeds: Literal["common", "independent"] = "common"
    """Whether members share the sampling seeds of a task (common random numbers), or each episode has its own."""
    answers: AnswerSettings = AnswerSettings()
    """How answers are drawn and bounded, where not as the environment says."""
    every: int = Field(default=10, ge=1)
    """Generations between two measurements of the unperturbed model on the split `val`."""
    val_tasks: int | None = Field(default=None, ge=1)
    """Tasks of that split that are played, from its start; all of them without a number."""
    repeats: int = Field(default=1, ge=1, le=1000)
    """How often the model plays each task of a measurement."""
    splits: tuple[str, ...] = ()
    """Splits on which the first and the chosen weights are measured in the end, such as "test"."""
    skill_every: int | None = Field(default=None, ge=1)
    """Generations between two updates of the skill text in the prompts (Trace2Skill); none without a number."""
    skill: SkillSettings = SkillSettings()
    """Bounds of the skill, and of what an update of it reads."""
    transcripts: int = Field(default=2, ge=0)
    """Episodes of a generation, and of a measurement, whose conversation is recorded; with a skill all of them are."""
    fault_retries: int = Field(default=2, ge=0, le=100)
    """How often an episode is begun again whose surroundings failed, before its task is dropped for all members."""
    target: float | None = Field(default=None, allow_inf_nan=False)
    """Stop after a measurement whose mean score is at least this."""
    patience: int | None = Field(default=None, ge=1)
    """Stop after this many generations without a better measurement."""
    max_hours: float | None = Field(default=None, gt=0, allow_inf_nan=False)
    """Stop after the first generation that ends past this wall time; a resumed run starts its clock anew."""
    seed: int = Field(default=0, ge=0, lt=2**63)
    """Seed of everything random: environments, sampling, noise."""
    workers: int = Field(default_factory=lambda: len(os.sched_getaffinity(0)), ge=1, le=1024)
    """Processes that generate, of all engines together."""

    @model_validator(mode="after")
    def _goes_together(self) -> "TuneConfig":
        rank = self.evolution_strategy.rank
        if self.es == "low-rank" and (rank == 0 or self.weights.scope != "linear"):
            raise ValueError(
                f"es low-rank needs a rank and scope linear, got rank {rank} and scope {self.weights.scope!r}"
            )
        if self.es == "dense" and rank > 0:
            raise ValueError(f"a rank goes with es low-rank, got rank {rank}; add --es low-rank, or drop the rank")
        if self.weights.scope == GUIDED and (rank > 0 or self.evolution_strategy.subspaces > 1):
            raise ValueError("scope guided has noise of its own; take rank 0 and 1 subspace")
        if self.weights.scope == FROZEN:
            raise ValueError("scope none leaves nothing to move; to measure a model as it is, use coevo eval-agent")
        if self.tensor_parallel > 1 and self.engine != "vllm":
            raise ValueError(
                f"only engine vllm shards a model, got tensor_parallel {self.tensor_parallel} and engine "
                f"{self.engine}; add --engine vllm"
            )
        if self.heal and self.engines == 1:
            raise ValueError("heal is for engines that disagree, got 1 engine; add --engines, or drop it")
        return self

    @model_validator(mode="after")
    def _reports_other_splits(self) -> "TuneConfig":
        for split in self.splits:
            if split in (TRAIN, VAL):
                raise ValueError(f"splits are those that are only reported; {split!r} is played by every run")
        if len(set(self.splits)) < len(self.splits):
            raise ValueError(f"expected each split once, got {', '.join(self.splits)}")
        return self

    @model_validator(mode="after")
    def _suits_its_method(self) -> "TuneConfig":
        if self.method == "es":
            return self
        unfit = {
            "engine": (self.engine in ("auto", "torch"), "auto or torch, whose weights are in this process"),
            "engines": (self.engines == 1, "1: the weights are in this process"),
            "ray": (self.ray is None, "none: the weights are in this process"),
            "es": (self.es == "dense", "dense: nothing is perturbed"),
            "seeds": (self.seeds == "independent", "independent: with common ones all episodes of a task are the same"),
            "learns": (self.learns, "true: without learning nothing differs between generations"),
        }
        for name, (fits, wanted) in unfit.items():
            if not fits:
                raise ValueError(f"method {self.method} wants {name} {wanted}; got {getattr(self, name)}")
        if self.weights.scope == GUIDED:
            raise ValueError(f"method {self.method} moves whole tensors: take scope full or linear, not guided")
        return self

    @property
    def choice(self) -> ModelChoice:
        """What it says of its model."""
        strategy = self.evolution_strategy
        return ModelChoice(
            self.model,
            self.engine,
            self.tensor_parallel,
            weights=self.weights,
            rank=strategy.rank,
            members=strategy.members,
            workers=self.workers,
            engines=self.engines,
            heals=self.heal,
            ray=self.ray,
        )

    @property
    def episodes(self) -> int:
        """Training episodes of the plan: generations × members × tasks × episodes of each."""
        return self.generations * self.tasks * self.evolution_strategy.members * self.evolution_strategy.children


TABLES = ("options", "baseline", "evolution_strategy", "weights", "answers", "skill")
"""Fields that are tables: a partial one is filled up with defaults."""

PUBLISHED_STRATEGY: dict[str, Any] = {"members": 32, "sigma": 1e-3, "sigma_end": 2.5e-4, "alpha": 5e-4}
"""Defaults: the published ones for Sudoku (arXiv:2608.17310, table 13), where σ ends above 0."""

PLAYER_STRATEGY: dict[str, Any] = {"members": 24, "sigma": 1.5e-2, "sigma_end": 5e-3, "alpha": 1e-2}
"""Defaults for the embedded player, whose weights are larger than those of a hub model."""

PLAYER_BASELINE: dict[str, Any] = {"lr": 1e-4}
"""Likewise for the baselines."""


def make_tune_config(values: Mapping[str, Any], recipe: str | None = None) -> TuneConfig:
    """Resolve a configuration: defaults < recipe < values.

    Args:
        values: Fields the user gave; tables may be partial.
        recipe: Name in `RECIPES`.

    Raises:
        ConfigError: Naming each field that does not fit, or the recipes there are.
        ContentError: If a model has to be chosen and there is no such environment.
    """
    if recipe is not None and recipe not in RECIPES:
        raise ConfigError(f"expected a recipe among {', '.join(RECIPES)}, got {recipe!r}")
    chosen = RECIPES[recipe] if recipe else {}
    layers = (_defaults_for({**chosen, **values}), chosen, values)
    if is_address(str(values.get("model", ""))):
        raise ConfigError(f"tuning moves weights: expected a model that is here, got the server {values['model']!r}")
    if values.get("engine") == "endpoint":
        raise ConfigError("tuning moves weights, and those of a server are out of reach: expected another --engine")
    merged = {key: value for layer in layers for key, value in layer.items()}
    try:
        return TuneConfig.model_validate(merged | {name: layered(name, layers) for name in TABLES})
    except ValidationError as error:
        raise ConfigError(explain(error, TuneConfig)) from error


def _defaults_for(values: Mapping[str, Any]) -> dict[str, Any]:
    """Defaults that follow from other choices."""
    own: dict[str, Any] = {}
    if "model" not in values:
        _check_needs_no_model(values)
        own["model"] = PLAYER
    plays = values.get("model", PLAYER) == PLAYER
    if plays:
        own |= {"generations": 12, "tasks": 32, "every": 4}
    strategy = dict(PLAYER_STRATEGY if plays else PUBLISHED_STRATEGY)
    if values.get("es") == "low-rank":
        own["weights"] = {"scope": "linear"}
        strategy["rank"] = 1
    if values.get("method", "es") != "es":
        own["seeds"] = "independent"
    return own | {"evolution_strategy": strategy, "baseline": PLAYER_BASELINE if plays else {}}


def _check_needs_no_model(values: Mapping[str, Any]) -> None:
    """Refuse to choose a model where none that ships with coevo plays, with the ways to name one."""
    if "env" in values:
        find_environment(str(values["env"]))  # where there is no such environment, no model would help
    if values.get("engine") == "scripted":
        check_suits("scripted", "")
    if values.get("env") != "sudoku":
        raise ConfigError(
            f"expected --model for {values.get('env')}: a Hugging Face folder or a downloaded name; only sudoku has a "
            "model that ships with coevo; fetch one with: hf download Qwen/Qwen3-0.6B, then --model Qwen/Qwen3-0.6B; "
            f"for a try without a model: --engine scripted --model answers.json, {SCRIPT}"
        )


def absolute(config: TuneConfig) -> TuneConfig:
    """The same run with every path absolute, so that it can be resumed from anywhere; a name stays a name."""
    changes: dict[str, Any] = {}
    if (Path(config.env) / "environment.toml").is_file():
        changes["env"] = str(Path(config.env).resolve())
    if config.model not in ("", PLAYER, "embedded") and Path(config.model).exists():
        changes["model"] = str(Path(config.model).resolve())
    if config.weights.basis:
        basis = str(Path(config.weights.basis).expanduser().resolve())
        changes["weights"] = config.weights.model_copy(update={"basis": basis})
    paths = {k: str(Path(v).resolve()) for k, v in config.options.items() if isinstance(v, str) and _is_path(v)}
    return config.model_copy(update=changes | {"options": {**config.options, **paths}})


def _is_path(value: str) -> bool:
    """Whether a text is meant as a path: by its form, so that a name is not taken for a file that is called so."""
    return os.sep in value and Path(value).exists()


def tune_config_of(run: Path) -> TuneConfig:
    """The configuration a tuning run was started with.

    Raises:
        RunError: If `run` is not the directory of one, or its configuration does not fit this version.
    """
    check_kind(run, TUNE)
    try:
        return TuneConfig.model_validate(RunDirectory.open(run).config())
    except ValidationError as error:
        raise RunError(f"{run / 'config.toml'}: expected that of a tuning run: {explain(error)}") from error

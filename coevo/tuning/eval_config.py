"""What decides an evaluation of agents, resolved: what `config.toml` in its run directory holds."""

import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError, model_validator

from coevo.engines.endpoint.address import is_address
from coevo.engines.endpoint.spending import Allowance
from coevo.engines.policy import WeightPolicy
from coevo.environments.loading import find_environment
from coevo.errors import ConfigError, RunError
from coevo.explaining import explain
from coevo.learning.choice import EngineName, ModelChoice
from coevo.learning.suiting import check_suits
from coevo.records.run_directory import RunDirectory
from coevo.records.run_kind import EVAL_AGENT, check_kind
from coevo.records.run_kind import kind_of as kind_of
from coevo.tuning.config import (
    OPTION,
    PLAYER,
    VAL,
    AnswerSettings,
    TuneConfig,
    absolute,
    make_tune_config,
    tune_config_of,
)
from coevo.tuning.subjects import Subject, generation_of, subject_of


class PlayConfig(BaseModel):
    """Which weights play where: what every job has that plays and does not train."""

    model_config = ConfigDict(frozen=True, extra="forbid", use_attribute_docstrings=True)

    env: str
    """Name of an environment, or path of its folder."""
    options: dict[str, OPTION] = Field(default_factory=dict)
    """Options of the environment, by name."""
    model: str
    """"player", a Hugging Face folder, the name of a downloaded model, a server's address, or a script."""
    engine: EngineName = "auto"
    """What completes text; "auto" is endpoint for an address and torch otherwise."""
    tensor_parallel: int = Field(default=1, ge=1, le=1024)
    """Devices over which vLLM shards the model."""
    weights: WeightPolicy = WeightPolicy()
    """Which weights the runs have moved, or directions move, and how."""
    rank: int = Field(default=0, ge=0)
    """Rank of the noise; 0 for dense noise."""
    runs: tuple[str, ...] = ()
    """Tuning runs whose weights play; without any, the model as it is."""
    generations: tuple[int, ...] = ()
    """Of each run, the generation after which its weights are taken."""
    answers: AnswerSettings = AnswerSettings()
    """How answers are drawn and bounded, where not as the environment says."""
    tasks: int | None = Field(default=None, ge=1)
    """Tasks of a split that are played, from its start; all of them without a number."""
    repeats: int = Field(default=1, ge=1, le=1000)
    """K: how often each task is played."""
    transcripts: int = Field(default=2, ge=0)
    """Episodes of a batch whose conversation is recorded."""
    fault_retries: int = Field(default=2, ge=0, le=100)
    """How often an episode is begun again whose surroundings failed, before it is left out."""
    seed: int = Field(default=0, ge=0, lt=2**63)
    """Seed of everything random; episodes share no seed with a tuning run, also where the number is the same."""
    workers: int = Field(default_factory=lambda: len(os.sched_getaffinity(0)), ge=1, le=1024)
    """Processes that generate."""

    @model_validator(mode="after")
    def _goes_together(self) -> "PlayConfig":
        if len(self.runs) != len(self.generations):
            raise ValueError(f"expected one generation for each run, got {len(self.generations)} for {len(self.runs)}")
        if len(set(zip(self.runs, self.generations, strict=True))) < len(self.runs):
            raise ValueError("expected every run once; drop the --run that is there twice")
        return self

    def choice(self, *, moves: bool, members: int = 1) -> ModelChoice:
        """What it says of its model.

        Args:
            moves: Whether its weights are going to move.
            members: Perturbed models that answer at a time.
        """
        return ModelChoice(
            self.model, self.engine, self.tensor_parallel, moves, self.weights, self.rank, members, self.workers
        )

    def subjects(self, *, moves: bool = False, members: int = 1) -> tuple[Subject, ...]:
        """The weights that play, in order.

        Args:
            moves: Whether they are moved besides, as along a direction.
            members: As of `choice`.

        Raises:
            RunError: If a run or its log cannot be read.
        """
        choice = self.choice(moves=moves or bool(self.runs), members=members)
        if not self.runs:
            return (Subject(choice),)
        pairs = zip(self.runs, self.generations, strict=True)
        return tuple(subject_of(Path(run), generation, choice) for run, generation in pairs)


class EvalConfig(PlayConfig):
    """One evaluation. Scores are maximised."""

    kind: Literal["eval-agent"] = "eval-agent"
    """Tells its run directory from others."""
    splits: tuple[str, ...] = (VAL,)
    """Splits that are played."""
    repeats: int = Field(default=4, ge=1, le=1000)
    """K: how often each task is played."""
    allowance: Allowance = Allowance()
    """What a server may be paid, and its prices; a run that reaches a cap goes on when resumed with a higher one."""

    @model_validator(mode="after")
    def _is_paid(self) -> "EvalConfig":
        if not self.allowance.is_empty and not self.choice(moves=False).is_endpoint:
            raise ValueError(
                f"caps and prices are for servers, got model {self.model!r}, which costs nothing; drop them, or name a "
                "server as model"
            )
        if self.allowance.skill_price_in is not None:
            raise ValueError("skill prices are for a search's skill model, and an evaluation has none; drop them")
        return self

    @model_validator(mode="after")
    def _has_splits(self) -> "EvalConfig":
        if not self.splits or len(set(self.splits)) < len(self.splits):
            raise ValueError(f"expected one split or more, each once, got {', '.join(self.splits) or 'none'}")
        return self


_PLAYED = ("env", "options", "model", "engine", "tensor_parallel", "weights", "answers", "fault_retries")
"""Fields that a run settles for those who play with its weights."""

_TABLES = ("options", "answers", "weights")


def make_eval_config(
    values: Mapping[str, Any], runs: Sequence[str | Path] = (), generation: str | None = None
) -> EvalConfig:
    """Resolve a configuration: defaults < what the runs have < values.

    Args:
        values: Fields the user gave; tables may be partial.
        runs: Tuning runs; they may differ in what trained them, not in what plays where.
        generation: "best" (the default), "last", or a number.

    Raises:
        ConfigError: Naming each field that does not fit, or in what the runs differ.
        RunError: If one of them is no tuning run.
    """
    try:
        return EvalConfig.model_validate(played_values(values, runs, generation))
    except ValidationError as error:
        raise ConfigError(explain(error, EvalConfig)) from error


def played_values(values: Mapping[str, Any], runs: Sequence[str | Path], generation: str | None) -> dict[str, Any]:
    """Every field of a `PlayConfig` that the user or the runs decide.

    Raises:
        ConfigError, RunError: As `make_eval_config`.
    """
    tuned = [absolute(_with(tune_config_of(Path(run)), values)) for run in runs]
    base = tuned[0] if tuned else _of_model(values)
    for run, other in zip(runs, tuned, strict=True):
        _check_same(base, other, runs[0], run)
    if generation is not None and not runs:
        raise ConfigError(f"expected --run with --generation {generation}; a model alone has no generations")
    own = {key: value for key, value in values.items() if key not in _PLAYED}
    settled = {name: value for name, value in base.model_dump().items() if name in _PLAYED}
    if is_address(str(values.get("model", ""))):
        settled["model"] = values["model"]
    return {
        **settled,
        **own,
        "engine": values.get("engine", base.engine),
        "rank": base.evolution_strategy.rank if runs else 0,
        "runs": tuple(str(Path(run).resolve()) for run in runs),
        "generations": tuple(generation_of(Path(run), generation or "best") for run in runs),
    }


def eval_config_of(run: Path) -> EvalConfig:
    """The configuration an evaluation was started with.

    Raises:
        RunError: If `run` is not the directory of one, or its configuration does not fit this version.
    """
    check_kind(run, EVAL_AGENT)
    try:
        return EvalConfig.model_validate(RunDirectory.open(run).config())
    except ValidationError as error:
        raise RunError(f"{run / 'config.toml'}: expected that of an evaluation: {explain(error)}") from error


def _with(config: TuneConfig, values: Mapping[str, Any]) -> TuneConfig:
    """A run's configuration under what the user says now."""
    was = config.model_dump()
    given = {name: values[name] for name in _PLAYED if name in values}
    tables = {name: {**was[name], **given[name]} for name in _TABLES if name in given}
    try:
        return TuneConfig.model_validate({**was, **given, **tables})
    except ValidationError as error:
        raise ConfigError(explain(error, TuneConfig)) from error


def _of_model(values: Mapping[str, Any]) -> TuneConfig:
    """Defaults of a model that no run has tuned; a server's address has no place in a run and is put in later."""
    given = {"env": "sudoku", **{name: values[name] for name in _PLAYED if name in values}}
    engine, model = str(given.get("engine", "auto")), str(given.get("model", ""))
    if engine == "endpoint" or is_address(model):
        check_suits(engine, model)
        find_environment(str(given["env"]))
        given |= {"model": PLAYER, "engine": "auto"}
    return absolute(make_tune_config(given))


def _check_same(first: TuneConfig, other: TuneConfig, one: str | Path, run: str | Path) -> None:
    pairs = {name: (getattr(first, name), getattr(other, name)) for name in _PLAYED if name != "engine"}
    pairs["rank"] = (first.evolution_strategy.rank, other.evolution_strategy.rank)
    for name, (left, right) in pairs.items():
        if left != right:
            raise ConfigError(
                f"expected runs that differ in their training alone, got {name} {_short(left)} in {one} and "
                f"{_short(right)} in {run}; evaluate them one by one"
            )


def _short(value: object) -> str:
    return str(value)[:80]

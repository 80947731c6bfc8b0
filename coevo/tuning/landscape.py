"""Scores on a plane through the weights: θ + a·d₁ + b·d₂ along two seeded Gaussian directions of the ES noise.

The idea is that of figure 6 of Agentic ESOpt (arXiv:2608.17310), a 31 × 31 grid over ±0.005. A row of the plane has one
b: the model is opened anew and moved by b·d₂ once, and its points are members of that model, perturbed by ±|a|·d₁. So
nothing is ever subtracted, no point depends on another, and a row's points play side by side.
"""

from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Literal

import numpy as np
from pydantic import Field, ValidationError, model_validator

from coevo.environments.loading import find_environment
from coevo.errors import ConfigError, RunError
from coevo.explaining import explain
from coevo.interfaces import Member, Update
from coevo.learning.models import OpenModel
from coevo.learning.seeds import seed_of
from coevo.records.environment import describe_environment
from coevo.records.event_log import Listener
from coevo.records.run_directory import RunDirectory
from coevo.records.run_kind import LANDSCAPE, check_kind
from coevo.tuning.config import PLAYER, PLAYER_STRATEGY, PUBLISHED_STRATEGY, VAL, tune_config_of
from coevo.tuning.episodes import Assignment, Episode
from coevo.tuning.eval_config import PlayConfig, played_values
from coevo.tuning.evaluating import Ground, assignments_of, ground_of, opening
from coevo.tuning.prompting import Prompter
from coevo.tuning.scores import score_of
from coevo.tuning.subjects import Subject, open_subject

_RADIUS = 5
"""Default radius in multiples of σ, as published: 0.005 at σ = 0.001."""

_STEP = 0
"""Step of the directions under their run key: no run of ES has that key."""


class LandscapeConfig(PlayConfig):
    """One landscape. Scores are maximised."""

    kind: Literal["landscape"] = "landscape"
    """Tells its run directory from others."""
    split: str = VAL
    """Split whose tasks are played at every point, under the same seeds."""
    points: int = Field(default=11, ge=3, le=101)
    """Points of a side; odd, so that the weights themselves are one."""
    radius: float = Field(ge=1e-30, le=1e30)
    """Largest |a| and |b|, in weight units; by default five times the first σ, as published."""
    transcripts: int = Field(default=0, ge=0)
    """Episodes of a point whose conversation is recorded."""

    @model_validator(mode="after")
    def _is_a_plane(self) -> "LandscapeConfig":
        if self.points % 2 == 0:
            raise ValueError(f"expected an odd number of points, so that the centre is one, got {self.points}")
        if len(self.runs) > 1:
            raise ValueError(f"a plane goes through one model's weights, got {len(self.runs)} runs; name one --run")
        return self

    @property
    def offsets(self) -> tuple[float, ...]:
        """Values of a, and of b, in ascending order; exact in fp32, the middle one is 0."""
        half = self.points // 2
        return tuple(float(np.float32(self.radius * place / half)) for place in range(-half, half + 1))


@dataclass(frozen=True, slots=True)
class Point:
    """A point of the plane: its place and its offsets along the two directions, in weight units."""

    column: int
    row: int
    a: float
    b: float


def make_landscape_config(
    values: dict[str, Any], run: str | None = None, generation: str | None = None
) -> LandscapeConfig:
    """Resolve a configuration: defaults < what the run has < values.

    Args:
        values: Fields the user gave; tables may be partial.
        run: A tuning run, whose weights are the centre; a model's own without one.
        generation: Its generation: "best" (the default), "last" or a number.

    Raises:
        ConfigError: Naming each field that does not fit.
        RunError: If it is no tuning run.
    """
    if run is not None and values.get("weights"):
        raise ConfigError("directions move what the run has moved; drop --scope, or survey a model without --run")
    settled = played_values(values, () if run is None else (run,), generation)
    radius = _RADIUS * _sigma(run, settled["model"])
    try:
        return LandscapeConfig.model_validate({"radius": radius, **settled})
    except ValidationError as error:
        raise ConfigError(explain(error, LandscapeConfig)) from error


def _sigma(run: str | None, model: str) -> float:
    """The first σ of the run, or that of a run with this model by default."""
    if run is not None:
        return tune_config_of(Path(run)).evolution_strategy.sigma
    return float((PLAYER_STRATEGY if model == PLAYER else PUBLISHED_STRATEGY)["sigma"])


def landscape_config_of(run: Path) -> LandscapeConfig:
    """The configuration a landscape was started with.

    Raises:
        RunError: If `run` is not the directory of one, or its configuration does not fit this version.
    """
    check_kind(run, LANDSCAPE)
    try:
        return LandscapeConfig.model_validate(RunDirectory.open(run).config())
    except ValidationError as error:
        raise RunError(f"{run / 'config.toml'}: expected that of a landscape: {explain(error)}") from error


@contextmanager
def survey(
    config: LandscapeConfig, open_directory: Callable[[], RunDirectory], listeners: tuple[Listener, ...] = ()
) -> Iterator[tuple[Ground, Callable[[], None]]]:
    """A landscape ready to begin: its ground, and what plays it.

    Raises:
        CoevoError: If something cannot be had; nothing has been written then.
    """
    find_environment(config.env)  # before a model is loaded for it
    (subject,) = config.subjects(moves=True, members=config.points)
    with ExitStack() as stack:
        model = open_subject(subject)
        stack.callback(model.engine.close)
        centre = f"{model.engine.fingerprint():016x}"
        ground = stack.enter_context(ground_of(config, (config.split,), open_directory, listeners))
        ground.directory.save_environment({**describe_environment(), "model": config.model, "fingerprint": centre})

        def play() -> None:
            ground.log.emit("started", **opening(ground, LANDSCAPE), fingerprint=centre)
            model.engine.close()
            for row, b in enumerate(config.offsets):
                _play_row(ground, config, subject, row, b)
            ground.log.emit("finished", status="done")

        yield ground, play


def row_update(config: LandscapeConfig, b: float, basis: int) -> Update:
    """What moves the weights to a row: b·d₂."""
    return Update(_run_key(config), _STEP, (1,), (b,), rank=config.rank, basis=basis)


def member_at(config: LandscapeConfig, a: float, basis: int) -> Member | None:
    """Who plays at a point of a row: its weights + a·d₁; None for the row's own weights."""
    if a == 0.0:
        return None
    sign = 1 if a > 0 else -1
    return Member(_run_key(config), _STEP, 0, sign, abs(a), rank=config.rank, basis=basis)


def _run_key(config: LandscapeConfig) -> int:
    return seed_of(config.seed, LANDSCAPE, "directions")


def _play_row(ground: Ground, config: LandscapeConfig, subject: Subject, row: int, b: float) -> None:
    """Play the points of a row and record each with its score."""
    points = [Point(column, row, a, b) for column, a in enumerate(config.offsets)]
    batches = [_assignments(ground, config, point) for point in points]
    ground.log.emit("playing", row=row, b=b, episodes=sum(map(len, batches)))

    def play(left: Sequence[Assignment]) -> Iterator[Episode]:
        model = open_subject(subject)
        try:
            if b != 0.0:
                model.engine.commit(row_update(config, b, model.basis))
            with ground.rollouts(model.engine, Prompter(model.renderer, subject.skill)) as rollouts:
                yield from rollouts.play([_by_member(config, each, model) for each in left])
        finally:
            model.engine.close()

    episodes = ground.recorder.played(play, [each for batch in batches for each in batch])
    share = len(episodes) // len(points)
    for place, point in enumerate(points):
        own = episodes[place * share : (place + 1) * share]
        facts = score_of(own, at_best=ground.arena.folder.spec.at_best).facts()
        ground.log.emit("point", column=point.column, row=point.row, a=point.a, b=point.b, **facts)


def _assignments(ground: Ground, config: LandscapeConfig, point: Point) -> list[Assignment]:
    prefix = f"{point.row}.{point.column}"
    return assignments_of(config, config.split, ground.tasks[config.split], prefix, kept=config.transcripts)


def _by_member(config: LandscapeConfig, assignment: Assignment, model: OpenModel) -> Assignment:
    """An assignment with who plays it, which the place in its id tells."""
    column = int(assignment.id.split(".", 2)[1])
    return replace(assignment, member=member_at(config, config.offsets[column], model.basis))

"""What moves the weights in a probe: evolution strategies, with a guard and with their controls."""

from collections.abc import Sequence
from typing import Protocol

from coevo.es.guard import Guard
from coevo.es.record import WeightRecipe
from coevo.experiments.probe_config import TOGETHER, ProbeConfig
from coevo.interfaces import Member
from coevo.learning.models import OpenModel
from coevo.learning.seeds import generator_of, seed_of
from coevo.learning.stepping import Course, Stepper
from coevo.records.event_log import EventLog
from coevo.records.run_directory import RunDirectory
from coevo.searching.breeding import Child
from coevo.searching.rewards import member_rewards


class Training(Protocol):
    """A way to learn from the children of fixed parents."""

    @property
    def refused(self) -> int:
        """Steps whose update was refused by a guard, so far."""

    def begin(self, valid: float) -> None:
        """Take note of the base model's valid share on the trained parents, in [0, 1]."""

    def members(self, step: int) -> tuple[Member, ...]:
        """Who answers in a step, counted from 0; nobody for the unperturbed model."""

    def learn(self, step: int, children: Sequence[Child], rewards: Sequence[float]) -> None:
        """Learn from the children of a step and their rewards, one each, maximised."""


class ESTraining:
    """Evolution strategies: perturbed members, z-scores, an update; recorded like a search's steps."""

    def __init__(self, config: ProbeConfig, model: OpenModel, log: EventLog, directory: RunDirectory) -> None:
        self._config = config
        recipe = WeightRecipe(config.weights.scope, model.storage, config.weights.update_rule, model.basis)
        key = seed_of(config.seed, "noise")
        course = Course(config.evolution_strategy, recipe, key, config.steps, config.learns)
        self._stepper = Stepper(course, model, log, directory)

    @property
    def refused(self) -> int:
        """See `Training`."""
        return self._stepper.refused

    def begin(self, valid: float) -> None:
        """See `Training`; the guard compares with it."""
        if self._config.guard:
            self._stepper.guard = Guard(self._config.guard_floor, reference=valid)

    def members(self, step: int) -> tuple[Member, ...]:
        """See `Training`; none at σ = 0, where all are the base and an update would be noise."""
        return self._stepper.ask(step)

    def learn(self, step: int, children: Sequence[Child], rewards: Sequence[float]) -> None:
        """See `Training`. A refused update stands in the history as one that was not applied."""
        if not (members := self._stepper.pending):
            return
        told = self._told(step, members, children, rewards)
        valid = sum(child.evaluation.is_ok for child in children) / len(children)
        self._stepper.close(told, valid, generation=step + 1, operator=TOGETHER)

    def _told(
        self, step: int, members: Sequence[Member], children: Sequence[Child], rewards: Sequence[float]
    ) -> dict[str, float]:
        if self._config.rewards == "measured":
            return member_rewards(children, rewards)
        noise = generator_of(self._config.seed, "random rewards", step).standard_normal(len(members))
        return {member.identity: float(value) for member, value in zip(members, noise, strict=True)}

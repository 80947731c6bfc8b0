"""What moves the weights in a probe: evolution strategies, with a guard and with their controls."""

from collections.abc import Sequence
from typing import Protocol

from coevo.es.guard import Guard, scaled
from coevo.es.record import StepRecord, WeightRecipe
from coevo.es.schedule import sigma_at
from coevo.es.strategy import EvolutionStrategy
from coevo.experiments.probe_config import ProbeConfig
from coevo.interfaces import Member, Update
from coevo.records.event_log import EventLog
from coevo.records.run_directory import RunDirectory
from coevo.searching.breeding import Child
from coevo.searching.models import WritingModel
from coevo.searching.rewards import member_rewards
from coevo.searching.seeds import generator_of, seed_of


class Teaching(Protocol):
    """A way to learn from the children of fixed parents.

    Attributes:
        refused: Steps whose update was refused by a guard, so far.
    """

    refused: int

    def begin(self, valid: float) -> None:
        """Take note of the base model's valid share on the trained parents, in [0, 1]."""

    def members(self, step: int) -> tuple[Member, ...]:
        """Who answers in a step, counted from 0; nobody for the unperturbed model."""

    def learn(self, step: int, children: Sequence[Child], rewards: Sequence[float]) -> None:
        """Learn from the children of a step and their rewards, one each, maximised."""


class ESTeaching:
    """Evolution strategies: perturbed members, z-scores, an update; recorded like a search's steps."""

    def __init__(self, config: ProbeConfig, model: WritingModel, log: EventLog, directory: RunDirectory) -> None:
        self._config = config
        self._settings = config.evolution_strategy
        self._engine = model.engine
        self._log = log
        self._directory = directory
        self._recipe = WeightRecipe(config.weights.scope, model.storage, config.weights.update_rule, model.basis)
        self._run_key = seed_of(config.seed, "noise")
        self._basis = model.basis
        self._strategy = EvolutionStrategy(self._settings, self._run_key, basis=model.basis)
        self._guard = Guard(config.guard_floor)
        self.refused = 0

    def begin(self, valid: float) -> None:
        """See `Teaching`; the guard compares with it."""
        self._guard = Guard(self._config.guard_floor, reference=valid)

    def members(self, step: int) -> tuple[Member, ...]:
        """See `Teaching`; none at σ = 0, where all are the base and an update would be noise."""
        sigma = sigma_at(step, self._config.steps, self._strategy.settings)
        return self._strategy.ask(sigma) if sigma > 0 else ()

    def learn(self, step: int, children: Sequence[Child], rewards: Sequence[float]) -> None:
        """See `Teaching`. A refused update stands in the history as one that was not applied."""
        members = self._strategy.pending
        if not members:
            return
        told = self._told(step, members, children, rewards)
        update = self._strategy.tell(told)
        self._watch(step, children)
        applied = self._config.learns and not self._guard.tripped
        fingerprint = self._moved(update if applied else None)
        record = StepRecord.of(members, told, update, generation=step + 1, operator="m1+m2", recipe=self._recipe)
        record = record.after(fingerprint, applied=applied and update is not None)
        self._log.emit("step", **record.model_dump(mode="json"))
        self._directory.save_step(record.step, record.to_line())

    def _moved(self, update: Update | None) -> int:
        return self._engine.commit(update) if update else self._engine.fingerprint()

    def _told(
        self, step: int, members: Sequence[Member], children: Sequence[Child], rewards: Sequence[float]
    ) -> dict[str, float]:
        if self._config.rewards == "measured":
            return member_rewards(children, rewards)
        noise = generator_of(self._config.seed, "random rewards", step).standard_normal(len(members))
        return {member.identity: float(value) for member, value in zip(members, noise, strict=True)}

    def _watch(self, step: int, children: Sequence[Child]) -> None:
        """Let the guard see the step; after a refused one the strategy goes on with narrower settings."""
        if not self._config.guard:
            return
        share = sum(child.evaluation.is_ok for child in children) / len(children)
        bound, before = self._guard.bound, self._guard.scale
        self._guard = self._guard.after(share)
        scale = self._guard.scale
        self.refused += self._guard.tripped
        self._log.emit("guard", step=step, valid=share, bound=bound, refused=self._guard.tripped, scale=scale)
        if scale != before:
            narrower = scaled(self._settings, scale)
            self._strategy = EvolutionStrategy(narrower, self._run_key, step=self._strategy.step, basis=self._basis)

"""How the model learns inside a search: which members write, what they earned, where the weights go."""

from collections.abc import Sequence

from coevo.es.guard import Guard
from coevo.es.record import WeightRecipe
from coevo.evolution.operators import Operator
from coevo.interfaces import Member
from coevo.learning.models import OpenModel
from coevo.learning.seeds import seed_of
from coevo.learning.stepping import Course, Stepper
from coevo.records.event_log import EventLog
from coevo.records.run_directory import RunDirectory
from coevo.searching.breeding import Child
from coevo.searching.config import SearchConfig
from coevo.searching.rewards import member_rewards


class Learner:
    """The evolution strategy of one run, or nothing at all when ES is off.

    σ follows the generation, noise the step: m1 and m2 of a generation are two steps with the same σ.
    """

    def __init__(
        self, config: SearchConfig, generations: int, model: OpenModel, log: EventLog, directory: RunDirectory
    ):
        self._members = config.evolution_strategy.members
        self._active = config.has_es
        self._engine = model.engine
        recipe = WeightRecipe(config.weights.scope, model.storage, config.weights.update_rule, model.basis)
        key = seed_of(config.seed, "noise")
        course = Course(config.evolution_strategy, recipe, key, generations, config.learns)
        self._stepper = Stepper(course, model, log, directory)
        self._guards = config.guard
        self._base: list[bool] = []

    def fingerprint(self) -> int:
        """Fingerprint of the unperturbed model as it is now."""
        return self._engine.fingerprint()

    def members(self, operator: Operator, generation: int, count: int) -> tuple[Member, ...]:
        """The perturbed models that answer a batch; none where the model does not evolve.

        None either at σ = 0, nor in a batch too small for every member to have a child.
        """
        if not (self._active and operator.evolves_model) or count < self._members:
            return ()
        return self._stepper.ask(generation - 1)

    def observe(self, children: Sequence[Child]) -> None:
        """Take note of a batch: the guard compares with how often the unperturbed model's children are valid."""
        if self._guards and not self._stepper.has_begun:
            self._base += [child.evaluation.is_ok for child in children if child.member is None]
            self._stepper.guard = Guard(reference=sum(self._base) / len(self._base) if self._base else None)

    def learn(
        self, operator: Operator, generation: int, children: Sequence[Child], earned: Sequence[float] | None
    ) -> None:
        """Move the weights by what the members' children earned, and record the step.

        Args:
            operator: Who asked.
            generation: Counted from 1.
            children: Every child of the step.
            earned: Their rewards, or None if none was valid: then all members earn the same and the weights stay.
        """
        rewards = member_rewards(children, earned or [0.0] * len(children))
        own = [child.evaluation.is_ok for child in children if child.member is not None]
        valid = sum(own) / len(own)
        self._stepper.close(rewards, valid, generation=generation, operator=operator.name)

"""How the model learns inside a search: which members write, what they earned, where the weights go."""

from collections.abc import Sequence

from coevo.es.record import StepRecord, WeightRecipe
from coevo.es.schedule import sigma_at
from coevo.es.strategy import EvolutionStrategy
from coevo.evolution.operators import Operator
from coevo.interfaces import Member
from coevo.records.event_log import EventLog
from coevo.records.run_directory import RunDirectory
from coevo.searching.breeding import Child
from coevo.searching.config import SearchConfig
from coevo.searching.models import WritingModel
from coevo.searching.rewards import member_rewards
from coevo.searching.seeds import seed_of


class Learner:
    """The evolution strategy of one run, or nothing at all when ES is off.

    σ follows the generation, noise the step: m1 and m2 of a generation are two steps with the same σ.
    """

    def __init__(
        self, config: SearchConfig, generations: int, model: WritingModel, log: EventLog, directory: RunDirectory
    ):
        self._settings = config.evolution_strategy
        self._active = config.es != "off" and config.method != "grammar"
        self._learns = config.learns
        self._generations = generations
        self._engine = model.engine
        self._log = log
        self._directory = directory
        self._recipe = WeightRecipe(config.weights.scope, model.storage, config.weights.update_rule, model.basis)
        self._strategy = EvolutionStrategy(self._settings, seed_of(config.seed, "noise"), basis=model.basis)

    def fingerprint(self) -> int:
        """Fingerprint of the unperturbed model as it is now."""
        return self._engine.fingerprint()

    def sigma(self, generation: int) -> float:
        """σ of a generation, counted from 1."""
        return sigma_at(generation - 1, self._generations, self._settings)

    def members(self, operator: Operator, generation: int, count: int) -> tuple[Member, ...]:
        """The perturbed models that answer a batch; none where the model does not evolve.

        None either at σ = 0, where all members are the model itself and an update would be pure noise, nor in a batch
        too small for every member to have a child.
        """
        sigma = self.sigma(generation) if self._active and operator.evolves_model else 0.0
        if sigma == 0.0 or count < self._settings.members:
            return ()
        return self._strategy.ask(sigma)

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
        members = self._strategy.pending
        rewards = member_rewards(children, earned or [0.0] * len(children))
        update = self._strategy.tell(rewards)
        if not self._learns:
            update = None
        fingerprint = self._engine.commit(update) if update else self._engine.fingerprint()
        record = StepRecord.of(
            members, rewards, update, generation=generation, operator=operator.name, recipe=self._recipe
        )
        record = record.after(fingerprint, applied=update is not None)
        self._log.emit("step", **record.model_dump(mode="json"))
        self._directory.save_step(record.step, record.to_line())

"""One evolution strategy at work on one engine: members are asked, told, committed and recorded, under a guard."""

from collections.abc import Mapping
from dataclasses import dataclass

from coevo.es.guard import Guard, scaled
from coevo.es.record import StepRecord, WeightRecipe
from coevo.es.schedule import sigma_at
from coevo.es.settings import ESSettings
from coevo.es.strategy import EvolutionStrategy
from coevo.interfaces import Member, Update
from coevo.learning.models import OpenModel
from coevo.records.event_log import EventLog
from coevo.records.run_directory import RunDirectory


@dataclass(frozen=True, slots=True)
class Course:
    """How the steps of a run are taken.

    Attributes:
        settings: Of the evolution strategy.
        recipe: What the history records of the weights.
        run_key: 64-bit key of the run's noise.
        horizon: Points of the σ schedule: a search's generations, a probe's steps.
        learns: Whether updates are applied.
    """

    settings: ESSettings
    recipe: WeightRecipe
    run_key: int
    horizon: int
    learns: bool = True


class Stepper:
    """Takes the steps of one run, one after the other.

    Args:
        course: How.
        model: What moves.
        log: Where each step is recorded.
        directory: Where the history is kept.

    Attributes:
        guard: Refuses the update of a step whose members' children fail too often, and narrows σ and α; or None.
        refused: Steps whose update it has refused so far.
    """

    def __init__(self, course: Course, model: OpenModel, log: EventLog, directory: RunDirectory) -> None:
        self._course = course
        self._engine = model.engine
        self._log = log
        self._directory = directory
        self.guard: Guard | None = None
        self._strategy = EvolutionStrategy(course.settings, course.run_key, basis=model.basis)
        self.refused = 0

    @property
    def has_begun(self) -> bool:
        """Whether a step has been asked for."""
        return self._strategy.step > 0

    @property
    def pending(self) -> tuple[Member, ...]:
        """The members whose rewards are awaited."""
        return self._strategy.pending

    def ask(self, point: int) -> tuple[Member, ...]:
        """The members of the next step; none at σ = 0, where all are the base and an update would be pure noise.

        Args:
            point: Of the schedule, counted from 0.
        """
        sigma = sigma_at(point, self._course.horizon, self._strategy.settings)
        return self._strategy.ask(sigma) if sigma > 0.0 else ()

    def close(self, rewards: Mapping[str, float], valid: float, *, generation: int, operator: str) -> None:
        """Tell the rewards of the pending members, move the weights, and record the step.

        Args:
            rewards: Member identity -> reward (maximised).
            valid: Share of the members' children that are valid, in [0, 1]; the guard decides by it.
            generation: As it stands in the history, counted from 1.
            operator: Likewise.
        """
        members = self._strategy.pending
        update = self._strategy.tell(rewards)
        holds = self._holds(valid, members[0].step)
        applied = update if self._course.learns and holds else None
        fingerprint = self._commit(applied)
        record = StepRecord.of(
            members, rewards, update, generation=generation, operator=operator, recipe=self._course.recipe
        )
        record = record.after(fingerprint, applied=applied is not None)
        self._log.emit("step", **record.model_dump(mode="json"))
        self._directory.save_step(record.step, record.to_line())

    def _commit(self, update: Update | None) -> int:
        return self._engine.commit(update) if update else self._engine.fingerprint()

    def _holds(self, valid: float, step: int) -> bool:
        """Whether the step may move the weights; after one that may not, the strategy goes on, narrower."""
        if self.guard is None:
            return True
        before, self.guard = self.guard, self.guard.after(valid)
        now = self.guard
        self.refused += now.tripped
        self._log.emit("guard", step=step, valid=valid, bound=before.bound, refused=now.tripped, scale=now.scale)
        if now.scale != before.scale:
            self._strategy = self._strategy.continued(scaled(self._course.settings, now.scale))
        return not now.tripped

"""Who plays, and what becomes of it: the part of a tuning run that differs between its methods."""

from collections.abc import Sequence
from typing import Protocol

from coevo.interfaces import Member
from coevo.learning.stepping import Stepper
from coevo.tuning.config import TRAIN
from coevo.tuning.episodes import Episode
from coevo.tuning.scores import Earned


class Learner(Protocol):
    """Moves the weights that the run's engine serves. Generations are counted from 1."""

    def ask(self, generation: int) -> tuple[Member, ...]:
        """Who plays the tasks of a generation; nobody where nothing could be learned."""

    def learn(self, generation: int, episodes: Sequence[Episode], won: Earned) -> None:
        """Learn from what they played, serve the new weights, and record it."""

    def keep(self, generation: int) -> None:
        """The weights that are served are the best so far: let them be found again. Generation 0 is the beginning."""


class Evolution:
    """Evolution strategies: perturbed members, whose mean scores move the weights. The history keeps all weights."""

    def __init__(self, stepper: Stepper) -> None:
        self._stepper = stepper

    def ask(self, generation: int) -> tuple[Member, ...]:
        """See `Learner`; at σ = 0 all members would be the base, and an update pure noise."""
        return self._stepper.ask(generation - 1)

    def learn(self, generation: int, episodes: Sequence[Episode], won: Earned) -> None:
        """See `Learner`."""
        self._stepper.close(won.rewards, 1.0, generation=generation, operator=TRAIN)

    def keep(self, generation: int) -> None:
        """See `Learner`."""

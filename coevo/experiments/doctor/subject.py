"""What the checks of one run share: its configuration, the devices there are, and one engine that stays open."""

from functools import cached_property

from coevo.experiments.doctor.asked import Asked
from coevo.experiments.doctor.asking import first_request
from coevo.experiments.doctor.gpu import Accelerators, look_for_gpus
from coevo.interfaces import Engine, Request
from coevo.learning.models import open_model, renderer_of_model


class Subject:
    """One run that is examined.

    Args:
        asked: What is meant.
    """

    def __init__(self, asked: Asked) -> None:
        self.asked = asked
        self._opened: list[Engine] = []

    @cached_property
    def accelerators(self) -> Accelerators:
        """What torch can compute on."""
        return look_for_gpus()

    @cached_property
    def engine(self) -> Engine:
        """The run's engine, started at the first use."""
        return self.open_engine()

    @cached_property
    def request(self) -> Request:
        """What the run would ask first."""
        return first_request(self.asked, renderer_of_model(self.asked.choice))

    def open_engine(self) -> Engine:
        """Another engine like the run's.

        Raises:
            CoevoError: If there can be none.
        """
        engine = open_model(self.asked.choice).engine
        self._opened.append(engine)
        return engine

    def close(self) -> None:
        """Close every engine that was opened."""
        for engine in self._opened:
            engine.close()

"""The parts of a run that learns by a policy gradient: its model, and its learner."""

from pathlib import Path

from coevo.engines.loading import inspect_folder, resolve_model
from coevo.interfaces import Sampling
from coevo.learning.models import OpenModel
from coevo.records.event_log import EventLog
from coevo.tuning.baselines.engine import TraineeEngine
from coevo.tuning.baselines.learner import KIND, GradientLearner
from coevo.tuning.baselines.reading import check_sampling
from coevo.tuning.baselines.trainee import Trainee
from coevo.tuning.config import TuneConfig


class Baseline:
    """What a policy gradient needs of a run, in the order in which a run has it.

    Args:
        config: Of the run.
        sampling: As it will be.

    Attributes:
        model: The open model.

    Raises:
        ModelError: If the model cannot be loaded.
        ConfigError: If the sampling is not plain, or nothing is in the scope.
    """

    def __init__(self, config: TuneConfig, sampling: Sampling) -> None:
        check_sampling(sampling, config.method)
        self._config, self._temperature = config, sampling.temperature
        folder = inspect_folder(resolve_model(config.model))
        self._trainee = Trainee(folder, scope=config.weights.scope, chat=folder.card.renderer == "chat")
        self._engine = TraineeEngine(self._trainee)
        self._learner: GradientLearner | None = None
        self.model = OpenModel(self._engine, folder.card.renderer)

    def learner(self, log: EventLog, run: Path) -> GradientLearner:
        """The learner; made once, when the run has its directory."""
        learner = GradientLearner(self._config, self._trainee, self._temperature, log, run / KIND)
        self._engine.tell(learner.note)
        self._learner = learner
        return learner

    def go_back(self, generation: int) -> None:
        """Serve the weights that `val` chose from now on: see `GradientLearner.go_back`.

        Raises:
            RuntimeError: If nothing has begun to learn.
        """
        if self._learner is None:
            raise RuntimeError("there is no way back before a learner has been made")
        self._learner.go_back(generation)

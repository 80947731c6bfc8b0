"""A policy gradient as the loop sees it: the model itself plays, several times, and is moved by what came of it."""

import shutil
import time
from collections import defaultdict
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from torch import nn

from coevo.engines.loading import inspect_folder
from coevo.errors import RunError
from coevo.interfaces import Member
from coevo.learning.seeds import generator_of
from coevo.records.event_log import CLOCK, EventLog
from coevo.tuning.baselines import checkpoint
from coevo.tuning.baselines.engine import Note
from coevo.tuning.baselines.methods import GroupJudge, TurnJudge
from coevo.tuning.baselines.optimiser import arrays_of, make_optimiser, restore
from coevo.tuning.baselines.reading import Reader, threads
from coevo.tuning.baselines.trainee import Trainee
from coevo.tuning.baselines.training import Trainer
from coevo.tuning.baselines.turns import Journal, Played
from coevo.tuning.config import TuneConfig
from coevo.tuning.episodes import Episode
from coevo.tuning.scores import Earned

KIND = "gradient"
"""The event of a generation's learning, and the folder of the run directory."""


class GradientLearner:
    """See `coevo.tuning.learner.Learner`: GRPO or turn-level PPO.

    Resume: what the log says of generations before the last checkpoint is said again, the checkpoint is loaded in its
    own, and the turns of the generation that was being played are in the journal.

    Args:
        config: Of the run.
        trainee: The model, as it began.
        temperature: Of the sampling.
        log: Where each generation's learning is recorded.
        folder: Where checkpoints, the best weights and the journal lie.
    """

    def __init__(self, config: TuneConfig, trainee: Trainee, temperature: float, log: EventLog, folder: Path) -> None:
        self._config, self._trainee, self._log, self._folder = config, trainee, log, folder
        settings, padding = config.baseline, trainee.ends[0]
        judge = GroupJudge() if config.method == "grpo" else TurnJudge(settings)
        head = _value_head(trainee) if judge.has_values else None
        reference = Reader(trainee.frozen_copy(), temperature, padding) if settings.kl > 0 else None
        self._named = {**trainee.learning, **{f"value.{n}": p for n, p in (head.named_parameters() if head else ())}}
        self._optimiser = make_optimiser(self._named, settings)
        reader = Reader(trainee.model, temperature, padding, head)
        self._trainer = Trainer(reader, reference, self._optimiser, judge, settings)
        folder.mkdir(exist_ok=True)
        self._journal = Journal(folder / "turns.jsonl")
        self._found = checkpoint.latest(folder)
        self._said = {event["generation"]: event for event in log.recorded if event["kind"] == KIND}

    @property
    def note(self) -> Note:
        """What is to be told of every answer of training."""
        return self._journal.note

    def ask(self, generation: int) -> tuple[Member, ...]:
        """See `Learner`: the model as it is, as often as evolution strategies would have members."""
        return tuple(
            Member(0, generation - 1, number, 1, 0.0) for number in range(self._config.evolution_strategy.members)
        )

    def learn(self, generation: int, episodes: Sequence[Episode], won: Earned) -> None:
        """See `Learner`."""
        found = self._found
        if found is None or generation > found.generation:
            started = time.monotonic()
            facts = self._learned(generation, self._journal.played(episodes, won.dropped))
            checkpoint.save(self._folder, generation, facts, arrays_of(self._named, self._optimiser))
            self._log.emit(KIND, clock={"seconds": time.monotonic() - started}, **facts)
            self._journal.clear()
            return
        if generation == found.generation:
            restore(found.tensors, self._named, self._optimiser)
            self._trainee.publish()
        self._log.emit(KIND, **(found.facts if generation == found.generation else self._recorded(generation)))

    def keep(self, generation: int) -> None:
        """See `Learner`: a model folder, replaced by the next; nothing for the beginning, which has its own folder."""
        if generation == 0 or (self._found is not None and generation < self._found.generation):
            return
        best, temporary = self._folder / "best", self._folder / ".best"
        shutil.rmtree(temporary, ignore_errors=True)
        self._trainee.export(temporary)
        shutil.rmtree(best, ignore_errors=True)
        temporary.replace(best)

    def go_back(self, generation: int) -> None:
        """Serve the weights that were kept last, or those of the beginning for generation 0; learning is over then."""
        source = inspect_folder(self._folder / "best") if generation else self._trainee.folder
        self._trainee.load(source.tensors)

    def close(self) -> None:
        """Close the journal; safe to call twice."""
        self._journal.close()

    def _learned(self, generation: int, played: Sequence[Played]) -> dict[str, Any]:
        """Learn and serve; what there is to say of it."""

        def shuffle(epoch: int) -> np.random.Generator:
            return generator_of(self._config.seed, "shuffle", generation, epoch)

        with threads(self._config.workers):
            facts = self._trainer.learn(played, shuffle)
        self._trainee.publish()
        return {
            "generation": generation,
            "method": self._config.method,
            "episodes": len(played),
            **_groups(played),
            **facts,
            "fingerprint": f"{self._trainee.fingerprint():016x}",
        }

    def _recorded(self, generation: int) -> dict[str, Any]:
        if generation not in self._said:
            raise RunError(
                f"expected what was learned in generation {generation} in the event log, found none, though "
                f"{self._folder} has a later checkpoint; the log was cut: start the run again"
            )
        return {key: value for key, value in self._said[generation].items() if key not in ("kind", CLOCK)}


def _value_head(trainee: Trainee) -> nn.Linear:
    """From a hidden state to a value; 0 for every state to begin with."""
    width = trainee.model.config.get_text_config().hidden_size
    head = nn.Linear(width, 1, device=trainee.model.device)
    nn.init.zeros_(head.weight)
    nn.init.zeros_(head.bias)
    return head


def _groups(played: Sequence[Played]) -> dict[str, int]:
    """How many tasks were played, and at how many of them scores differed."""
    scores: defaultdict[str, set[float]] = defaultdict(set)
    for episode in played:
        scores[episode.task].add(episode.score)
    return {"groups": len(scores), "mixed": sum(len(own) > 1 for own in scores.values())}

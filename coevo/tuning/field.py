"""The field of a run: which tasks are played when, by whom and with which seeds, recorded in order.

Every episode is an event. Those of a batch are recorded in the order of their assignments, whatever the order in which
they end; on resume, what the log holds is not played again.
"""

from collections.abc import Sequence

from coevo.interfaces import Member, Task
from coevo.learning.seeds import seed_of
from coevo.records.event_log import EventLog
from coevo.tuning.config import TRAIN, TuneConfig
from coevo.tuning.episodes import Assignment, Episode
from coevo.tuning.playing import Rollouts
from coevo.tuning.recording import Recorder


class Field:
    """Where episodes of a run are played.

    Args:
        config: Seeds, members, tasks of a generation.
        rollouts: Plays.
        log: Where episodes are recorded.
    """

    def __init__(self, config: TuneConfig, rollouts: Rollouts, log: EventLog) -> None:
        self._config = config
        self._rollouts = rollouts
        self._log = log
        self._recorder = Recorder(log)

    def train(self, generation: int, tasks: Sequence[Task], members: Sequence[Member]) -> list[Episode]:
        """One generation: every member plays every task, `children` times; member by member.

        Environments have the same seeds for all members; sampling seeds are shared too, or each episode's own.
        """
        seed, shares = self._config.seed, self._config.seeds == "common"
        repeats = self._config.evolution_strategy.children
        assignments: list[Assignment] = []
        for member in members:
            for task in tasks:
                for repeat in range(repeats):
                    name = (TRAIN, generation, task.name, repeat)
                    own = () if shares else (member.identity,)
                    assignments.append(
                        Assignment(
                            f"{generation}.{TRAIN}.{task.name}.{repeat}.{member.identity}",
                            task,
                            seed_of(seed, "episode", *name),
                            seed_of(seed, "answers", *name, *own),
                            member,
                            is_kept=self._is_kept(len(assignments)),
                        )
                    )
        return self._played(generation, TRAIN, assignments)

    def measure(self, generation: int, split: str, tasks: Sequence[Task], label: str = "") -> list[Episode]:
        """The unperturbed model plays every task of a split; its seeds are the same at every measurement.

        Args:
            generation: After which the measurement is made; 0 before the first.
            split: Name of the split.
            tasks: Its tasks.
            label: Tells apart measurements of a split after the same generation.
        """
        seed = self._config.seed
        assignments: list[Assignment] = []
        for task in tasks:
            for repeat in range(self._config.repeats):
                name = (split, task.name, repeat)
                assignments.append(
                    Assignment(
                        f"{generation}{label}.{split}.{task.name}.{repeat}",
                        task,
                        seed_of(seed, "episode", *name),
                        seed_of(seed, "answers", *name),
                        is_kept=self._is_kept(len(assignments)),
                    )
                )
        return self._played(generation, f"{split}{label}", assignments)

    def _is_kept(self, place: int) -> bool:
        return self._config.skill_every is not None or place < self._config.transcripts

    def _played(self, generation: int, purpose: str, assignments: Sequence[Assignment]) -> list[Episode]:
        """Charge and play a batch; episodes in the order of the assignments."""
        self._log.emit("playing", generation=generation, purpose=purpose, episodes=len(assignments))
        return self._recorder.played(self._rollouts.play, assignments)

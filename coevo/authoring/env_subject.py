"""An environment under check, loaded in this process: what the checks that run its code share, each part made once."""

import json
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from coevo.authoring.env_answers import Answerer, echoing
from coevo.authoring.env_playing import Player, Story, Watch
from coevo.environments.contract import BrokenContractError
from coevo.environments.loading import EnvironmentFolder
from coevo.interfaces import EnvironmentModule, Task

Play = tuple[Task, int, Answerer]
"""Task, seed and agent of an episode."""
TURNS = 12
"""Most turns of a play that is compared."""
SEEDS = (7, 2**63 - 1)
"""Of the episodes that are played; seeds may be large."""
LOADING_S = 300.0
"""Wall time that reading the tasks of a split may take."""


def unguarded(what: str, limit_s: float) -> nullcontext[None]:
    """A `Watch` for code that is trusted to come back."""
    return nullcontext()


@dataclass
class EnvironmentSubject:
    """An environment folder whose code runs in this process.

    Args:
        folder: The folder.
        options: Every option by name.
        watch: Guards each call of its code.
    """

    folder: EnvironmentFolder
    options: Mapping[str, Any]
    watch: Watch = unguarded

    @cached_property
    def module(self) -> EnvironmentModule:
        """Its `environment.py`."""
        with self.watch("the import of environment.py", LOADING_S):
            return self.folder.load()

    @cached_property
    def splits(self) -> dict[str, list[Task]]:
        """All tasks, by split."""
        return {split: self.read(split) for split in self.folder.spec.splits}

    @cached_property
    def examples(self) -> list[Task]:
        """A few tasks to play: the first two of `train` and the first of each other split."""
        others = [tasks[0] for split, tasks in self.splits.items() if split != "train"]
        return [*self.splits["train"][:2], *others]

    @property
    def pair(self) -> list[Play]:
        """Two plays that differ in their tasks and seeds."""
        return [(task, seed, echoing) for task, seed in zip(self.examples[:2], SEEDS, strict=True)]

    def alone(self, play: Play) -> Story:
        """A play in an environment of its own, for `TURNS` turns at most."""
        with self.player() as player:
            return player.play(*play, TURNS)

    def read(self, split: str) -> list[Task]:
        """The tasks of a split, asked anew."""
        with self.watch(f"tasks({split!r})", LOADING_S):
            return list(self.module.tasks(split, **self.options))

    @contextmanager
    def player(self) -> Iterator[Player]:
        """A new environment under supervision, closed in the end."""
        with self.watch("open", LOADING_S):
            environment = self.module.open(**self.options)
        if missing := [name for name in ("reset", "step", "close") if not callable(getattr(environment, name, None))]:
            raise BrokenContractError(f"what open returns has no {', '.join(missing)}")
        player = Player(environment, self.folder, self.watch)
        try:
            yield player
        finally:
            if not player.is_closed:
                player.close()


def content(task: Task) -> str:
    """A task's data as one text; equal only for equal data."""
    return json.dumps(task.data, sort_keys=True)

"""Agents measured without training: every task of a split is played K times with the unperturbed weights."""

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from typing import Any

from coevo import __version__
from coevo.environments.loading import find_environment
from coevo.interfaces import Engine, Task
from coevo.learning.models import OpenModel, renderer_of_model
from coevo.learning.paying import keep_accounts
from coevo.learning.seeds import seed_of
from coevo.records.environment import describe_environment
from coevo.records.event_log import SCHEMA_VERSION, EventLog, Listener
from coevo.records.run_directory import RunDirectory
from coevo.records.run_kind import EVAL_AGENT
from coevo.tuning.assemble import Arena, open_arena
from coevo.tuning.episodes import Assignment
from coevo.tuning.eval_config import EvalConfig, PlayConfig
from coevo.tuning.playing import Rollouts
from coevo.tuning.prompting import Prompter, check_renderer
from coevo.tuning.recording import Recorder
from coevo.tuning.scores import score_of
from coevo.tuning.subjects import Subject, open_subject

_APART = "eval"
"""In the name of every seed: episodes that measure share none with those that trained or chose the weights."""


@dataclass(frozen=True, slots=True)
class Ground:
    """What a job plays on: an environment, its tasks by split, and where it is recorded."""

    arena: Arena
    tasks: Mapping[str, Sequence[Task]]
    directory: RunDirectory
    log: EventLog
    recorder: Recorder

    @contextmanager
    def rollouts(self, engine: Engine, prompter: Prompter) -> Iterator[Rollouts]:
        """Somebody who plays with an engine, and leaves no environment open."""
        rollouts = Rollouts(engine, self.arena.open, self.arena.rules, prompter)
        try:
            yield rollouts
        finally:
            rollouts.close()


@contextmanager
def ground_of(
    config: PlayConfig,
    splits: Sequence[str],
    open_directory: Callable[[], RunDirectory],
    listeners: tuple[Listener, ...],
) -> Iterator[Ground]:
    """The environment made ready and, last of all, the run directory opened.

    Raises:
        CoevoError: If something cannot be had; nothing has been written then.
    """
    arena = open_arena(config.env, config.options, splits, config.answers, config.fault_retries)
    check_renderer(renderer_of_model(config.choice(moves=False)), config.model, arena.folder.spec.name)
    tasks = {split: tuple(found[: config.tasks]) for split, found in arena.tasks.items()}
    with ExitStack() as stack:
        directory = open_directory()
        log = stack.enter_context(directory.open_log(time.time, listeners))
        yield Ground(arena, tasks, directory, log, Recorder(log))


def opening(ground: Ground, experiment: str) -> dict[str, Any]:
    """What a job must find unchanged when it is resumed, and what its numbers rest on."""
    spec = ground.arena.folder.spec
    return {
        "schema_version": SCHEMA_VERSION,
        "version": __version__,
        "experiment": experiment,
        "env": spec.name,
        "at_best": spec.at_best,
        "content": ground.arena.digest,
        "tasks": {split: len(tasks) for split, tasks in ground.tasks.items()},
    }


@contextmanager
def evaluation(
    config: EvalConfig, open_directory: Callable[[], RunDirectory], listeners: tuple[Listener, ...] = ()
) -> Iterator[tuple[Ground, Callable[[], None]]]:
    """An evaluation ready to begin: its ground, and what plays it.

    What plays raises `CapReachedError` where the next message might exceed a cap.

    Raises:
        CoevoError: If something cannot be had; nothing has been written then.
    """
    find_environment(config.env)  # before a model is loaded for it
    subjects = config.subjects()
    with ExitStack() as stack:
        first = open_subject(subjects[0])
        stack.callback(first.engine.close)
        first.engine.fingerprint()  # a model that cannot be served shows now
        ground = stack.enter_context(ground_of(config, config.splits, open_directory, listeners))
        ground.directory.save_environment({**describe_environment(), "model": config.model})
        keep_accounts(config.allowance, ground.log, first.engine)

        def play() -> None:
            ground.log.emit("started", **opening(ground, EVAL_AGENT))
            for place, subject in enumerate(subjects):
                model = open_subject(subject) if place else first
                try:
                    _measure(ground, config, place, subject, model)
                finally:
                    model.engine.close()
            ground.log.emit("finished", status="done")

        yield ground, play


def assignments_of(
    config: PlayConfig, split: str, tasks: Sequence[Task], prefix: str, *, kept: int = 0
) -> list[Assignment]:
    """Every task K times with the unperturbed model; the same seeds for all weights that are measured.

    Args:
        config: Seed and K.
        split: Name of the tasks' split.
        tasks: What is played.
        prefix: Begins every id.
        kept: Episodes whose conversation is recorded, from the first one on.
    """
    found: list[Assignment] = []
    for task in tasks:
        for repeat in range(config.repeats):
            name = (_APART, split, task.name, repeat)
            episode, answers = seed_of(config.seed, "episode", *name), seed_of(config.seed, "answers", *name)
            label = f"{prefix}.{split}.{task.name}.{repeat}"
            found.append(Assignment(label, task, episode, answers, is_kept=len(found) < kept))
    return found


def _measure(ground: Ground, config: EvalConfig, place: int, subject: Subject, model: OpenModel) -> None:
    """One subject on every split."""
    ground.log.emit(
        "subject",
        place=place,
        run=None if subject.run is None else str(subject.run),
        generation=subject.generation,
        seed=subject.seed,
        skill=subject.skill,
        fingerprint=f"{model.engine.fingerprint():016x}",
    )
    with ground.rollouts(model.engine, Prompter(model.renderer, subject.skill)) as rollouts:
        for split in config.splits:
            assignments = assignments_of(config, split, ground.tasks[split], str(place), kept=config.transcripts)
            ground.log.emit("playing", subject=place, split=split, episodes=len(assignments))
            episodes = ground.recorder.played(rollouts.play, assignments)
            score = score_of(episodes, at_best=ground.arena.folder.spec.at_best)
            ground.log.emit("measured", subject=place, split=split, **score.facts())

"""From a configuration to the parts of a tuning run: pure wiring, no decisions of the method."""

import hashlib
import json
import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from coevo.environments.contract import shown
from coevo.environments.loading import EnvironmentFolder, find_environment, read_options
from coevo.environments.spec import EpisodeLimits
from coevo.environments.texts import encodable
from coevo.errors import CoevoError, ConfigError, EnvironmentFault
from coevo.es.record import WeightRecipe
from coevo.es.strategy import EvolutionStrategy
from coevo.interfaces import Engine, Environment, EnvironmentModule, Sampling, Task
from coevo.learning.asking import Asker
from coevo.learning.models import OpenModel, open_model, renderer_of_model
from coevo.learning.seeds import seed_of
from coevo.learning.stepping import Course, Stepper
from coevo.learning.stopping import Limits, StopRule
from coevo.records.event_log import EventLog, Listener
from coevo.records.run_directory import RunDirectory
from coevo.tuning.config import TRAIN, VAL, AnswerSettings, TuneConfig
from coevo.tuning.field import Field
from coevo.tuning.hands import Answer, answer_in_time
from coevo.tuning.learner import Evolution, Learner
from coevo.tuning.loop import Tuning
from coevo.tuning.playing import Rollouts, Rules
from coevo.tuning.prompting import Prompter, check_renderer
from coevo.tuning.teaching import Coach

if TYPE_CHECKING:
    from coevo.tuning.baselines.opening import Baseline

READING_S = 600.0
"""How long an environment may take to list the tasks of a split."""


@dataclass(frozen=True, slots=True)
class Arena:
    """An environment made ready: its tasks by split, how it is opened, and the rules of its episodes."""

    folder: EnvironmentFolder
    module: EnvironmentModule
    options: dict[str, Any]
    tasks: Mapping[str, Sequence[Task]]
    rules: Rules

    def open(self) -> Environment:
        """A new environment."""
        return self.module.open(**self.options)

    @property
    def digest(self) -> str:
        """Hash of what an episode depends on beside the model: the folder's files and the tasks."""
        digest = hashlib.blake2b(digest_size=8)
        for file in sorted(self.folder.path.rglob("*")):
            if file.suffix in (".py", ".toml", ".md", ".js"):
                digest.update(hashlib.sha256(file.read_bytes()).digest())
        for split, tasks in self.tasks.items():
            digest.update(json.dumps([split, [[t.name, t.data] for t in tasks]], default=str).encode())
        return digest.hexdigest()


@dataclass(frozen=True, slots=True)
class Assembled:
    """A tuning run ready to begin.

    Attributes:
        play_with: Gives the same field with another engine.
        baseline: What learns by a policy gradient, or None with evolution strategies.
    """

    tuning: Tuning
    arena: Arena
    model: OpenModel
    directory: RunDirectory
    play_with: Callable[[Engine], Field]
    baseline: "Baseline | None" = None


def open_arena(
    env: str, options: Mapping[str, Any], splits: Sequence[str], answers: AnswerSettings, retries: int
) -> Arena:
    """Make an environment ready and read the tasks of these splits.

    Raises:
        CoevoError: If there is no such environment, split or option, something it needs is not there, or its tasks
            are not as they should be.
    """
    folder = find_environment(env)
    if unknown := [split for split in splits if split not in folder.spec.splits]:
        raise ConfigError(f"expected splits among {', '.join(folder.spec.splits)}, got {unknown[0]!r}")
    given = read_options(folder.spec, {name: str(value) for name, value in options.items()})
    folder.require()
    module = folder.load()
    tasks = {split: _tasks(folder, module, split, given) for split in splits}
    arena = Arena(folder, module, given, tasks, _rules(folder, answers, retries))
    _check_opens(arena)
    return arena


@dataclass(frozen=True, slots=True)
class Ready:
    """What is there before a model is loaded: the environment, and the tasks by split that a run plays."""

    arena: Arena
    tasks: Mapping[str, Sequence[Task]]


def ready(config: TuneConfig) -> Ready:
    """The environment of a run, once it is known that model and environment go together; no model is loaded.

    Raises:
        CoevoError: As `open_arena`, and where there are too few tasks or the model does not suit the environment.
    """
    splits = tuple(dict.fromkeys((TRAIN, VAL, *config.splits)))
    arena = open_arena(config.env, config.options, splits, config.answers, config.fault_retries)
    tasks = dict(arena.tasks)
    if len(tasks[TRAIN]) < config.tasks:
        raise ConfigError(
            f"expected {config.tasks} training tasks or more, got {len(tasks[TRAIN])} of {config.env}; lower --tasks"
        )
    if config.val_tasks is not None:
        tasks[VAL] = tasks[VAL][: config.val_tasks]
    renderer = renderer_of_model(config.choice)
    check_renderer(renderer, config.model, arena.folder.spec.name)
    if config.skill_every is not None and renderer == "board":
        raise ConfigError(f"{config.model} reads boards and no words, so a skill has no effect; drop --skill-every")
    return Ready(arena, tasks)


@contextmanager
def assembled_tuning(
    config: TuneConfig, open_directory: Callable[[], RunDirectory], listeners: tuple[Listener, ...] = ()
) -> Iterator[Assembled]:
    """The parts of a run; everything is stopped and flushed on the way out.

    The run directory is opened last, so that bad input of any kind leaves nothing on disk.

    Raises:
        CoevoError: If a part cannot be had.
    """
    found = ready(config)
    arena = found.arena
    with ExitStack() as stack:
        baseline = _baseline(config, arena.rules.sampling)
        model = baseline.model if baseline else open_model(config.choice)
        stack.callback(model.engine.close)
        model.engine.fingerprint()  # a model that cannot be served shows now
        EvolutionStrategy(config.evolution_strategy, 0, basis=model.basis)  # and so do settings that do not suit it
        directory = open_directory()
        log = stack.enter_context(directory.open_log(time.time, listeners))

        def play_with(engine: Engine) -> Field:
            return Field(config, _rollouts(engine, arena, rollouts.prompter, stack), log)

        rollouts = _rollouts(model.engine, arena, Prompter(model.renderer), stack)
        tuning = Tuning(
            config=config,
            tasks=found.tasks,
            at_best=arena.folder.spec.at_best,
            rollouts=rollouts,
            field=Field(config, rollouts, log),
            learner=_learner(config, model, log, directory)
            if baseline is None
            else _of(baseline, log, directory, stack),
            coach=Coach(config, arena.folder.spec.name, Asker(model.engine, log), log, directory),
            log=log,
            stop=StopRule(
                Limits(None if config.target is None else -config.target, config.patience, config.max_hours),
                time.monotonic,
                log.recorded,
            ),
        )
        yield Assembled(tuning, arena, model, directory, play_with, baseline)


def _rollouts(engine: Engine, arena: Arena, prompter: Prompter, stack: ExitStack) -> Rollouts:
    rollouts = Rollouts(engine, arena.open, arena.rules, prompter)
    stack.callback(rollouts.close)
    return rollouts


def _learner(config: TuneConfig, model: OpenModel, log: EventLog, directory: RunDirectory) -> Learner:
    recipe = WeightRecipe(config.weights.scope, model.storage, config.weights.update_rule, model.basis)
    course = Course(config.evolution_strategy, recipe, seed_of(config.seed, "noise"), config.generations, config.learns)
    return Evolution(Stepper(course, model, log, directory))


def _baseline(config: TuneConfig, sampling: Sampling) -> "Baseline | None":
    """What learns by a policy gradient, where that is the method; torch is loaded then, and not otherwise."""
    if config.method == "es":
        return None
    from coevo.tuning.baselines.opening import Baseline

    return Baseline(config, sampling)


def _of(baseline: "Baseline", log: EventLog, directory: RunDirectory, stack: ExitStack) -> Learner:
    learner = baseline.learner(log, directory.path)
    stack.callback(learner.close)
    return learner


def _rules(folder: EnvironmentFolder, answers: AnswerSettings, retries: int) -> Rules:
    """The environment's own limits and sampling, but for what the user says."""
    given = {key: value for key, value in answers.model_dump().items() if value is not None}
    spec = folder.spec
    limits = EpisodeLimits.model_validate(spec.limits.model_dump() | _only(given, EpisodeLimits.model_fields))
    own = spec.sampling.model_dump() | _only(given, type(spec.sampling).model_fields)
    return Rules(limits, Sampling(max_tokens=limits.turn_tokens, **own), spec.conversation == "renewed", retries)


def _only(values: Mapping[str, Any], names: Mapping[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in values.items() if name in names}


def _check_opens(arena: Arena) -> None:
    """Open an environment once: what is not there shows now, and not as a fault of every episode."""
    name = arena.folder.spec.name
    opened = answer_in_time(arena.open, arena.rules.limits.step_s)
    if isinstance(opened.error, EnvironmentFault):
        raise ConfigError(f"expected {name} to open here, got: {opened.error}") from opened.error
    environment = _returned(opened, arena.folder, "open")
    if not isinstance(environment, Environment):
        raise ConfigError(
            f"expected open of {arena.folder.path} to return an environment with reset, step and close, got "
            f"{shown(environment)}; coevo env check {arena.folder.path} tells more"
        )
    _returned(answer_in_time(environment.close, arena.rules.limits.step_s), arena.folder, "close")


def _tasks(
    folder: EnvironmentFolder, module: EnvironmentModule, split: str, options: dict[str, Any]
) -> tuple[Task, ...]:
    said = answer_in_time(lambda: tuple(module.tasks(split, **options)), READING_S)
    tasks: tuple[Task, ...] = _returned(said, folder, f"tasks({split!r})")
    _check_tasks(folder.spec.name, split, tasks)
    return tasks


def _returned(answer: Answer, folder: EnvironmentFolder, what: str) -> Any:
    """What a call of an environment's code returned; whatever else came of it is said in one line."""
    error = answer.error
    if isinstance(error, CoevoError):
        raise error
    if error is not None:
        raise ConfigError(
            f"expected {what} of {folder.path} to return, got {type(error).__name__}: {error}; "
            f"coevo env check {folder.path} tells more"
        ) from (error if isinstance(error, Exception) else None)
    return answer.value


def _check_tasks(environment: str, split: str, tasks: Sequence[Task]) -> None:
    """Refuse a split without tasks, or with two of a name: their episodes could not be told apart."""
    if not tasks:
        raise ConfigError(f"expected tasks in the split {split} of {environment}, got none; check its options")
    for task in tasks:
        if not isinstance(task, Task) or not isinstance(task.name, str) or encodable(task.name) != task.name:
            raise ConfigError(
                f"expected tasks with names that are text in the split {split} of {environment}, got {shown(task)}"
            )
    name, count = Counter(task.name for task in tasks).most_common(1)[0]
    if count > 1:
        raise ConfigError(f"expected names of their own for the tasks of {environment}, {split}: {count} are {name!r}")

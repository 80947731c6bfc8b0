"""What a tuning run would do, and the checks made before it starts: no model is loaded, nothing is written."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from coevo.engines.guiding import load_guide
from coevo.engines.loading import inspect_folder, resolve_model
from coevo.es.strategy import EvolutionStrategy
from coevo.tuning.assemble import ready
from coevo.tuning.config import VAL, TuneConfig


def preview(config: TuneConfig) -> dict[str, Any]:
    """The plan of a run: what plays where, how its weights move, how many episodes that takes.

    Counts are of a run that no stop rule ends; `episodes` are those of training, `episodes_to_measure` the others.

    Raises:
        CoevoError: For all that a run refuses before it starts, but for a model that cannot be loaded.
    """
    found = ready(config)
    _check_model(config)
    limits, sampling = found.arena.rules.limits, found.arena.rules.sampling
    return {
        "env": config.env,
        "options": dict(found.arena.options),
        "model": config.model,
        "engine": "torch" if config.engine == "auto" else config.engine,
        "method": config.method,
        "seed": config.seed,
        "generations": config.generations,
        "tasks": config.tasks,
        **_movement(config),
        "turns": limits.turns,
        "turn_tokens": limits.turn_tokens,
        "temperature": sampling.temperature,
        "episodes_of_a_generation": config.episodes // config.generations,
        "episodes": config.episodes,
        "splits": {split: len(tasks) for split, tasks in found.tasks.items()},
        "measurements": _measurements(config),
        "episodes_to_measure": _measuring(config, found.tasks),
        "skill_updates": skill_updates(config),
    }


def skill_updates(config: TuneConfig) -> int:
    """Updates of the skill that the plan holds: none after the last generation, which no prompt would follow."""
    return 0 if config.skill_every is None else (config.generations - 1) // config.skill_every


def skill_warnings(config: TuneConfig) -> tuple[str, ...]:
    """A sentence where a skill is wished for and the plan holds no update of it."""
    if config.skill_every is None or skill_updates(config):
        return ()
    return (
        f"no update of the skill falls into this run of {config.generations} "
        f"generation{'' if config.generations == 1 else 's'}: it comes after generation {config.skill_every}, if "
        "another follows; raise --generations, or lower or drop --skill-every",
    )


def _check_model(config: TuneConfig) -> None:
    """What can be told of a model by its files."""
    if config.engine == "scripted":
        from coevo.engines.scripted import ScriptedEngine

        ScriptedEngine.from_file(Path(config.model))
    else:
        guide = load_guide(config.weights, inspect_folder(resolve_model(config.model)))
        EvolutionStrategy(config.evolution_strategy, 0, basis=guide.identity if guide else 0)


def _movement(config: TuneConfig) -> dict[str, Any]:
    """Numbers of the method: a baseline takes `members` and `children` alone, as numbers of rollouts."""
    strategy = config.evolution_strategy
    sizes = {"members": strategy.members, "children": strategy.children}
    if config.method != "es":
        return {**sizes, "lr": config.baseline.lr}
    return {
        **sizes,
        "sigma": strategy.sigma,
        "sigma_end": strategy.sigma_end,
        "schedule": strategy.schedule,
        "alpha": strategy.alpha,
        "alpha_rule": strategy.alpha_rule,
    }


def _measurements(config: TuneConfig) -> int:
    return config.generations // config.every + 1 + (config.generations % config.every > 0)


def _measuring(config: TuneConfig, tasks: Mapping[str, Any]) -> int:
    """Episodes of measurements: every split that is only reported is played by the first and by the chosen weights."""
    reported = 2 * sum(len(tasks[split]) for split in config.splits)
    return config.repeats * (_measurements(config) * len(tasks[VAL]) + reported)

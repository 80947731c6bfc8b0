"""Every check in its order, with the real machine put in."""

import os
import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import coevo
from coevo.engines.inspection import inspect_model
from coevo.engines.loading import inspect_folder, resolve_model
from coevo.experiments.doctor import (
    asking,
    canary,
    containment,
    disk,
    gpu,
    judging,
    kernels,
    memory,
    packages,
    playing,
    processor,
    server,
)
from coevo.experiments.doctor.asked import Asked
from coevo.experiments.doctor.cgroups import ControlGroups
from coevo.experiments.doctor.finding import Finding, failed
from coevo.experiments.doctor.subject import Subject
from coevo.kernel_cache import kernel_folder
from coevo.tuning.assemble import open_arena

_READ_BYTES_PER_S = 30e6
"""A slow disk: what a large model's weights may take to be read, on top of an engine's start."""


@dataclass(frozen=True, slots=True)
class Check:
    """One check.

    Attributes:
        name: Unique among all; that of its finding.
        run: The check; whatever it raises is a failure on one line.
        limit_s: What it may take on the clock. Generous, because a busy machine is no sick one.
        applies: Whether it says anything about a run.
        needs: A check without which this one says nothing.
        reads_weights: Whether the time to read the model comes on top of the limit.
    """

    name: str
    run: Callable[[Subject], Finding]
    limit_s: float
    applies: Callable[[Asked], bool] = lambda _: True
    needs: str = ""
    reads_weights: bool = False


def allowed_s(check: Check, asked: Asked) -> float:
    """What a check may take for a run."""
    if not check.reads_weights or not asked.holds_weights:
        return check.limit_s
    files = resolve_model(asked.choice.model).glob("*.safetensors")
    return check.limit_s + sum(file.stat().st_size for file in files) / _READ_BYTES_PER_S


def _packages(_: Subject) -> Finding:
    return packages.python_packages(packages.requirements())


def _extras(_: Subject) -> Finding:
    return packages.extras(packages.requirements())


def _wants_vllm(asked: Asked) -> bool:
    from coevo.engines.vllm.engine import INTERPRETER

    return asked.choice.engine == "vllm" or bool(os.environ.get(INTERPRETER))


def _vllm(subject: Subject) -> Finding:
    from coevo.engines.vllm.engine import INTERPRETER, interpreter

    is_wanted = subject.asked.choice.engine == "vllm"
    # Without the variable vLLM would be beside coevo; with a wrong one, asking it says so.
    named = os.environ.get(INTERPRETER) or interpreter()
    return packages.vllm(named, is_wanted=is_wanted)


def _processor(subject: Subject) -> Finding:
    return processor.processor(len(os.sched_getaffinity(0)), ControlGroups().cores(), subject.asked.choice.workers)


def _gpu(subject: Subject) -> Finding:
    return gpu.gpu(subject.accelerators)


def _memory(subject: Subject) -> Finding:
    asked = subject.asked
    room = memory.Room(memory.host_bytes(bound=ControlGroups().free_bytes()))
    judges = 0 if asked.search is None else asked.search.workers
    if not asked.holds_weights:
        return memory.frozen_memory(judges, room)
    settings, weights = asked.strategy, asked.choice.weights
    folder = inspect_folder(resolve_model(asked.choice.model))
    facts = inspect_model(folder, scope=weights.scope, sigma=settings.sigma, subspaces=settings.subspaces)
    gpus = subject.accelerators.gpus
    return memory.memory(memory.copies_of(facts, asked.choice, gpus), judges, memory.Room(room.host, gpus))


def _disk(subject: Subject) -> Finding:
    asked = subject.asked
    if asked.search is not None:
        return disk.disk(asked.runs_dir, disk.search_bytes(asked.search))
    assert asked.tuning is not None
    assert asked.environment is not None
    limits = asked.environment.spec.limits
    return disk.disk(asked.runs_dir, disk.tuning_bytes(asked.tuning, limits.turns, limits.turn_tokens))


def _kernels(subject: Subject) -> Finding:
    noise = Path(coevo.__file__).parent / "noise"
    folders = {"noise": kernel_folder("noise", noise.glob("*.py"), with_package=True)}
    if subject.asked.problem is not None:
        folders[subject.asked.problem.spec.name] = subject.asked.problem.kernel_cache()
    return kernels.kernels(folders)


def _sandbox(subject: Subject) -> Finding:
    with tempfile.TemporaryDirectory() as folder:
        found = containment.real_sandbox(Path(folder))
    return containment.for_tools_alone(found) if subject.asked.problem is None else found


def _server(subject: Subject) -> Finding:
    return server.server(subject.asked.choice.model, os.environ)


def _engine(subject: Subject) -> Finding:
    return asking.engine(subject.engine, subject.request)


def _es(subject: Subject) -> Finding:
    asked = subject.asked
    folder, policy, sigma = resolve_model(asked.choice.model), asked.choice.weights, asked.strategy.sigma
    free = memory.host_bytes(bound=ControlGroups().free_bytes())
    has_room = canary.needs_bytes(folder, policy) < memory.TIGHT * free
    replayed = canary.track(folder, policy, canary.canary_update(sigma)) if has_room else None
    return canary.es(subject.engine, subject.request, sigma, replayed, subject.open_engine)


def _problem(subject: Subject) -> Finding:
    assert subject.asked.problem is not None
    return judging.real_problem(subject.asked.problem)


def _environment(subject: Subject) -> Finding:
    folder, config = subject.asked.environment, subject.asked.tuning
    assert folder is not None
    assert config is not None
    if finding := playing.needs(folder.spec.name, folder.missing()):
        return finding
    arena = open_arena(config.env, config.options, ("train", "val"), config.answers, 0)
    if len(arena.tasks["train"]) < config.tasks:
        there_are = f"{len(arena.tasks['train'])} training tasks, {config.tasks} wanted"
        return failed(playing.NAME, f"{folder.spec.name}: {there_are}", "lower --tasks, or name larger data")
    return playing.environment(folder.spec.name, arena.open, arena.tasks["train"][0])


CHECKS = (
    Check("packages", _packages, 60),
    Check("vllm", _vllm, 90, _wants_vllm),
    Check("extras", _extras, 60),
    Check("processor", _processor, 60),
    Check("gpu", _gpu, 240),
    Check("memory", _memory, 300),
    Check("disk", _disk, 60),
    Check("kernels", _kernels, 60),
    Check("sandbox", _sandbox, 600),
    Check("problem", _problem, 900, lambda asked: asked.problem is not None, needs="sandbox"),
    Check("environment", _environment, 300, lambda asked: asked.environment is not None),
    Check("server", _server, 120, lambda asked: asked.choice.is_endpoint),
    Check("engine", _engine, 600, needs="server", reads_weights=True),
    Check("es", _es, 900, lambda asked: asked.moves, needs="engine", reads_weights=True),
)
"""In the order in which they are run: what is known at once first."""

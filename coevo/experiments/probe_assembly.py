"""From a configuration to the parts of a probe: pure wiring, no decisions of the method."""

import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, ExitStack, contextmanager
from dataclasses import dataclass

from coevo.content import ProblemFolder, find_problem
from coevo.es.strategy import EvolutionStrategy
from coevo.evaluation import EvaluationPool
from coevo.evaluation.opening import open_pool
from coevo.evolution.operators import load_operators
from coevo.evolution.renderers import renderer_named
from coevo.experiments.probe import Probe
from coevo.experiments.probe_config import OPERATORS, ProbeConfig
from coevo.experiments.probe_learning import ESTraining, Training
from coevo.experiments.probe_parents import read_parents
from coevo.interfaces import Engine
from coevo.learning.asking import Asker
from coevo.learning.models import OpenModel
from coevo.records.event_log import EventLog, Listener
from coevo.records.run_directory import RunDirectory
from coevo.searching.assemble import check_baselines, check_heuristics
from coevo.searching.breeding import Breeder
from coevo.searching.config import SearchConfig
from coevo.searching.examiner import Examiner
from coevo.searching.models import start_model


def own_pool(config: ProbeConfig, problem: ProblemFolder) -> AbstractContextManager[EvaluationPool]:
    """An evaluation pool for one probe."""
    return open_pool(problem, workers=config.workers, unsafe=config.unsafe_no_sandbox, ray=config.ray)


@dataclass(frozen=True, slots=True)
class Tools:
    """Where the parts of a probe come from; a study shares some between its probes, or puts others in their place.

    Attributes:
        model: Starts the model that writes; its engine is closed at the end of the probe.
        pool: Opens the evaluation pool.
        training: Makes what moves the weights.
    """

    model: Callable[[SearchConfig, ProblemFolder], OpenModel] = start_model
    pool: Callable[[ProbeConfig, ProblemFolder], AbstractContextManager[EvaluationPool]] = own_pool
    training: Callable[[ProbeConfig, OpenModel, EventLog, RunDirectory], Training] = ESTraining


OWN_TOOLS = Tools()


@dataclass(frozen=True, slots=True)
class AssembledProbe:
    """A probe and what stands around it."""

    probe: Probe
    problem: ProblemFolder
    directory: RunDirectory
    engine: Engine


@contextmanager
def assembled_probe(
    config: ProbeConfig,
    open_directory: Callable[[], RunDirectory],
    listeners: tuple[Listener, ...] = (),
    tools: Tools = OWN_TOOLS,
) -> Iterator[AssembledProbe]:
    """The parts of a probe; everything is stopped and flushed on the way out.

    The run directory is opened last, so that bad input of any kind leaves nothing on disk.

    Raises:
        CoevoError: If a part cannot be had; nothing has been asked or charged then.
    """
    problem = find_problem(config.problem)
    operators = load_operators(("i1", *OPERATORS))
    own = read_parents(config.parents, problem)
    with ExitStack() as stack:
        model = tools.model(config.as_search(), problem)
        stack.callback(model.engine.close)
        pool = stack.enter_context(tools.pool(config, problem))
        model.engine.fingerprint()  # a model that cannot be served shows now
        EvolutionStrategy(config.evolution_strategy, 0, basis=model.basis)  # and so do settings that do not suit it
        check_baselines(problem, pool)
        named = {f"--parents {file}": parent for file, parent in zip(config.parents, own, strict=True)}
        check_heuristics(problem, pool, model.renderer, named)
        directory = open_directory()
        log = stack.enter_context(directory.open_log(time.time, listeners))
        examiner = Examiner(pool, log, directory)
        breeder = Breeder(problem, Asker(model.engine, log), renderer_named(model.renderer), log, examiner)
        training = tools.training(config, model, log, directory)
        probe = Probe(config, operators, breeder, examiner, training, log, own)
        yield AssembledProbe(probe, problem, directory, model.engine)

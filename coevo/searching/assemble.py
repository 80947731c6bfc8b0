"""From a configuration to the parts of a search: pure wiring, no decisions of the method."""

import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from pathlib import Path

from coevo.candidate import Candidate
from coevo.content import ProblemFolder, find_problem
from coevo.errors import ConfigError, ContentError
from coevo.es.strategy import EvolutionStrategy
from coevo.evaluation import EvaluationPool
from coevo.evaluation.opening import open_pool
from coevo.evolution.operators import Operator, evolving
from coevo.evolution.renderers import RendererName, renderer_named, unreadable
from coevo.learning.asking import Asker
from coevo.learning.paying import keep_accounts
from coevo.learning.stopping import Limits, StopRule
from coevo.records.event_log import Listener
from coevo.records.run_directory import RunDirectory
from coevo.searching.analysts import analyst_of, check_analyst, start_mentor
from coevo.searching.breeding import Breeder
from coevo.searching.config import SearchConfig
from coevo.searching.examiner import Examiner
from coevo.searching.finish import reference_means, textbook_algorithms
from coevo.searching.learning import Learner
from coevo.searching.loop import Search
from coevo.searching.methods import operators_of
from coevo.searching.models import renderer_of, start_model
from coevo.searching.plan import plan
from coevo.searching.teaching import Teacher
from coevo.skills import load_prompts


@contextmanager
def assembled(
    config: SearchConfig, open_directory: Callable[[], RunDirectory], listeners: tuple[Listener, ...] = ()
) -> Iterator[tuple[Search, RunDirectory]]:
    """The parts of a search; everything is stopped and flushed on the way out.

    The run directory is opened last, so that bad input of any kind leaves nothing on disk.

    Raises:
        CoevoError: If a part cannot be had; nothing has been asked or charged then.
    """
    problem = find_problem(config.problem)
    check_splits(config, problem)
    operators = operators_of(config)
    start = tuple(read_heuristic(Path(file), problem) for file in config.start)
    the_plan = plan(config, evolving(operators))
    check_skill(config, operators)
    with ExitStack() as stack:
        model = start_model(config, problem)
        stack.callback(model.engine.close)
        mentor = start_mentor(config, problem, model, stack)
        pool = stack.enter_context(
            open_pool(problem, workers=config.workers, unsafe=config.unsafe_no_sandbox, ray=config.ray)
        )
        model.engine.fingerprint()  # a model that cannot be served shows now
        EvolutionStrategy(config.evolution_strategy, 0, basis=model.basis)  # and so do settings that do not suit it
        check_baselines(problem, pool)
        own = {f"--start file {number}": candidate for number, candidate in enumerate(start, 1)}
        check_heuristics(problem, pool, model.renderer, own)
        references = reference_means(problem, list(problem.spec.splits))
        textbook_algorithms(problem)
        directory = open_directory()
        log = stack.enter_context(directory.open_log(time.time, listeners))
        keep_accounts(config.allowance, log, model.engine, mentor)
        examiner = Examiner(pool, log, directory)
        analyst = analyst_of(config, problem.description, mentor, log)
        yield (
            Search(
                config=config,
                problem=problem,
                plan=the_plan,
                operators=operators,
                breeder=Breeder(problem, Asker(model.engine, log), renderer_named(model.renderer), log, examiner),
                examiner=examiner,
                learner=Learner(config, len(the_plan.generations), model, log, directory),
                mentor=mentor,
                teacher=Teacher(config, problem.spec.name, analyst, log, directory),
                log=log,
                stop=StopRule(limits_of(config, problem.sign()), time.monotonic, log.recorded),
                start=start,
                references=references,
            ),
            directory,
        )


def limits_of(config: SearchConfig, sign: float) -> Limits:
    """What ends a search early, as costs; `sign` is +1 if the problem's objective is minimised, −1 if maximised."""
    target = None if config.target is None else sign * config.target
    return Limits(target, config.patience, config.max_hours)


def check_splits(config: SearchConfig, problem: ProblemFolder) -> None:
    """Refuse splits that the problem does not have.

    Raises:
        ConfigError: Naming the split and those there are.
    """
    for split in config.splits:
        if split not in problem.spec.splits:
            raise ConfigError(f"expected splits among {', '.join(problem.spec.splits)}, got {split!r}")


def check_skill(config: SearchConfig, operators: Mapping[str, Operator]) -> None:
    """Refuse a skill that could not be distilled, or that no prompt in words would hold.

    Raises:
        CoevoError: Naming the model or the operator.
    """
    check_analyst(config)
    load_prompts()
    deaf = [name for name, operator in operators.items() if not operator.takes_skill]
    if config.skill_every is not None and deaf and renderer_of(config) != "slots":
        raise ContentError(
            f"expected ${{skill}} in the prompt of every operator of a search with a skill, found none in "
            f"{deaf[0]}.md; put it where the lessons are to stand, or drop --skill-every"
        )


def check_baselines(problem: ProblemFolder, pool: EvaluationPool) -> None:
    """Refuse a problem whose own baselines fail: then nothing a model writes could be judged.

    Raises:
        ContentError: Naming the file and how it fails.
    """
    verdicts = {name: pool.submit(code) for name, code in problem.baselines().items()}
    for name, future in verdicts.items():
        verdict = future.result()
        if not verdict.is_ok:
            raise ContentError(
                f"expected the baseline {problem.path / 'baselines' / name}.py to solve the search split, "
                f"got {verdict.status}: {verdict.detail}"
            )


def check_heuristics(
    problem: ProblemFolder, pool: EvaluationPool, renderer: RendererName, named: Mapping[str, Candidate]
) -> None:
    """Refuse heuristics of the user's that fail, or that the model could not be shown as parents.

    Args:
        problem: What they are for.
        pool: Judges them.
        renderer: How they would be shown.
        named: What to call each of them -> the heuristic.

    Raises:
        ContentError: Naming what is wrong with which.
    """
    verdicts = [pool.submit(candidate.code) for candidate in named.values()]
    for (name, candidate), future in zip(named.items(), verdicts, strict=True):
        verdict = future.result()
        if not verdict.is_ok:
            raise ContentError(f"{name} fails on the search split: {verdict.status}: {verdict.detail}")
        if renderer == "slots" and (reason := unreadable(problem, candidate)):
            raise ContentError(
                f"the embedded model cannot read {name} as a parent: {reason}; "
                "put everything into the one function, or use another --model"
            )


def read_heuristic(file: Path, problem: ProblemFolder) -> Candidate:
    """A heuristic file of the user's.

    Raises:
        ContentError: If it is missing or not text.
    """
    try:
        return Candidate(file.read_text(), operator="start")
    except (OSError, UnicodeDecodeError) as error:
        reason = getattr(error, "strerror", None) or "not UTF-8 text"
        raise ContentError(
            f"expected a Python file that defines {problem.spec.heuristic.function} at {file}, got: {reason}"
        ) from error

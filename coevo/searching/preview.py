"""What a search would do, without a model, a charge or a run directory."""

from dataclasses import dataclass
from pathlib import Path

from coevo.candidate import Candidate
from coevo.content import ProblemFolder, find_problem
from coevo.es.schedule import sigma_at
from coevo.evolution.operators import evolving
from coevo.evolution.renderers import renderer_named
from coevo.searching.analysts import asks_a_model
from coevo.searching.assemble import read_heuristic
from coevo.searching.config import SearchConfig
from coevo.searching.methods import operators_of
from coevo.searching.models import renderer_of
from coevo.searching.plan import Plan, plan
from coevo.skills import most_completions


@dataclass(frozen=True, slots=True)
class Preview:
    """The plan in words, and each operator's prompt with the problem's baselines as parents; none for the grammar."""

    plan: str
    prompts: dict[str, str]


def preview(config: SearchConfig) -> Preview:
    """Resolve a search as far as is possible without starting anything.

    Raises:
        CoevoError: If a problem, operator, start or model file is missing or malformed.
    """
    problem = find_problem(config.problem)
    for file in config.start:
        read_heuristic(Path(file), problem)
    operators = operators_of(config)
    the_plan = plan(config, evolving(operators))
    lines = [f"first population: {the_plan.first} completions of i1"] if the_plan.first else []
    lines += [
        f"generation {number}: " + ", ".join(f"{name} {count}" for name, count in counts.items())
        for number, counts in enumerate(the_plan.generations, 1)
    ]
    lines.append(f"in all {the_plan.charged} completions charged")
    lines += _step_lines(config, the_plan, evolving(operators))
    lines += _skill_lines(config, len(the_plan.generations))
    return Preview("\n".join(lines), {} if config.method == "grammar" else _prompts(config, problem))


def _prompts(config: SearchConfig, problem: ProblemFolder) -> dict[str, str]:
    renderer = renderer_named(renderer_of(config))
    parents = [Candidate(code) for code in problem.baselines().values()]
    return {
        name: renderer.render(operator, problem, [parents[n % len(parents)] for n in range(operator.parents)])
        for name, operator in operators_of(config).items()
    }


def idle_warnings(config: SearchConfig) -> tuple[str, ...]:
    """A sentence where the budget holds no step of the model, or no update of the skill, that was wished for.

    Raises:
        CoevoError: If an operator file is missing or malformed.
    """
    operators = evolving(operators_of(config))
    the_plan = plan(config, operators)
    return (*_without_step(config, the_plan, operators), *_without_update(config, len(the_plan.generations)))


def _without_update(config: SearchConfig, generations: int) -> tuple[str, ...]:
    if config.skill_every is None:
        return ()
    if _skill_updates(config.skill_every, generations):
        return ()
    return (
        f"no update of the skill falls into this budget: it holds {generations} "
        f"generation{'' if generations == 1 else 's'}, and an update comes after generation "
        f"{config.skill_every}, if another follows; raise --budget, or drop --skill-every",
    )


def _step_lines(config: SearchConfig, the_plan: Plan, operators: frozenset[str]) -> list[str]:
    """How often the model evolves."""
    if config.method == "grammar":
        return ["children come from the grammar, which reads no prompts"]
    if steps := _num_steps(config, the_plan, operators):
        return [
            f"{steps} step{'' if steps == 1 else 's'} of the model, of {config.evolution_strategy.members} members each"
        ]
    return list(_without_step(config, the_plan, operators))


def _num_steps(config: SearchConfig, the_plan: Plan, operators: frozenset[str]) -> int:
    """The model evolves in batches that give every member a child (`coevo.searching.learning`)."""
    settings, generations = config.evolution_strategy, the_plan.generations
    if not config.has_es:
        return 0
    return sum(
        sigma_at(number, len(generations), settings) > 0 and counts.get(name, 0) >= settings.members
        for number, counts in enumerate(generations)
        for name in operators
    )


def _without_step(config: SearchConfig, the_plan: Plan, operators: frozenset[str]) -> tuple[str, ...]:
    if not (config.has_es and operators) or _num_steps(config, the_plan, operators):
        return ()
    batches = [counts.get(name, 0) for counts in the_plan.generations for name in operators]
    return (
        f"the model does not evolve: no batch of {' or '.join(sorted(operators))} gives each of "
        f"{config.evolution_strategy.members} members a child, the largest has {max(batches, default=0)}; "
        "raise --budget, or lower --members",
    )


def _skill_updates(every: int, generations: int) -> int:
    """Updates of the skill that a plan holds: none after the last generation, which no prompt would follow."""
    return max(0, generations - 1) // every


def _skill_lines(config: SearchConfig, generations: int) -> list[str]:
    """What the skill may cost beside the budget."""
    if config.skill_every is None:
        return []
    updates = _skill_updates(config.skill_every, generations)
    each = most_completions(config.skill) if asks_a_model(config, renderer_of(config)) else 0
    return [f"{updates} updates of the skill, for at most {updates * each} completions beside the budget"]

"""The search on one screen: programs and the model that writes them evolve together.

EoH (arXiv:2401.02051) makes the children; at the operators that evolve the model, evolution strategies perturb all its
weights, score each perturbed model by its children, and move the weights (arXiv:2608.17310, sections 3 and 4). Beside
both, what the children teach is distilled into a skill that later prompts hold (Trace2Skill, arXiv:2603.25158).
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from coevo.candidate import Candidate
from coevo.content import ProblemFolder
from coevo.engines.endpoint.spending import CapReachedError
from coevo.evolution.operators import Operator
from coevo.evolution.population import Population, Scored
from coevo.interfaces import Engine, Member, Sampling
from coevo.learning.seeds import generator_of, seed_of
from coevo.learning.stopping import StopRule
from coevo.records.event_log import EventLog
from coevo.searching.breeding import Assignment, Breeder, Child, Prompting
from coevo.searching.config import SearchConfig
from coevo.searching.examiner import Examiner
from coevo.searching.learning import Learner
from coevo.searching.methods import FIRST
from coevo.searching.plan import Plan
from coevo.searching.rewards import child_rewards
from coevo.searching.teaching import Teacher


@dataclass(frozen=True, slots=True)
class Search:
    """The parts of one search, assembled. `mentor` answers the questions of an analyst, if there are any."""

    config: SearchConfig
    problem: ProblemFolder
    plan: Plan
    operators: dict[str, Operator]
    breeder: Breeder
    examiner: Examiner
    learner: Learner
    teacher: Teacher
    mentor: Engine | None
    log: EventLog
    stop: StopRule
    start: tuple[Candidate, ...]
    references: dict[str, float]
    """Mean best-known objective of each split that has one."""

    @property
    def prompting(self) -> Prompting:
        """How every operator asks at the moment: sampling is the run's, guidance what the skill says by now."""
        sampling = Sampling(self.config.temperature, self.config.top_p, self.config.max_tokens)
        return Prompting(sampling, self.teacher.guidance)


@dataclass(frozen=True, slots=True)
class Outcome:
    """How the loop ended: "done", a stop reason, the cap that was reached, or "no-valid-candidate"."""

    population: Population
    status: str


def evolve(search: Search) -> Outcome:
    """Run a search from its first population to the end of its plan, or until a stop rule holds."""
    population = own_heuristics(search)
    try:
        population = first_population(search, population)
        if search.plan.first and not population:
            return Outcome(population, "no-valid-candidate")
        for generation, counts in enumerate(search.plan.generations, 1):
            for name, count in counts.items():
                population = advance(search, population, generation, search.operators[name], count)
            stop = conclude(search, population, generation)
            if stop:
                return Outcome(population, stop)
            search.teacher.teach(generation, is_last=generation == len(search.plan.generations))
    except CapReachedError as reached:
        with search.log.ending():
            return Outcome(population.manage(search.breeder.rescued()), reached.cap)
    return Outcome(population, "done" if population else "no-valid-candidate")


def own_heuristics(search: Search) -> Population:
    """The user's own heuristics, as far as they are valid."""
    for candidate in search.start:
        search.examiner.begin(candidate)
    verdicts = [(candidate, search.examiner.verdict(candidate)) for candidate in search.start]
    own = [Scored(candidate, verdict.cost) for candidate, verdict in verdicts if verdict.cost is not None]
    return Population(search.config.population).manage(own)


def first_population(search: Search, population: Population) -> Population:
    """The same with, but for a search by sampling, the first completions of i1."""
    if not search.plan.first:
        return population
    seeds = [seed_of(search.config.seed, "sampling", 0, FIRST, place) for place in range(search.plan.first)]
    wanted = [Assignment(search.operators[FIRST], (), seed) for seed in seeds]
    children = search.breeder.breed(0, wanted, search.prompting)
    search.learner.observe(children)
    search.teacher.observe(FIRST, 0, children)
    return population.manage(_valid(children))


def advance(search: Search, population: Population, generation: int, operator: Operator, count: int) -> Population:
    """One operator of one generation: children are made and judged, the model learns, the population is managed."""
    members = search.learner.members(operator, generation, count)
    wanted = assign(search, population, generation, operator, count, members)
    children = search.breeder.breed(generation, wanted, search.prompting)
    rewards = child_rewards(
        children, population.worst.cost if population else math.inf, search.config.reward, search.config.copies
    )
    search.log.emit(
        "batch",
        generation=generation,
        operator=operator.name,
        children=len(children),
        valid=sum(child.evaluation.is_ok for child in children),
        distinct=len({child.candidate.identity for child in children if child.candidate}),
        reward=None if rewards is None else float(np.mean(rewards)),
    )
    search.learner.observe(children)
    if members:
        search.learner.learn(operator, generation, children, rewards)
    search.teacher.observe(operator.name, generation, children)
    return population.manage(_valid(children))


def conclude(search: Search, population: Population, generation: int) -> str | None:
    """Close a generation in the log; the reason to stop after it, if there is one."""
    best, worst = (population.best.cost, population.worst.cost) if population else (None, None)
    stop = search.stop.reached(generation, math.inf if best is None else best)
    search.log.emit("generation", generation=generation, best=best, worst=worst, stop=stop)
    return stop


def assign(
    search: Search,
    population: Population,
    generation: int,
    operator: Operator,
    count: int,
    members: Sequence[Member],
) -> list[Assignment]:
    """Deal parents, sampling seeds and members to the completions of one batch.

    Members are dealt round-robin, so that completion n belongs to case n // members. With common parents every member
    of a case reads the same parents: then rewards compare members, not parents. With common seeds they also share the
    case's sampling seed, at the price of equal children where σ is small; otherwise each completion has its own. What
    is left after the last whole case is the base model's, so that no member has a case that another has not.
    """
    config = search.config
    dealt = config.evolution_strategy.members if operator.evolves_model else 1
    group = dealt if config.parents == "common" else 1
    # Without members, or once they all are the base, completions that share a seed would be one and the same.
    shares_seeds = config.seeds == "common" and bool(members)
    drawn: dict[int, tuple[Scored, ...]] = {}
    wanted = []
    for place in range(count):
        case = place // group
        if case not in drawn:
            rng = generator_of(config.seed, "parents", generation, operator.name, case)
            drawn[case] = population.draw(operator.parents, rng) if operator.parents else ()
        seed = seed_of(config.seed, "sampling", generation, operator.name, place // dealt if shares_seeds else place)
        is_whole = bool(members) and place < count - count % len(members)
        wanted.append(Assignment(operator, drawn[case], seed, members[place % len(members)] if is_whole else None))
    return wanted


def _valid(children: Sequence[Child]) -> list[Scored]:
    return [child.scored for child in children if child.scored is not None]

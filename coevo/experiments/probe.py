"""A probe on one screen: fixed parents, the model measured, k steps of learning, the model measured again.

In a search everything moves at once: parents, population, model. A probe holds the parents still, so that what the
model has learned can be told from what the population has reached. The unperturbed model is measured before and after
on the same prompts with the same seeds; on parents it was trained on and on others; and at last on seeds that are new.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from coevo.candidate import Candidate
from coevo.evolution.operators import Operator
from coevo.evolution.population import Scored
from coevo.experiments.probe_config import OPERATORS, SETS, TOGETHER, ProbeConfig
from coevo.experiments.probe_learning import Training
from coevo.experiments.probe_parents import Parents, split, written
from coevo.experiments.probe_result import ProbeMeasurement, When
from coevo.experiments.probe_rewards import Measurement, child_reward
from coevo.interfaces import Member
from coevo.learning.seeds import generator_of, seed_of
from coevo.records.event_log import EventLog
from coevo.searching.breeding import Assignment, Breeder, Child, Prompting
from coevo.searching.examiner import Examiner


@dataclass(frozen=True, slots=True)
class Case:
    """A fixed prompt: an operator and the parent it shows."""

    operator: Operator
    parents: tuple[Scored, ...]


@dataclass
class Probe:
    """The parts of one probe, assembled, and what it has come to so far.

    Attributes:
        own: The user's parents; none where the base model writes them.
        spent: Completions by purpose: "parents", "training", "evaluation".
        batches: Batches asked for so far; numbers the next one.
    """

    config: ProbeConfig
    operators: dict[str, Operator]
    breeder: Breeder
    examiner: Examiner
    training: Training
    log: EventLog
    own: tuple[Candidate, ...] = ()
    parents: Parents | None = None
    measurements: list[ProbeMeasurement] = field(default_factory=list)
    member_valid: list[float] = field(default_factory=list)
    member_reward: list[float] = field(default_factory=list)
    spent: dict[str, int] = field(default_factory=lambda: dict.fromkeys(("parents", "training", "evaluation"), 0))
    batches: int = 0


def conduct(probe: Probe) -> None:
    """Run a probe to its end; `probe` holds what was found, also where this is interrupted."""
    config = probe.config
    parents = probe.parents = settle_parents(probe)
    before = {name: measure(probe, parents, name, "before", 0) for name in SETS}
    probe.training.begin(before["trained"].valid)
    for step in range(config.steps):
        train(probe, parents, step)
        if config.every is not None and (step + 1) % config.every == 0 and step + 1 < config.steps:
            for name in SETS:
                measure(probe, parents, name, "during", step + 1, before[name])
    for when in ("after", "fresh"):
        for name in SETS:
            measure(probe, parents, name, when, config.steps, before[name])


def settle_parents(probe: Probe) -> Parents:
    """The user's parents, or those the base model writes with i1; split, and recorded."""
    config = probe.config
    if probe.own:
        scored = [Scored(parent, _cost(probe.examiner, parent)) for parent in probe.own]
        parents = split(scored, len(scored) // 2)
    else:
        parents = split(written(lambda count: _first(probe, count), config.trained + config.held_out), config.held_out)
    trained, held_out = ([scored.candidate.identity for scored in parents.of(name)] for name in SETS)
    probe.log.emit("parents", trained=trained, held_out=held_out, scale=parents.scale)
    return parents


def train(probe: Probe, parents: Parents, step: int) -> None:
    """One step: members answer the prompts dealt to them, and the weights move by what they earned."""
    config = probe.config
    members = probe.training.members(step)
    tasks = deal(config, cases_of(probe, parents, "trained"), members, step)
    children = ask(probe, tasks, "training", step=step)
    rewards = [child_reward(child, parents.scale) for child in children]
    found = Measurement.of(children, parents.scale)
    probe.member_valid.append(found.valid)
    probe.member_reward.append(found.mean)
    probe.log.emit(
        "batch",
        generation=step + 1,
        operator=TOGETHER,
        children=len(children),
        valid=sum(child.evaluation.is_ok for child in children),
        distinct=found.distinct,
        reward=found.mean,
    )
    probe.training.learn(step, children, rewards)


def deal(config: ProbeConfig, cases: Sequence[Case], members: Sequence[Member], step: int) -> list[Assignment]:
    """Deal prompts, sampling seeds and members to the completions of one step.

    Members are dealt round-robin, so that completion n belongs to prompt n // members; with independent prompts every
    completion draws one of its own. Without members, or with independent seeds, no two completions share their seed.
    """
    strategy = config.evolution_strategy
    group, count = strategy.members, strategy.members * strategy.children
    rng = generator_of(config.seed, "cases", step)
    wanted = strategy.children if config.cases == "common" else count
    chosen = rng.choice(len(cases), wanted, replace=wanted > len(cases))
    shares = config.seeds == "common" and bool(members)
    tasks = []
    for place in range(count):
        case = cases[int(chosen[place // group if config.cases == "common" else place])]
        seed = seed_of(config.seed, "training", step, place // group if shares else place)
        member = members[place % group] if members else None
        tasks.append(Assignment(case.operator, case.parents, seed, member))
    return tasks


def measure(
    probe: Probe, parents: Parents, name: str, when: When, step: int, before: Measurement | None = None
) -> Measurement:
    """Measure the unperturbed model on one set of parents, and record what was found.

    Completions are spread evenly over the cases, those of a case one after the other: an engine reads a prompt that
    repeats only once. All measurements but fresh ones use the same seeds.
    """
    config, cases = probe.config, cases_of(probe, parents, name)
    seeds = "fresh" if when == "fresh" else "paired"
    tasks = []
    for place in range(config.evaluations):
        case = cases[place * len(cases) // config.evaluations]
        seed = seed_of(config.seed, "evaluation", seeds, name, place)
        tasks.append(Assignment(case.operator, case.parents, seed))
    found = Measurement.of(ask(probe, tasks, "evaluation", step=step, parents=name), parents.scale)
    shown = _shown(found, name, when, step, before)
    probe.measurements.append(shown)
    probe.log.emit("probe", **shown.model_dump())
    return found


def ask(probe: Probe, tasks: Sequence[Assignment], purpose: str, **facts: Any) -> list[Child]:
    """One batch, its purpose on record before it is charged."""
    number = probe.batches
    probe.batches += 1
    probe.log.emit("round", generation=number, purpose=purpose, **facts)
    probe.spent[purpose] += len(tasks)
    return probe.breeder.breed(number, tasks, Prompting(probe.config.sampling))


def cases_of(probe: Probe, parents: Parents, name: str) -> list[Case]:
    """Every parent of a set under every operator."""
    return [Case(probe.operators[operator], (parent,)) for parent in parents.of(name) for operator in OPERATORS]


def _first(probe: Probe, count: int) -> list[Scored]:
    """Valid candidates among some answers of the base model to i1."""
    first = probe.spent["parents"]
    seeds = [seed_of(probe.config.seed, "parents", place) for place in range(first, first + count)]
    tasks = [Assignment(probe.operators["i1"], (), seed) for seed in seeds]
    return [child.scored for child in ask(probe, tasks, "parents") if child.scored is not None]


def _cost(examiner: Examiner, parent: Candidate) -> float:
    cost = examiner.verdict(parent).cost
    assert cost is not None, "parents are checked before the probe begins"
    return cost


def _shown(found: Measurement, name: str, when: When, step: int, before: Measurement | None) -> ProbeMeasurement:
    change: tuple[float | None, float | None] = (None, None)
    if before is not None:
        change = found.change_since(before)
    if before is not None and when == "fresh":
        change = found.mean - before.mean, math.hypot(found.standard_error, before.standard_error)
    return ProbeMeasurement.model_validate(
        {
            "when": when,
            "step": step,
            "parents": name,
            "completions": len(found.rewards),
            "reward": found.mean,
            "standard_error": found.standard_error,
            "valid": found.valid,
            "improved": found.improved,
            "distinct": found.distinct,
            "change": change[0],
            "change_error": change[1],
        }
    )

"""Tuning on one screen: members play, scores become rewards, the weights move, and the model is measured on the way.

Evolution strategies over whole episodes (Agentic ESOpt, arXiv:2608.17310, section 3.2): an ES step is one generation,
all its members play the same tasks, and a member's reward is the mean score of its episodes. The split `val` chooses
the best weights; others are measured at the start and at the end, and decide nothing.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from coevo.interfaces import Task
from coevo.learning.stopping import StopRule
from coevo.records.event_log import EventLog
from coevo.tuning.config import TRAIN, VAL, TuneConfig
from coevo.tuning.field import Field
from coevo.tuning.learner import Learner
from coevo.tuning.playing import Rollouts
from coevo.tuning.scores import Score, earned, score_of
from coevo.tuning.teaching import Coach

EMPTY_IN_A_ROW = 3
"""Generations in which every task was dropped, one after the other, after which a run gives up."""


@dataclass(frozen=True, slots=True)
class Tuning:
    """The parts of a run, assembled. `tasks` are those of every split that is played."""

    config: TuneConfig
    tasks: Mapping[str, Sequence[Task]]
    at_best: float
    rollouts: Rollouts
    field: Field
    learner: Learner
    coach: Coach
    log: EventLog
    stop: StopRule


@dataclass(frozen=True, slots=True)
class Chosen:
    """The best measurement so far, and what prompts held of the skill at it."""

    generation: int
    score: Score
    skill: str = ""


@dataclass
class Headway:
    """How far a run has come: its best measurement on `val`, and how it ended."""

    chosen: Chosen | None = None
    status: str = "done"
    last: int = 0

    @property
    def best(self) -> tuple[int, float] | None:
        """The generation of the best measurement and its mean, the earliest of equals; None without any."""
        mean = None if self.chosen is None else self.chosen.score.mean
        return None if self.chosen is None or mean is None else (self.chosen.generation, mean)

    def take(self, generation: int, score: Score, skill: str = "") -> bool:
        """Hold a measurement against the best so far; whether it takes its place."""
        wins = score.mean is not None and (self.chosen is None or score.beats(self.chosen.score))
        if wins:
            self.chosen = Chosen(generation, score, skill)
        return wins


def train(tuning: Tuning) -> Headway:
    """Run from the first measurement to the end of the plan, or until a stop rule holds."""
    headway, empty = Headway(), 0
    headway.take(0, measure(tuning, 0, VAL))
    for split in tuning.config.splits:
        measure(tuning, 0, split)
    if at_once := tuning.stop.begun(cost_of(headway)):
        headway.status = at_once
        return headway
    for generation in range(1, tuning.config.generations + 1):
        empty = 0 if advance(tuning, generation) else empty + 1
        headway.last = generation
        is_last = generation == tuning.config.generations
        if is_last or generation % tuning.config.every == 0:
            found = measure(tuning, generation, VAL)
            if headway.take(generation, found, tuning.rollouts.prompter.skill):
                tuning.learner.keep(generation)
        stop = conclude(tuning, headway, generation)
        if stop or empty == EMPTY_IN_A_ROW:
            headway.status = stop or "surroundings-failed"
            break
        if tuning.coach.teach(generation):
            tuning.rollouts.prompter = tuning.rollouts.prompter.taught(tuning.coach.text)
    if headway.status == "done" and 0 < empty == headway.last:
        headway.status = "surroundings-failed"
    return headway


def advance(tuning: Tuning, generation: int) -> bool:
    """One generation: members play, and the weights move. Whether any task could be played."""
    members = tuning.learner.ask(generation)
    if not members:
        return True
    tasks = window(tuning.tasks[TRAIN], tuning.config.tasks, generation)
    episodes = tuning.field.train(generation, tasks, members)
    won = earned(members, episodes)
    scores = score_of(episodes, at_best=tuning.at_best)
    tuning.log.emit("played", generation=generation, dropped=won.dropped, **scores.facts())
    tuning.learner.learn(generation, episodes, won)
    tuning.coach.observe(generation, episodes, at_best=tuning.at_best)
    return len(won.dropped) < len(tasks)


def measure(tuning: Tuning, generation: int, split: str, label: str = "") -> Score:
    """Measure the unperturbed model on a split, and record it."""
    episodes = tuning.field.measure(generation, split, tuning.tasks[split], label)
    score = score_of(episodes, at_best=tuning.at_best)
    tuning.log.emit("measured", generation=generation, split=split, label=label, **score.facts())
    return score


def conclude(tuning: Tuning, headway: Headway, generation: int) -> str | None:
    """Close a generation in the log; the reason to stop after it, if there is one."""
    best = headway.best
    stop = tuning.stop.reached(generation, cost_of(headway))
    tuning.log.emit("generation", generation=generation, best=best and best[1], stop=stop)
    return stop


def cost_of(headway: Headway) -> float:
    """The best score so far as stop rules count, minimised."""
    return float("inf") if headway.best is None else -headway.best[1]


def window(tasks: Sequence[Task], count: int, generation: int) -> list[Task]:
    """The tasks of a generation, counted from 1: the next `count` in order, from the start again at the end.

    Raises:
        ValueError: If there are fewer tasks than that: one would be played twice in a generation.
    """
    if count > len(tasks):
        raise ValueError(f"expected {count} tasks or more, got {len(tasks)}")
    start = (generation - 1) * count
    return [tasks[(start + place) % len(tasks)] for place in range(count)]

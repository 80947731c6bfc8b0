"""Checks that an episode is a function of task, seed and answers: played again, and beside others."""

import random
from collections import Counter
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from itertools import islice, takewhile

import numpy as np

from coevo.authoring.env_answers import PLAIN
from coevo.authoring.env_fresh import answered, ask_fresh
from coevo.authoring.env_playing import Player, Story, Told
from coevo.authoring.env_subject import SEEDS, TURNS, EnvironmentSubject, Play
from coevo.authoring.findings import Check, Finding, failed, ok
from coevo.environments.contract import shown

ALIKE = 0.8
"""Share of the words that two plays of an environment with programs of its own have to have in common."""
_BEFORE = 15
"""Characters before a difference that are shown with it."""


def same_again(subject: EnvironmentSubject) -> Finding:
    """The same task, seed and answers give the same messages and rewards, on the same object and on another."""
    with subject.player() as first, subject.player() as second:
        outcomes: list[str | None] = []
        for number, play in enumerate(_plays(subject)):
            stories: list[Story] = []
            for player in (first, first, second):
                _disturb_global_generators(number + 10 * len(stories))
                stories.append(player.play(*play, TURNS))
            outcomes += [_compare(subject, stories[0], story) for story in stories[1:]]
    return _verdict(outcomes, "played again, an episode differs: draw from the seed alone, keep nothing for the next")


def interleaved(subject: EnvironmentSubject) -> Finding:
    """Two episodes told turn by turn in alternation, from changing threads, are the same as each by itself."""
    plays = subject.pair
    alone = [subject.alone(play) for play in plays]
    with ExitStack() as stack:
        threads = [stack.enter_context(ThreadPoolExecutor(1)) for _ in plays]
        players = [stack.enter_context(subject.player()) for _ in plays]
        together = _alternate(players, plays, threads)
    outcomes = [_compare(subject, story, again) for story, again in zip(alone, together, strict=True)]
    return _verdict(outcomes, "two episodes disturb each other: what an episode knows has to belong to its own object")


def at_once(subject: EnvironmentSubject) -> Finding:
    """Two episodes in two threads are the same as each by itself."""
    plays = subject.pair
    alone = [subject.alone(play) for play in plays]
    with ThreadPoolExecutor(2) as threads:
        together = list(threads.map(subject.alone, plays))
    outcomes = [_compare(subject, story, again) for story, again in zip(alone, together, strict=True)]
    return _verdict(outcomes, "episodes in two threads disturb each other")


def elsewhere(subject: EnvironmentSubject) -> Finding:
    """Another process, in which Python orders its sets differently, has the same tasks and the same episodes."""
    ours, theirs = answered(subject), ask_fresh(subject)
    if different := [split for split, digest in ours.tasks.items() if theirs.tasks[split] != digest]:
        return failed(f"another process has other tasks in the split {different[0]}; do texts come in a set's order?")
    outcomes = [_compare(subject, story, again) for story, again in zip(ours.stories, theirs.stories, strict=True)]
    return _verdict(outcomes, "in another process an episode differs; do texts come in a set's order?")


def _plays(subject: EnvironmentSubject) -> list[Play]:
    return [(task, seed, answerer) for task in subject.examples[:2] for seed in SEEDS for answerer in PLAIN.values()]


def _alternate(players: Sequence[Player], plays: Sequence[Play], threads: Sequence[ThreadPoolExecutor]) -> list[Story]:
    """The stories of plays that are told a turn each in turn; the threads that call change sides every turn."""
    tellings = [player.tell(*play, TURNS) for player, play in zip(players, plays, strict=True)]
    stories: list[list[Told]] = [[] for _ in plays]
    for turn in range(TURNS + 1):
        for place, telling in enumerate(tellings):
            stories[place] += threads[(turn + place) % 2].submit(lambda t: list(islice(t, 1)), telling).result()
    return [tuple(story) for story in stories]


def _compare(subject: EnvironmentSubject, story: Story, again: Story) -> str | None:
    """How two plays differ in what may not differ; "" where only such words do as may; None for not at all."""
    if story == again:
        return None
    turn = next((n for n, (a, b) in enumerate(zip(story, again, strict=False)) if a != b), min(len(story), len(again)))
    if any(need.program for need in subject.folder.spec.needs) and _alike(story, again):
        return ""
    first, second = _at(story, turn), _at(again, turn)
    alike = sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], zip(first, second, strict=False)))
    same = max(0, alike - _BEFORE)
    return f"at turn {turn}, {shown(first[same:])} became {shown(second[same:])}"


def _at(story: Story, turn: int) -> str:
    """What a turn said and gave, as one text."""
    if turn >= len(story):
        return "nothing any more"
    told = story[turn]
    state = f"reward {told.reward:g}{', done' * told.done}{', truncated' * told.truncated}"
    return " / ".join([state, *(content for _, content in told.messages)])


def _alike(story: Story, again: Story) -> bool:
    """Whether two plays have the same turns, rewards and ends, and most words in common.

    An environment with programs of its own, such as a browser, cannot promise more: their clocks are not ours.
    """
    if [_frame(told) for told in story] != [_frame(told) for told in again]:
        return False
    return all(_words_in_common(a, b) >= ALIKE for a, b in zip(story, again, strict=True))


def _frame(told: Told) -> tuple[object, ...]:
    return round(told.reward, 6), told.done, told.truncated, [role for role, _ in told.messages]


def _words_in_common(a: Told, b: Told) -> float:
    ours, theirs = (Counter(word for _, content in told.messages for word in content.split()) for told in (a, b))
    return (ours & theirs).total() / max(1, ours.total(), theirs.total())


def _verdict(outcomes: Sequence[str | None], broken: str) -> Finding:
    if different := [outcome for outcome in outcomes if outcome]:
        return failed(f"{broken}; {different[0]}")
    near = sum(outcome is not None for outcome in outcomes)
    words = f"; {near} in turns, rewards and most words, which is what a program outside can promise" if near else ""
    return ok(f"{len(outcomes)} comparisons{words}")


def _disturb_global_generators(seed: int) -> None:
    """An environment that draws from them tells another story each time."""
    random.seed(seed)
    np.random.seed(seed)  # noqa: NPY002 - it is the global one that is disturbed


CHECKS = (
    Check("same again", "task, seed and answers decide messages and rewards", same_again, needs=("episodes",)),
    Check("interleaved", "two episodes in alternation do not disturb each other", interleaved, needs=("same again",)),
    Check("elsewhere", "tasks and episodes are the same in another process", elsewhere, needs=("same again",)),
    Check("at once", "two episodes in two threads do not disturb each other", at_once, needs=("same again",)),
)

"""Checks of an environment's episodes: that they are what the contract says, whatever an agent answers."""

from coevo.authoring.env_answers import EVERY, HOSTILE, halves, hostile
from coevo.authoring.env_subject import SEEDS, EnvironmentSubject
from coevo.authoring.findings import Check, Finding, failed, note, ok
from coevo.environments.contract import BrokenContractError

MOST_TOLD = 100_000
"""Characters that a turn may tell after an answer of 1 MB: an agent's context has to hold them."""
HALVES = 5


def episodes(subject: EnvironmentSubject) -> Finding:
    """Played to their end, episodes keep the contract call by call and end by themselves."""
    turns = subject.folder.spec.limits.turns
    longest, open_still = 0, []
    with subject.player() as player:
        for what, answerer in EVERY.items():
            story = player.play(subject.examples[0], SEEDS[0], answerer, turns)
            longest = max(longest, len(story) - 1)
            open_still += [] if player.is_over else [what]
    if open_still:
        return note(
            f"with an agent that {' or '.join(open_still)} an episode goes on after {turns} turns; limits.turns cuts "
            "it off there, and only the rewards before count"
        )
    return ok(f"{len(EVERY)} agents: over after at most {longest} turns of {turns}")


def beginnings(subject: EnvironmentSubject) -> Finding:
    """Tasks of every split can be begun, under any seed."""
    with subject.player() as player:
        for task in subject.examples:
            for seed in SEEDS:
                player.reset(task, seed)
    return ok(f"{len(subject.examples)} tasks begun under the seeds {', '.join(map(str, SEEDS))}")


def any_answer(subject: EnvironmentSubject) -> Finding:
    """Answers that cannot be read are answered or end the episode; none raises or hangs."""
    task = subject.examples[0]
    with subject.player() as player:
        answers = list(HOSTILE.values()) + halves(player.reset(task, SEEDS[0]), HALVES)
        for answer in answers:
            if player.is_over:
                player.reset(task, SEEDS[0])
            told = sum(len(message.content) for message in player.step(answer).messages)
            if told > MOST_TOLD:
                return failed(f"an answer of {len(answer):,} characters brings {told:,} in return; quote less of it")
    return ok(f"{len(answers)} answers that cannot be read")


def closing(subject: EnvironmentSubject) -> Finding:
    """An environment can be closed at any time and twice, and begins anew after an episode that is over or is not."""
    task, turns = subject.examples[0], subject.folder.spec.limits.turns
    for moment, answers in {"before an episode": None, "in an episode": 1, "after an episode": turns}.items():
        with subject.player() as player:
            if answers is not None:
                player.play(task, SEEDS[0], hostile, answers)
            try:
                player.close()
                player.close()
            except BrokenContractError as error:
                return failed(f"closed {moment}: {error}")
    with subject.player() as player:
        for answers in (turns, 1, 1):
            player.play(task, SEEDS[0], hostile, answers)
    return ok("closed before, in and after an episode, each twice; begun anew after one and in the middle of one")


CHECKS = (
    Check("beginnings", "tasks of every split can be begun under any seed", beginnings, needs=("tasks",)),
    Check("episodes", "episodes keep the contract call by call, and end", episodes, needs=("beginnings",)),
    Check("any answer", "no answer raises, hangs or floods", any_answer, needs=("beginnings",)),
    Check("closing", "closing is safe at any time, and twice", closing, needs=("beginnings",)),
)

"""Find a number: a complete small environment to start from; replace it function by function.

`coevo/interfaces.py` says what `tasks`, `open`, `reset`, `step` and `close` promise.
"""

import random
import re
from collections.abc import Sequence

from coevo.interfaces import Message, Step, Task

FIRST_END = {"train": 20, "val": 21}
RULES = (
    "I think of a whole number from 1 to {end}. Find it within {guesses} guesses. Answer with a guess alone, as in:\n"
    "guess 7"
)


def tasks(split: str, *, guesses: int) -> list[Task]:
    """The tasks of a split, always the same, none in two splits; `data` is all that an episode knows of one."""
    ends = range(FIRST_END[split], 100, 2)  # even ends to learn from, odd ones to choose by
    return [Task(f"{split}-{end}", {"end": end}) for end in ends]  # a name, and any plain JSON values


def open(*, guesses: int) -> "FindTheNumber":  # noqa: A001 - the name that the contract gives it
    """A new environment. Many are open at once, in threads, so that what an episode knows belongs to the object."""
    return FindTheNumber(guesses)


class FindTheNumber:
    """One episode at a time."""

    def __init__(self, guesses: int):
        self._guesses = guesses

    def reset(self, task: Task, seed: int) -> Sequence[Message]:
        """Begin an episode: what the agent is told first. All chance comes from the seed, none from elsewhere."""
        end = task.data["end"]
        self._secret = random.Random(seed).randint(1, end)  # a generator of its own: the global one is everybody's
        self._left = self._guesses
        return [Message("user", RULES.format(end=end, guesses=self._guesses))]

    def step(self, text: str) -> Step:
        """Take the agent's answer, which can be anything at all: what cannot be read costs a turn and is told so."""
        self._left -= 1
        found = re.search(r"guess ([0-9]{1,4})\b", text)  # bounded, so that no answer is too long to be read
        guess = int(found[1]) if found else None
        if guess == self._secret:
            return Step(reward=1.0, done=True, info={"valid": True})  # an episode's score is the sum of its rewards
        if not self._left:
            return Step(truncated=True, info={"valid": guess is not None})  # cut off: the rewards so far count
        if guess is None:
            return self._say("I see no guess in that. Write one as in: guess 7", valid=False)
        return self._say("It is higher." if guess < self._secret else "It is lower.", valid=True)

    def _say(self, reply: str, *, valid: bool) -> Step:
        message = Message("user", f"{reply} Guesses left: {self._left}.")
        return Step((message,), info={"valid": valid})  # `info` is for the trace; the agent never sees it

    def close(self) -> None:
        """Release processes and files, of which there are none here; may be called twice, or in mid-episode."""

"""Playing under supervision: every call of an environment is timed and what it returns is held against the contract."""

import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from coevo.authoring.env_answers import Answerer, name_of
from coevo.environments.contract import BrokenContractError, check_step, checked_messages, shown
from coevo.environments.loading import EnvironmentFolder
from coevo.errors import EnvironmentFault
from coevo.interfaces import Environment, Message, Step, Task

Watch = Callable[[str, float], AbstractContextManager[None]]
"""What is called and the seconds it may take -> a context that does not let it hang for ever."""


@dataclass(frozen=True, slots=True)
class Told:
    """One turn of a play, as it is compared: messages as (role, content), reward, done, truncated."""

    messages: tuple[tuple[str, str], ...]
    reward: float = 0.0
    done: bool = False
    truncated: bool = False


Story = tuple[Told, ...]
"""A play, turn by turn; the first entry is what the agent was told first."""


@dataclass
class Player:
    """An environment under supervision; the same methods, none of which returns what the contract forbids.

    Args:
        environment: What `open` returned.
        folder: Where it comes from.
        watch: Guards each call.
    """

    environment: Environment
    folder: EnvironmentFolder
    watch: Watch
    opening: tuple[Message, ...] = ()
    score: float = 0.0
    is_over: bool = True
    is_closed: bool = False
    turn: int = 0
    _told: tuple[Message, ...] = field(default=(), repr=False)

    def reset(self, task: Task, seed: int) -> tuple[Message, ...]:
        """Begin an episode.

        Raises:
            BrokenContractError: If what comes is not what `Environment.reset` promises.
        """
        self.is_closed = False
        what = f"reset of the task {task.name}"
        messages = self._timed(what, lambda: self.environment.reset(task, seed))
        self.opening = self._told = checked_messages(messages, what)
        self.score, self.is_over, self.turn = 0.0, False, 0
        return self._told

    def step(self, text: str) -> Step:
        """Take an answer.

        Raises:
            BrokenContractError: If what comes is not what `Step` promises.
        """
        self.turn += 1
        what = f"turn {self.turn}, answer {name_of(text) or shown(text)}"
        step: Step = self._timed(what, lambda: self.environment.step(text))
        check_step(step, what)
        self.score += step.reward
        self.is_over = step.done or step.truncated
        if self.score > self.folder.spec.at_best + 1e-9:
            raise BrokenContractError(
                f"{what}: the score is {self.score:g}, above at_best = {self.folder.spec.at_best:g}"
            )
        if not self.is_over:
            self._told = checked_messages(step.messages, what)
            self._check_conversation(text, what)
        return step

    def close(self) -> None:
        """Release what the environment holds."""
        self.is_closed = True
        self._timed("close", self.environment.close)

    def play(self, task: Task, seed: int, answerer: Answerer, turns: int) -> Story:
        """Play until the episode is over or `turns` answers are given; what was told, turn by turn."""
        return tuple(self.tell(task, seed, answerer, turns))

    def tell(self, task: Task, seed: int, answerer: Answerer, turns: int) -> Iterator[Told]:
        """Play as `play` does, a turn each time that the next is asked for."""
        yield Told(_plain(self.reset(task, seed)))
        while not self.is_over and self.turn < turns:
            step = self.step(answerer(self.turn, self._told))
            yield Told(_plain(step.messages), float(step.reward), step.done, step.truncated)

    def _timed(self, what: str, call: Callable[[], Any]) -> Any:
        limit = self.folder.spec.limits.step_s
        begun = time.monotonic()
        try:
            with self.watch(what, limit):
                result = call()
        except EnvironmentFault as error:
            raise BrokenContractError(f"{what}: the surroundings failed: {error}") from error
        except Exception as error:
            place = where(error, self.folder.path)
            raise BrokenContractError(f"{what}: raised {type(error).__name__}: {error}{place}") from error
        if what != "close" and (took := time.monotonic() - begun) > limit:
            raise BrokenContractError(f"{what}: took {took:.1f} s, limits.step_s is {limit:g}")
        return result

    def _check_conversation(self, answer: str, what: str) -> None:
        if self.folder.spec.conversation == "renewed":
            if not _retells(self._told, self.opening):
                raise BrokenContractError(
                    f'{what}: conversation = "renewed" says that an agent sees the messages of a turn alone, and these '
                    "repeat no line of what it was told to do"
                )
        elif problem := _repeats(self._told, self.opening, answer):
            raise BrokenContractError(
                f'{what}: conversation = "grows" adds messages to all before, and these {problem}'
            )


def _repeats(told: Sequence[Message], opening: Sequence[Message], answer: str) -> str:
    """What a turn's messages say again though all before is kept; empty for nothing."""
    if any(message.role == "system" for message in told):
        return "hold a system message"
    if len(opening) > 1 and tuple(told[: len(opening)]) == tuple(opening):
        return "begin with the opening ones"
    if answer and any(message.role == "assistant" and message.content == answer for message in told):
        return "hold the agent's own answer, which is added without"
    return ""


def _retells(told: Sequence[Message], opening: Sequence[Message]) -> bool:
    """Whether a line of what the agent was told at first is there again."""

    def lines(messages: Sequence[Message]) -> set[str]:
        return {line.strip() for message in messages for line in message.content.splitlines() if line.strip()}

    return bool(lines(told) & lines(opening))


def _plain(messages: Sequence[Message]) -> tuple[tuple[str, str], ...]:
    return tuple((message.role, message.content) for message in messages)


def where(error: BaseException, folder: Path) -> str:
    """The innermost line of the folder's own code that an exception came through."""
    place, frame = "", error.__traceback__
    while frame is not None:
        file = Path(frame.tb_frame.f_code.co_filename)
        if file.is_relative_to(folder):
            place = f" ({file.name}, line {frame.tb_lineno})"
        frame = frame.tb_next
    return place

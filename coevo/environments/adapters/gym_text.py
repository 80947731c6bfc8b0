"""Gymnasium environments that speak in text.

An `environment.py` around one of them:

    import gymnasium

    from coevo.environments.adapters.common import seeded_tasks
    from coevo.environments.adapters.gym_text import GymText

    def tasks(split):
        return seeded_tasks(split, {"train": 200, "val": 50})

    def open():
        return GymText(lambda: gymnasium.make("my_games/Maze-v0"), rules="Find the way out. Answer north, south, ...")

with `conversation = "grows"` in `environment.toml`. Other observations than a text, or a mapping that has one under
"text", need a `read`; other actions than the agent's answer need an `act`.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from coevo.environments.adapters.common import plain
from coevo.environments.texts import encodable
from coevo.errors import ContentError, EnvironmentFault
from coevo.interfaces import Message, Step, Task

NO_ACTION = "That is not an action here."


class UnreadableAnswerError(Exception):
    """Raised by an `act` for an answer that is no action; the text is what the agent is told."""


@dataclass(frozen=True, slots=True)
class Wording:
    """How observations and actions become text.

    Attributes:
        read: Observation -> what the agent is told.
        act: The agent's answer -> action; raises `UnreadableAnswerError`.
        refusals: Exceptions by which the game's own `step` refuses an action; all others are faults of the game's.
    """

    read: Callable[[Any], str]
    act: Callable[[str], Any]
    refusals: tuple[type[Exception], ...] = ()


def observed_text(observation: Any) -> str:
    """A text, or what a mapping holds under "text".

    Raises:
        ContentError: For any other observation.
    """
    text = observation.get("text") if isinstance(observation, Mapping) else observation
    if not isinstance(text, str | np.str_):
        raise ContentError(
            f'expected an observation that is a text, or a mapping with one under "text", got {observation!r:.80}; '
            "give GymText a wording with another read"
        )
    return str(text)


def spoken(answer: str) -> str:
    """The answer without the white space around it.

    Raises:
        UnreadableAnswerError: If nothing is left.
    """
    if not (action := answer.strip()):
        raise UnreadableAnswerError("You said nothing. Answer with an action.")
    return action


AS_SPOKEN = Wording(observed_text, spoken)


class GymText:
    """An environment (`coevo.interfaces.Environment`) around one of Gymnasium's.

    A task's `data["seed"]` says which game is played, and the episode's seed does where a task has none; a task's
    `data["options"]` are passed to the game's `reset`. An answer that is no action, because `act`, the action space or
    one of the `refusals` says so, costs a turn and is answered; the game does not see it. Episodes are as deterministic
    as the game is.

    Args:
        make: Makes the game; called at the first episode.
        rules: What the agent is told before everything else; empty for nothing.
        wording: How observations and actions become text.
    """

    def __init__(self, make: Callable[[], Any], *, rules: str = "", wording: Wording = AS_SPOKEN):
        self._make = make
        self._rules = rules
        self._wording = wording
        self._game: Any = None

    def reset(self, task: Task, seed: int) -> Sequence[Message]:
        """See `Environment`."""
        if self._game is None:
            self._game = self._make()
        chosen, options = int(task.data.get("seed", seed)), task.data.get("options")
        observation, _ = self._guarded(lambda: self._game.reset(seed=chosen, options=options))
        told = Message("user", self._seen(observation))
        return (Message("system", self._rules), told) if self._rules else (told,)

    def step(self, text: str) -> Step:
        """See `Environment`."""
        try:
            action = self._wording.act(text)
            if not self._is_action(action):
                raise UnreadableAnswerError(NO_ACTION)
            outcome = self._guarded(lambda: self._game.step(action))
        except UnreadableAnswerError as error:
            return Step((Message("user", encodable(str(error))),), info={"valid": False})
        return self._told(*outcome)

    def close(self) -> None:
        """See `Environment`."""
        game, self._game = self._game, None
        if game is not None:
            game.close()

    def _seen(self, observation: Any) -> str:
        return encodable(self._wording.read(observation)) or "(nothing)"

    def _told(self, observation: Any, reward: Any, done: bool, truncated: bool, info: Mapping[str, Any]) -> Step:
        value = float(reward)
        if not np.isfinite(value):
            raise EnvironmentFault(f"the game gave a reward of {value}")
        is_over = bool(done) or bool(truncated)
        messages = () if is_over else (Message("user", self._seen(observation)),)
        return Step(messages, value, bool(done), bool(truncated), {**plain(info), "valid": True})

    def _is_action(self, action: Any) -> bool:
        space = getattr(self._game, "action_space", None)
        return space is None or bool(space.contains(action))

    def _guarded(self, call: Callable[[], Any]) -> Any:
        try:
            return call()
        except self._wording.refusals as error:
            raise UnreadableAnswerError(str(error) or NO_ACTION) from error
        except Exception as error:
            raise EnvironmentFault(f"the game failed: {type(error).__name__}: {error}") from error

"""Episodes at play, many at a time: the engine answers those that are ready while others wait for their tools.

Answers do not depend on which episodes share a batch as far as the engine's do not, so a score depends on its
assignment alone; the order in which episodes end depends on timing.
"""

import logging
import math
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from functools import partial

from coevo.environments.contract import BrokenContractError, check_step, checked_messages
from coevo.environments.spec import EpisodeLimits
from coevo.errors import RunError, one_line
from coevo.interfaces import Completion, Engine, Environment, Message, Request, Sampling, Step
from coevo.learning.seeds import seed_of
from coevo.tuning.episodes import Assignment, Ended, Episode, Turn
from coevo.tuning.hands import Answer, Hands
from coevo.tuning.prompting import Prompt, Prompter

_log = logging.getLogger(__name__)

DETAIL_CHARS = 300
CLOSING_S = 30.0
"""How long environments may take to close."""
GRACE_S = 0.002
"""How long the engine waits for another environment to come back before it answers those that have."""


@dataclass(frozen=True, slots=True)
class Rules:
    """How episodes are played.

    Attributes:
        limits: What bounds them.
        sampling: How answers are drawn; `max_tokens` is the longest answer of a turn.
        renews: Whether each turn's messages are all that the agent sees.
        retries: How often an episode is begun again whose surroundings failed.
    """

    limits: EpisodeLimits
    sampling: Sampling
    renews: bool
    retries: int = 2


@dataclass
class _Game:
    """An episode that is being played.

    `attempt` counts how often its surroundings have failed, `lost` the tokens that were drawn until then.
    """

    assignment: Assignment
    attempt: int = 0
    lost: int = 0
    environment: Environment | None = None
    messages: list[Message] = field(default_factory=list)
    prompt: Prompt = field(default_factory=lambda: Prompt(""))
    opening: str = ""
    said: str = ""
    is_abandoned: bool = False
    score: float = 0.0
    tokens: int = 0
    turns: list[Turn] = field(default_factory=list)
    num_turns: int = 0


class Rollouts:
    """Plays assignments with one engine.

    Args:
        engine: Answers.
        open_environment: Makes an environment; called in a thread.
        rules: Limits and sampling.
        prompter: Writes the prompts; may be replaced between two calls of `play`.
    """

    def __init__(
        self, engine: Engine, open_environment: Callable[[], Environment], rules: Rules, prompter: Prompter
    ) -> None:
        self._engine = engine
        self._open = open_environment
        self._rules = rules
        self.prompter = prompter
        self._hands = Hands(rules.limits.at_once, rules.limits.step_s)
        self._idle: list[Environment] = []
        self._games: dict[int, _Game] = {}
        """By ticket: those whose environment is at work."""
        self._ready: dict[str, _Game] = {}
        """By name of the request: those that the engine is to answer."""

    def play(self, assignments: Sequence[Assignment]) -> Iterator[Episode]:
        """Play every assignment to its end; each is yielded once, as it ends."""
        waiting = deque(assignments)
        while waiting or self._games:
            while waiting and len(self._games) < self._rules.limits.at_once:
                self._begin(_Game(waiting.popleft()))
            for answer in self._hands.answers(wait_s=None, grace_s=GRACE_S):
                yield from self._heard(answer)
            if self._ready:
                yield from self._answered()

    def close(self) -> None:
        """Close every environment and let the threads end; safe to call twice."""
        begun = [*self._games.values(), *self._ready.values()]
        for game in begun:
            game.is_abandoned = True
        _put_away([*self._idle, *(game.environment for game in begun)])
        self._idle.clear()
        self._games.clear()
        self._ready.clear()
        self._hands.close()

    def _begin(self, game: _Game) -> None:
        game.environment = self._idle.pop() if self._idle else None
        self._call(game, lambda: self._reset(game))

    def _reset(self, game: _Game) -> Sequence[Message]:
        game.environment = game.environment or self._open()
        return game.environment.reset(game.assignment.task, game.assignment.seed)

    def _call(self, game: _Game, function: Callable[[], Sequence[Message] | Step]) -> None:
        self._games[self._hands.call(lambda: _closing_on_failure(game, function))] = game

    def _heard(self, answer: Answer) -> Iterator[Episode]:
        """What an environment said: the game goes on, or it is over."""
        game = self._games.pop(answer.ticket)
        if answer.error is not None:
            yield from self._failed(game, answer.error)
            return
        said = _checked(game, answer.value)
        if isinstance(said, Step):
            ended = self._took(game, said)
            if ended is not None:
                yield self._over(game, ended)
                return
        else:
            game.messages = list(said)
            game.opening = _told(said)
        try:
            game.prompt = self.prompter.prompt(game.messages)
        except ValueError as error:
            _put_away([game.environment])
            yield self._fault(game, error)
        else:
            self._ready[f"{game.assignment.id}.{game.num_turns}.{game.attempt}"] = game

    def _took(self, game: _Game, step: Step) -> Ended | None:
        """Note a turn; why the episode is over, if it is."""
        game.num_turns += 1
        game.score += step.reward
        if not math.isfinite(game.score):
            raise RunError(f"expected a finite score of task {game.assignment.task.name}, got {game.score}")
        if game.assignment.is_kept:
            game.turns.append(Turn(game.said, _told(step.messages), dict(step.info)))
        if step.done or step.truncated:
            return "done" if step.done else "truncated"
        if self._rules.renews:
            game.messages = list(step.messages)
        else:
            game.messages += [Message("assistant", game.said), *step.messages]
        limits = self._rules.limits
        if game.num_turns >= limits.turns:
            return "turns"
        return "tokens" if limits.total_tokens is not None and game.tokens >= limits.total_tokens else None

    def _failed(self, game: _Game, error: BaseException) -> Iterator[Episode]:
        """The surroundings failed: begin again with new ones, or give the episode up."""
        game.is_abandoned = True
        if game.attempt < self._rules.retries:
            self._begin(_Game(game.assignment, game.attempt + 1, lost=game.lost + game.tokens))
        else:
            yield self._fault(game, error)

    def _fault(self, game: _Game, error: BaseException) -> Episode:
        detail = one_line(f"{type(error).__name__}: {error}", DETAIL_CHARS)
        return replace(self._episode(game, "fault"), score=None, detail=detail)

    def _over(self, game: _Game, ended: Ended) -> Episode:
        if game.environment is not None:
            self._idle.append(game.environment)
        return self._episode(game, ended)

    def _answered(self) -> Iterator[Episode]:
        """Let the engine answer; every answer goes to its environment as soon as it is there."""
        for completion in self._engine.generate([self._request(name, game) for name, game in self._ready.items()]):
            game = self._ready.pop(completion.request_id)
            game.tokens += completion.num_tokens
            if _is_beyond_context(completion):
                yield self._over(game, "context")
                continue
            game.said = completion.text
            self._call(game, _stepping(game))

    def _request(self, name: str, game: _Game) -> Request:
        prompt, limits, sampling = game.prompt, self._rules.limits, self._rules.sampling
        if limits.total_tokens is not None:
            sampling = replace(sampling, max_tokens=min(sampling.max_tokens, limits.total_tokens - game.tokens))
        seed = seed_of(game.assignment.sampling, "turn", game.num_turns)
        return Request(name, prompt.text, seed, game.assignment.member, sampling, prompt.messages)

    def _episode(self, game: _Game, ended: Ended) -> Episode:
        kept = game.assignment.is_kept
        return Episode(
            game.assignment.id,
            game.assignment.task.name,
            game.score,
            game.num_turns,
            game.tokens,
            ended,
            lost=game.lost,
            opening=game.opening if kept else "",
            transcript=tuple(game.turns),
        )


def _stepping(game: _Game) -> Callable[[], Step]:
    if game.environment is None:
        raise RuntimeError("an episode was answered before it had begun")
    step, said = game.environment.step, game.said
    return lambda: step(said)


def _closing_on_failure(game: _Game, function: Callable[[], Sequence[Message] | Step]) -> Sequence[Message] | Step:
    """Make a call of an environment; one that fails, or comes back when nobody waits any more, is closed."""
    try:
        said = function()
    except BaseException:
        _close_quietly(game.environment)
        raise
    if game.is_abandoned:
        _close_quietly(game.environment)
    return said


def _is_beyond_context(completion: Completion) -> bool:
    return completion.finish == "length" and completion.num_tokens == 0


def _checked(game: _Game, said: Sequence[Message] | Step) -> Sequence[Message] | Step:
    """What an environment returned, if it is what the contract says: anything else is a mistake in its code.

    Raises:
        RunError: Otherwise.
    """
    name = game.assignment.task.name
    try:
        if not game.messages:  # nothing was told before: this is what `reset` says
            return checked_messages(said, f"task {name}, reset")
        step = check_step(said, what := f"task {name}, turn {game.num_turns + 1}")
        if not (step.done or step.truncated):
            checked_messages(step.messages, what)
    except BrokenContractError as error:
        raise RunError(f"an environment broke its contract: {error}; `coevo env check` tells more") from error
    return step


def _told(messages: Sequence[Message]) -> str:
    return "\n\n".join(message.content for message in messages)


def _put_away(environments: Sequence[Environment | None]) -> None:
    """Close environments side by side; one that hangs is left behind after a while, and its thread with it."""
    open_ones = [environment for environment in environments if environment is not None]
    hands = Hands(len(open_ones), CLOSING_S)
    for environment in open_ones:
        hands.call(partial(_close_quietly, environment))
    late = sum(isinstance(answer.error, TimeoutError) for answer in hands.answers(wait_s=None, grace_s=CLOSING_S))
    hands.close()
    if late:
        _log.warning("%d environments did not close within %g s and are left behind", late, CLOSING_S)


def _close_quietly(environment: Environment | None) -> None:
    """Close what may be broken: it has failed already, and that is what is reported."""
    if environment is not None:
        with suppress(BaseException):  # in a thread, where no interrupt of the user's arrives
            environment.close()

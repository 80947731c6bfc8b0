"""From a conversation to the request for its next answer."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

from coevo.engines.loading import Renderer
from coevo.errors import ConfigError
from coevo.interfaces import Message

SKILL_HEADING = "What earlier attempts have taught; the rules above come first:"


@dataclass(frozen=True, slots=True)
class Prompt:
    """What a request holds: the text, and the messages for engines that read those."""

    text: str
    messages: tuple[Message, ...] = ()


@dataclass(frozen=True, slots=True)
class Prompter:
    """Writes prompts for one model.

    Attributes:
        renderer: As its model card names it.
        skill: Markdown that every conversation holds; empty for none.
    """

    renderer: Renderer
    skill: str = ""

    def prompt(self, messages: Sequence[Message]) -> Prompt:
        """The prompt for the answer that comes next.

        Raises:
            ValueError: If a model that plays on boards is shown none.
        """
        if self.renderer == "board":
            from coevo import board_codec

            return Prompt(board_codec.encode(messages))
        told = with_skill(messages, self.skill)
        text = plain(told)
        return Prompt(text, told) if self.renderer == "chat" else Prompt(text)

    def taught(self, skill: str) -> "Prompter":
        """The same with another skill text."""
        return replace(self, skill=skill)


def with_skill(messages: Sequence[Message], skill: str) -> tuple[Message, ...]:
    """The conversation with a skill at the end of its system message, or in one of its own."""
    if not skill:
        return tuple(messages)
    advice = f"{SKILL_HEADING}\n\n{skill}"
    first = messages[0] if messages else None
    if first is None or first.role != "system":
        return (Message("system", advice), *messages)
    return (Message("system", f"{first.content}\n\n{advice}"), *messages[1:])


def plain(messages: Sequence[Message]) -> str:
    """A conversation as text, for models without a chat template; ends where the answer begins."""
    return "".join(f"{message.role}:\n{message.content}\n\n" for message in messages) + "assistant:\n"


def check_renderer(renderer: Renderer, model: str, environment: str) -> None:
    """Refuse a model that does not speak what an environment does.

    Raises:
        ConfigError: Naming both.
    """
    if renderer == "slots":
        raise ConfigError(f"expected a model that acts in {environment}, got {model}, which writes heuristics only")
    if renderer == "board" and environment != "sudoku":
        raise ConfigError(f"expected a model that acts in {environment}, got {model}, which plays Sudoku only")

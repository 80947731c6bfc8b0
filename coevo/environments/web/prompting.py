"""What a web agent is told at every turn: the task, what it did so far, and the page as it is now.

The conversation is renewed at every turn: one page at a time, because pages are long and only the last one holds.
"""

from pathlib import Path
from string import Template

from coevo.content import read_text
from coevo.environments.texts import encodable
from coevo.environments.web.actions import Action
from coevo.errors import ConfigError
from coevo.interfaces import Message

TOLD_ACTIONS = 10
"""How many of its latest actions the agent is reminded of."""
STUCK_AFTER = 5
"""An episode is cut off after so many answers in a row that cannot be read, or that ask for the same without effect.

Source: both limits of WebArena's runner.
"""
_SYSTEM = Path(__file__).with_name("system.md")


class Story:
    """What has happened in an episode so far.

    Args:
        goal: What the agent is to do.
        more: Lines of the system message about actions that not every page has.
    """

    def __init__(self, goal: str, more: str):
        self._goal = goal
        self._system = Template(read_text(_SYSTEM)).substitute(more=more)
        self._lines: list[str] = []
        self._stuck = 1
        self._last = ""

    @property
    def turns(self) -> int:
        """Answers of the agent so far."""
        return len(self._lines)

    @property
    def is_stuck(self) -> bool:
        """Whether going on makes no sense (`STUCK_AFTER`)."""
        return self._stuck >= STUCK_AFTER

    def add(self, action: Action | None, outcome: str, *, has_effect: bool) -> None:
        """Note an answer: the action it was read as, if any, and what came of it in one sentence."""
        done = "?" if action is None else str(action)
        self._stuck = self._stuck + 1 if done == self._last and not has_effect else 1
        self._last = done
        self._lines.append(f"{len(self._lines) + 1}. {_shortened(done)}{' -> ' + outcome if outcome else ''}")

    def tell(self, page: str) -> tuple[Message, ...]:
        """The messages of the next turn."""
        parts = [f"Task: {self._goal}"]
        if self._lines:
            parts.append("Your actions so far:\n" + "\n".join(self._lines[-TOLD_ACTIONS:]))
        parts += [f"The page now:\n{page or '(empty)'}", "Your next action:"]
        return Message("system", self._system), Message("user", encodable("\n\n".join(parts)))


def check_options(turns: int, page_chars: int) -> None:
    """Refuse turns and page lengths that no episode can have.

    Raises:
        ConfigError: With what came.
    """
    if turns < 0 or page_chars < 200:
        raise ConfigError(f"expected turns ≥ 0 and page_chars ≥ 200, got {turns} and {page_chars}")


def _shortened(text: str) -> str:
    return text if len(text) <= 200 else text[:199] + "…"

"""The episode that math and docvqa share: what is run, what is scored, what is told."""

import json
import threading
from collections.abc import Callable

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from coevo.environments.tools import react
from coevo.environments.tools.react import Answers, ReactEpisode, shell_facts
from coevo.environments.tools.shell import Shell, ShellLimits, ToolResult
from coevo.errors import EnvironmentFault

ANSWERS = Answers("THE FORM {}", lambda said: said[1:] if said.startswith("=") else None, lambda a: (len(a), {"k": a}))


class FakeShell:
    """Prints the command, at once."""

    opened = 0

    def __init__(self, limits, *, files):
        type(self).opened += 1
        self.closed = 0

    def run(self, command):
        """An ordinary result."""
        return ToolResult(command, 3)

    def close(self):
        """Count."""
        self.closed += 1


@pytest.fixture
def begin(monkeypatch: pytest.MonkeyPatch) -> Callable[[], ReactEpisode]:
    """Begins an episode whose shell only says so."""
    monkeypatch.setattr(react, "Shell", FakeShell)
    monkeypatch.setattr(FakeShell, "opened", 0)
    return lambda: ReactEpisode(ANSWERS, ShellLimits())


def command(text: str) -> str:
    """An action."""
    return "Action:\n" + json.dumps({"name": "bash", "arguments": {"command": text}})


def test_an_episode_from_its_first_command_to_its_answer(begin) -> None:
    """Told what is missing, then what was printed, then paid; one shell, opened by the first command."""
    episode = begin()
    for said, kind, words in (
        ("=early", "answer before a command", "only after at least one command"),
        ("hm", "neither action nor answer", "THE FORM {}"),
        ("=", "empty answer", "THE FORM {}"),
        ("Action: no", "unreadable action", "could not be read"),
    ):
        step = episode.step(said)
        assert (step.done, step.reward, step.info) == (False, 0.0, {"valid": False, "why": kind})
        assert step.messages[0].content.startswith("Observation from format_check:\n")
        assert words in step.messages[0].content
    assert FakeShell.opened == 0
    for text in ("first", "second"):
        step = episode.step(command(text))
        assert step.messages[0].content == f"Observation from bash:\n{text}\n[exit code 3]"
        assert step.info == {"valid": True, "exit_code": 3, "timed_out": False}
    assert FakeShell.opened == 1
    end = episode.step("=right")
    assert (end.reward, end.done, end.messages) == (5.0, True, ())
    assert end.info == {"valid": True, "answer": "right", "commands": 2, "k": "right"}
    episode.end()
    episode.end()


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.text(st.characters()) | st.text("=\ud800\\Action: \n", max_size=20))
def test_whatever_is_said_is_answered_in_text_that_can_be_encoded(begin, text: str) -> None:
    """Nothing raises; a step either tells something or ends the episode."""
    episode = begin()
    for said in (text, command(text or "x"), f"={text}"):
        step = episode.step(said)
        assert bool(step.messages) != step.done
        assert json.dumps([m.content for m in step.messages] + [dict(step.info)], ensure_ascii=False).encode()


def test_a_shell_that_was_still_starting_is_ended_too(monkeypatch: pytest.MonkeyPatch) -> None:
    """An episode that is ended meanwhile leaves no sandbox behind."""
    starting, go_on, opened = threading.Event(), threading.Event(), []

    def slow(limits: ShellLimits, *, files: object) -> Shell:
        starting.set()
        assert go_on.wait(60)
        opened.append(Shell(limits))
        return opened[0]

    monkeypatch.setattr(react, "Shell", slow)
    episode, said = ReactEpisode(ANSWERS, ShellLimits()), []

    def work() -> None:
        try:
            episode.step(command("echo"))
        except EnvironmentFault as fault:
            said.append(fault)

    thread = threading.Thread(target=work)
    thread.start()
    assert starting.wait(60)
    episode.end()
    go_on.set()
    thread.join(60)
    with pytest.raises(EnvironmentFault, match="closed"):
        opened[0].run("echo")
    assert len(said) == 1


def test_instructions_say_the_limits() -> None:
    """In units that an agent can read."""
    facts = shell_facts(ShellLimits(wall_s=2.5, memory_bytes=1 << 30, disk_bytes=256 << 20, output_characters=6000))
    named = {name: facts[name] for name in ("seconds", "memory", "disk", "characters", "workspace")}
    assert named == {
        "seconds": "2.5",
        "memory": "1,024 MB",
        "disk": "256 MB",
        "characters": "6,000",
        "workspace": "/workspace",
    }

"""One episode of a ReAct agent: it runs commands and reads what they print until it gives its final answer.

An answer of the agent with an action is run; one with a final answer and no action ends the episode, if a command has
run before (whether one has is known from what ran, never told from text); any other is told what it lacks. What counts
as a final answer and what it earns is the environment's. The turn limit is the rollout's; an answer in the last turn
counts.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from coevo.environments.tools.actions import BASH, read_action, spoken
from coevo.environments.tools.confinement import WORKSPACE, installed_packages
from coevo.environments.tools.shell import Shell, ShellLimits
from coevo.interfaces import Message, Step

_CHECK = "format_check"
_NEITHER = (
    "There is neither an action nor a final answer in this. Run a command with a line Action: and JSON, or end with "
    "the line\n{form}"
)
_EMPTY = "The final answer is empty. End with the line\n{form}"
_NO_COMMAND = "A final answer is accepted only after at least one command: compute or check it with bash first."


@dataclass(frozen=True, slots=True)
class Answers:
    """What an environment makes of final answers.

    Attributes:
        form: The line that holds one, as the agent is told.
        read: What an agent says -> the answer in it: empty for a line without one, None where there is no such line.
        score: An answer -> what it earns, maximised, and what is to be known of that.
    """

    form: str
    read: Callable[[str], str | None]
    score: Callable[[str], tuple[float, Mapping[str, Any]]]


class ReactEpisode:
    """The state of one episode; the shell is started by the first command.

    Args:
        answers: The environment's.
        limits: What each command may use.
        files: Name in the workspace -> host file, shown read-only.
    """

    def __init__(self, answers: Answers, limits: ShellLimits, files: Mapping[str, Path] | None = None):
        self._answers = answers
        self._limits = limits
        self._files = files or {}
        self._shell: Shell | None = None
        self._num_commands = 0
        self._has_ended = False

    def step(self, text: str) -> Step:
        """Run the command in an answer, or score the final answer in it, or say what is missing.

        Raises:
            EnvironmentFault: If the shell fails.
        """
        said = spoken(text)
        action = read_action(said)
        if action is not None:
            return _refuse(action.problem, "unreadable action") if action.problem else self._run(action.command)
        answer = self._answers.read(said)
        if answer is None:
            return self._lacks(_NEITHER, "neither action nor answer")
        if not answer:
            return self._lacks(_EMPTY, "empty answer")
        if not self._num_commands:
            return self._lacks(_NO_COMMAND, "answer before a command")
        reward, info = self._answers.score(answer)
        known = {"valid": True, "answer": answer, "commands": self._num_commands}
        return Step(reward=reward, done=True, info={**known, **info})

    def end(self) -> None:
        """Release the shell; safe to call twice, and while a command runs elsewhere."""
        self._has_ended = True
        shell, self._shell = self._shell, None
        if shell is not None:
            shell.close()

    def _run(self, command: str) -> Step:
        result = self._opened().run(command)
        self._num_commands += 1
        info = {"valid": True, "exit_code": result.exit_code, "timed_out": result.timed_out}
        return Step((_observation(BASH, result.observation),), info=info)

    def _opened(self) -> Shell:
        shell = self._shell or Shell(self._limits, files=self._files)
        self._shell = shell
        if self._has_ended:
            # Whoever ended the episode could not see a shell that was still starting.
            shell.close()
        return shell

    def _lacks(self, problem: str, kind: str) -> Step:
        return _refuse(problem.format(form=self._answers.form), kind)


def shell_facts(limits: ShellLimits) -> dict[str, str]:
    """What an agent's instructions say of its shell, by the names of their placeholders."""
    return {
        "packages": ", ".join(installed_packages()) or "its standard library",
        "workspace": WORKSPACE,
        "seconds": f"{limits.wall_s:g}",
        "characters": f"{limits.output_characters:,}",
        "memory": f"{limits.memory_bytes >> 20:,} MB",
        "disk": f"{limits.disk_bytes >> 20:,} MB",
    }


def _refuse(problem: str, kind: str) -> Step:
    return Step((_observation(_CHECK, problem),), info={"valid": False, "why": kind})


def _observation(source: str, text: str) -> Message:
    return Message("user", f"Observation from {source}:\n{text}")

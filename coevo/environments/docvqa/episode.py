"""One episode: commands are run and answered until the agent gives its final answer, which is scored."""

from pathlib import Path

from coevo.content import read_text
from coevo.environments.docvqa.anls import anls, is_accurate
from coevo.environments.docvqa.final_answer import final_answer
from coevo.environments.docvqa.page import Page
from coevo.environments.tools.actions import BASH, Action, read_action, spoken
from coevo.environments.tools.confinement import WORKSPACE
from coevo.environments.tools.shell import Shell, ShellLimits
from coevo.interfaces import Message, Step, Task
from coevo.prompt_files import fill

IMAGE = "document.png"
"""The page's name in the workspace, whatever its format: programs look at the content."""

_LIMITS = ShellLimits()
_HERE = Path(__file__).parent
_CHECK = "format_check"
_NOTHING_FOUND = (
    "Neither an action nor a final answer was found. Run a command with an action, or end with a line that begins with "
    '"Final answer:" and holds the answer.'
)
_NOTHING_RUN = "A final answer counts only after a command. Look at the image with bash first."


class Episode:
    """The state of one episode.

    Args:
        task: With "question", "answers" and what `Page` needs.

    Raises:
        EnvironmentFault: If the page cannot be shown.
    """

    def __init__(self, task: Task):
        self._question = str(task.data["question"])
        self._references = tuple(map(str, task.data["answers"]))
        self._page = Page(task)
        self._shell: Shell | None = None
        self._commands = 0

    @property
    def opening(self) -> tuple[Message, Message]:
        """What the agent is told first."""
        values = {
            "image": f"{WORKSPACE}/{IMAGE}",
            "workspace": WORKSPACE,
            "seconds": f"{_LIMITS.wall_s:g}",
            "characters": f"{_LIMITS.output_characters:,}",
            "question": self._question,
        }
        system, user = (fill(read_text(_HERE / name), values).strip() for name in ("system.md", "user.md"))
        return Message("system", system), Message("user", user)

    def step(self, text: str) -> Step:
        """Run the command in an answer, or score the final answer in it, or say what is missing.

        Raises:
            EnvironmentFault: If the shell fails.
        """
        said = spoken(text)
        action = read_action(said)
        if action is not None:
            return self._act(action)
        answer = final_answer(said)
        if not answer:
            return _refuse(_NOTHING_FOUND, "neither action nor answer" if answer is None else "empty answer")
        if not self._commands:
            return _refuse(_NOTHING_RUN, "answer before a command")
        score = anls(answer, self._references)
        info = {"answer": answer, "commands": self._commands, "anls": score, "accurate": is_accurate(score)}
        return Step(reward=score, done=True, info={"valid": True, **info})

    def end(self) -> None:
        """Release the shell and the page; safe to call twice."""
        if self._shell is not None:
            self._shell.close()
        self._page.close()

    def _act(self, action: Action) -> Step:
        if action.problem:
            return _refuse(action.problem, "unreadable action")
        if self._shell is None:
            self._shell = Shell(_LIMITS, files={IMAGE: self._page.file})
        result = self._shell.run(action.command)
        self._commands += 1
        info = {"valid": True, "exit_code": result.exit_code, "timed_out": result.timed_out}
        return Step((_observation(BASH, result.observation),), info=info)


def _refuse(problem: str, kind: str) -> Step:
    return Step((_observation(_CHECK, problem),), info={"valid": False, "why": kind})


def _observation(source: str, text: str) -> Message:
    return Message("user", f"Observation from {source}:\n{text}")

r"""A ReAct agent for mathematics: reason, run a command, read what it prints, and give one final answer.

An answer of the agent with an action is run; one with a final answer and no action ends the episode, if a command has
run before (whether one has is known from what ran, never told from text); any other is told what it lacks. Score 1 for
a right answer and else 0, by the rules of `final_answer` and `scoring`. The turn limit is the rollout's; an answer in
the last turn counts.

The same task and answers give the same messages and scores as far as commands do: one that reads the clock, draws at
random or is near its time limit may print something else.

Source: the Math ReAct task of Agentic-ESOpt (action form, limits, reward); the wording of the prompt is ours.
"""

from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

from coevo.content import read_text
from coevo.environments.math.dataset import SPLITS, Source, questions
from coevo.environments.math.final_answer import final_answer
from coevo.environments.math.scoring import Scorer, require_math_verify
from coevo.environments.tools.actions import read_action, spoken
from coevo.environments.tools.confinement import WORKSPACE, installed_packages
from coevo.environments.tools.shell import Shell, ShellLimits, find_bwrap
from coevo.errors import ConfigError
from coevo.interfaces import Message, Step, Task
from coevo.prompt_files import fill

_HERE = Path(__file__).parent
_LIMITS = ShellLimits()

_NEITHER = (
    "There is neither an action nor a final answer in this. Run a command with a line Action: and JSON, or end with "
    "the line\nFinal answer: \\boxed{…}"
)
_EMPTY = "The final answer is empty. End with the line\nFinal answer: \\boxed{…}"
_NO_TOOL = "A final answer is accepted only after at least one command: compute or check it with bash first."


def tasks(
    split: str,
    *,
    data: str = "",
    test_data: str = "",
    question_column: str = "",
    answer_column: str = "",
    train: int = 400,
    val: int = 100,
    test: int = 100,
) -> Sequence[Task]:
    """The questions of a split, in order; a function of the options and the files they name.

    Args:
        split: train, val or test.
        data: Empty for generated questions, a file or folder of the user's, or the name of a published set.
        test_data: The same, for the split test; empty to take it from `data`.
        question_column: Empty to guess.
        answer_column: Empty to guess.
        train: Most questions in train.
        val: Most questions in val.
        test: Most questions in test.

    Raises:
        ConfigError: If a size is not usable.
        ContentError: If a data set is not there, or not as it should be.
        ExtraMissingError: If a package to read it is not installed.
    """
    if split not in SPLITS:
        raise ConfigError(f"expected one of the splits {', '.join(SPLITS)}, got {split!r}")
    source = Source(data, test_data, question_column, answer_column, (train, val, test))
    return [
        Task(f"{split}-{number:05d}", {"question": question, "answer": answer})
        for number, (question, answer) in enumerate(questions(source)[split])
    ]


def open(**options: Any) -> "MathAgent":  # noqa: A001 - the contract's name
    """A new environment; the options say which tasks there are and change nothing about an episode.

    Raises:
        ExtraMissingError: If math-verify is not installed.
        SandboxError: If the shell cannot be contained here.
    """
    require_math_verify()
    find_bwrap()
    return MathAgent()


class MathAgent:
    """See `coevo.interfaces.Environment`.

    Args:
        limits: What each command may use.
    """

    def __init__(self, limits: ShellLimits = _LIMITS):
        self._limits = limits
        self._scorer = Scorer()
        self._shell: Shell | None = None
        self._expected = ""
        self._num_commands = 0

    def reset(self, task: Task, seed: int) -> Sequence[Message]:
        """See `Environment`; nothing about an episode is random."""
        self._end_episode()
        self._expected, self._num_commands = task.data["answer"], 0
        self._shell = Shell(self._limits)
        facts = {
            "packages": ", ".join(installed_packages()) or "its standard library",
            "workspace": WORKSPACE,
            "seconds": f"{self._limits.wall_s:g}",
            "characters": str(self._limits.output_characters),
        }
        return (
            Message("system", fill(read_text(_HERE / "system.md"), facts).strip()),
            Message("user", fill(read_text(_HERE / "user.md"), {"question": task.data["question"]}).strip()),
        )

    def step(self, text: str) -> Step:
        """See `Environment`.

        Raises:
            EnvironmentFault: If the sandbox or the process that compares answers is gone.
            RuntimeError: If no episode is open.
        """
        if self._shell is None:
            raise RuntimeError("no episode is open: call reset before step")
        said = spoken(text)
        action = read_action(said)
        if action is not None:
            return _told(action.problem, "unreadable action") if action.problem else self._run(action.command)
        answer = final_answer(said)
        if answer is None:
            return _told(_NEITHER, "neither action nor answer")
        if not answer:
            return _told(_EMPTY, "empty answer")
        return self._finish(answer) if self._num_commands else _told(_NO_TOOL, "answer before a command")

    def close(self) -> None:
        """See `Environment`."""
        self._end_episode()
        self._scorer.close()

    def _run(self, command: str) -> Step:
        assert self._shell is not None
        result = self._shell.run(command)
        self._num_commands += 1
        message = Message("user", f"Observation from bash:\n{result.observation}")
        info = {"valid": True, "exit_code": result.exit_code, "timed_out": result.timed_out}
        return Step((message,), info=info)

    def _finish(self, answer: str) -> Step:
        verdict = self._scorer.score(self._expected, answer)
        self._end_episode()
        info = {"valid": True, "answer": answer, "commands": self._num_commands, **asdict(verdict)}
        return Step(reward=float(verdict.is_correct), done=True, info=info)

    def _end_episode(self) -> None:
        shell, self._shell = self._shell, None
        if shell is not None:
            shell.close()


def _told(problem: str, kind: str) -> Step:
    return Step((Message("user", f"Observation from format_check:\n{problem}"),), info={"valid": False, "why": kind})

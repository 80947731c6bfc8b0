r"""A ReAct agent for mathematics: reason, run a command, read what it prints, and give one final answer.

An episode is one of `coevo.environments.tools.react`. Score 1 for a right answer and else 0, by the rules of
`final_answer` and `scoring`.

The same task and answers give the same messages and scores as far as commands do: one that reads the clock, draws at
random or is near its time limit may print something else.

Source: the Math ReAct task of Agentic-ESOpt (action form, limits, reward); the wording of the prompt is ours.
"""

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

from coevo.content import read_text
from coevo.environments.math.dataset import SPLITS, Source, questions
from coevo.environments.math.final_answer import final_answer
from coevo.environments.math.scoring import Scorer, require_math_verify
from coevo.environments.tools.react import Answers, ReactEpisode, shell_facts
from coevo.environments.tools.shell import ShellLimits, find_bwrap, limits_of
from coevo.errors import ConfigError
from coevo.interfaces import Message, Step, Task
from coevo.prompt_files import fill

_HERE = Path(__file__).parent


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
    **_others: Any,
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


def open(*, memory_mb: int = 1024, disk_mb: int = 256, **_others: Any) -> "MathAgent":  # noqa: A001 - the contract's
    """A new environment; the other options say which tasks there are and change nothing about an episode.

    Raises:
        ConfigError: If the shell would have too little memory.
        ExtraMissingError: If math-verify is not installed.
        SandboxError: If the shell cannot be contained here.
    """
    limits = limits_of(memory_mb, disk_mb)
    require_math_verify()
    find_bwrap()
    return MathAgent(limits)


class MathAgent:
    """See `coevo.interfaces.Environment`.

    Args:
        limits: What each command may use.
    """

    def __init__(self, limits: ShellLimits | None = None):
        self._limits = limits or ShellLimits()
        self._scorer = Scorer()
        self._episode: ReactEpisode | None = None

    def reset(self, task: Task, seed: int) -> Sequence[Message]:
        """See `Environment`; nothing about an episode is random, and the shell is started by the first command."""
        self._end_episode()
        expected = task.data["answer"]
        answers = Answers("Final answer: \\boxed{…}", final_answer, lambda answer: self._scored(expected, answer))
        self._episode = ReactEpisode(answers, self._limits)
        system = fill(read_text(_HERE / "system.md"), shell_facts(self._limits))
        user = fill(read_text(_HERE / "user.md"), {"question": task.data["question"]})
        return Message("system", system.strip()), Message("user", user.strip())

    def step(self, text: str) -> Step:
        """See `Environment`.

        Raises:
            EnvironmentFault: If the sandbox or the process that compares answers is gone.
            RuntimeError: If no episode is open.
        """
        if self._episode is None:
            raise RuntimeError("no episode is open: call reset before step")
        step = self._episode.step(text)
        if step.done:
            self._end_episode()
        return step

    def close(self) -> None:
        """See `Environment`."""
        self._end_episode()
        self._scorer.close()

    def _scored(self, expected: str, answer: str) -> tuple[float, Mapping[str, Any]]:
        verdict = self._scorer.score(expected, answer)
        return float(verdict.is_correct), asdict(verdict)

    def _end_episode(self) -> None:
        episode, self._episode = self._episode, None
        if episode is not None:
            episode.end()

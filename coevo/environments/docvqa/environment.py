"""Document question answering for an agent that cannot see: it reads the page with OCR, in a shell.

An episode (`coevo.environments.tools.react`) ends with the agent's final answer and earns its ANLS (`anls`), by one
rule (`final_answer`). The page is shown read-only in the workspace of a shell without network.

Source: the DocVQA task of Agentic-ESOpt (tool, limits, reward); the wording of the prompts and the generated documents
are ours, and so is the rule that a missing final-answer line is never made up for.
"""

from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Any

from coevo.content import read_text
from coevo.environments.docvqa.anls import anls, is_accurate
from coevo.environments.docvqa.dataset import local_tasks
from coevo.environments.docvqa.final_answer import final_answer
from coevo.environments.docvqa.generator import generated_tasks
from coevo.environments.docvqa.page import Page
from coevo.environments.docvqa.tesseract import require_tesseract
from coevo.environments.tools.confinement import WORKSPACE
from coevo.environments.tools.react import Answers, ReactEpisode, shell_facts
from coevo.environments.tools.shell import ShellLimits, limits_of
from coevo.errors import ConfigError
from coevo.interfaces import Message, Step, Task
from coevo.prompt_files import fill

IMAGE = "document.png"
"""The page's name in the workspace, whatever its format: programs look at the content."""

_HERE = Path(__file__).parent


def tasks(
    split: str, *, data: str = "", train: int = 50, val: int = 50, test: int = 100, **_others: Any
) -> Sequence[Task]:
    """The questions of a split, in order; a function of the options and, for a copy of DocVQA, of its files.

    Args:
        split: train, val or test; no document is in two of them.
        data: Empty for generated documents, or the path of a copy of DocVQA (`dataset`).
        train: Questions in train; of a copy, at most that many.
        val: The same for val.
        test: The same for test.

    Raises:
        ConfigError: For a split that does not exist or a size below 1.
        ContentError: For data that cannot be read, or an image that is not one; names the file.
        ExtraMissingError: Without Pillow, or without pyarrow where `data` is parquet.
    """
    sizes = {"train": train, "val": val, "test": test}
    if split not in sizes:
        raise ConfigError(f"expected a split of docvqa ({', '.join(sizes)}), got {split!r}")
    if sizes[split] < 1:
        raise ConfigError(f"expected {split} to be 1 or more questions, got {sizes[split]}")
    if data:
        return local_tasks(Path(data).expanduser(), split, sizes[split])
    return generated_tasks(split, sizes[split])


def open(*, memory_mb: int = 1024, disk_mb: int = 256, **_others: Any) -> "DocVqa":  # noqa: A001 - the contract's name
    """A new environment; the other options say which tasks there are and change nothing about an episode.

    Raises:
        ConfigError: If the shell has no tesseract, or would have too little memory.
        SandboxError: If no shell can be held here.
    """
    limits = limits_of(memory_mb, disk_mb)
    require_tesseract()
    return DocVqa(limits)


class DocVqa:
    """See `coevo.interfaces.Environment`. Nothing is random, and the seed is not used.

    The same task and answers give the same messages and rewards, as far as the agent's commands print the same: one
    that tells the time does not, nor one that is stopped for the time it takes.

    Args:
        limits: What each command may use.
    """

    def __init__(self, limits: ShellLimits | None = None):
        self._limits = limits or ShellLimits()
        self._episode: ReactEpisode | None = None
        self._open = ExitStack()

    def reset(self, task: Task, seed: int) -> Sequence[Message]:
        """See `Environment`; the shell is started by the first command.

        Raises:
            EnvironmentFault: If the page can no longer be read, or not be written to the temporary folder.
        """
        self.close()
        references = tuple(map(str, task.data["answers"]))
        page = Page(task)
        self._open.callback(page.close)
        answers = Answers("Final answer: <the answer>", final_answer, lambda answer: _scored(answer, references))
        self._episode = ReactEpisode(answers, self._limits, {IMAGE: page.file})
        self._open.callback(self._episode.end)
        return self._opening(str(task.data["question"]))

    def step(self, text: str) -> Step:
        """See `Environment`.

        Raises:
            EnvironmentFault: If the shell fails, or the page is gone.
            RuntimeError: If no episode is open.
        """
        if self._episode is None:
            raise RuntimeError("no episode is open: call reset before step")
        step = self._episode.step(text)
        if step.done:
            self.close()
        return step

    def close(self) -> None:
        """See `Environment`."""
        self._episode = None
        self._open.close()

    def _opening(self, question: str) -> tuple[Message, Message]:
        values = {**shell_facts(self._limits), "image": f"{WORKSPACE}/{IMAGE}", "question": question}
        system, user = (fill(read_text(_HERE / name), values).strip() for name in ("system.md", "user.md"))
        return Message("system", system), Message("user", user)


def _scored(answer: str, references: Sequence[str]) -> tuple[float, Mapping[str, Any]]:
    score = anls(answer, references)
    return score, {"anls": score, "accurate": is_accurate(score)}

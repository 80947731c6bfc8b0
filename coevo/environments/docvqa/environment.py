"""Document question answering for an agent that cannot see: it reads the page with OCR, in a shell.

An episode ends with the agent's final answer and earns its ANLS (`anls`), by one rule (`final_answer`). The page is
shown read-only in the workspace of a shell without network (`coevo.environments.tools.shell`).

Source: the DocVQA task of Agentic-ESOpt (tool, limits, reward); the wording of the prompts and the generated documents
are ours, and so is the rule that a missing final-answer line is never made up for.
"""

from collections.abc import Sequence
from pathlib import Path

from coevo.environments.docvqa.dataset import local_tasks
from coevo.environments.docvqa.episode import Episode
from coevo.environments.docvqa.generator import generated_tasks
from coevo.environments.docvqa.tesseract import require_tesseract
from coevo.errors import ConfigError
from coevo.interfaces import Message, Step, Task


def tasks(split: str, *, data: str = "", train: int = 50, val: int = 50, test: int = 100) -> Sequence[Task]:
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


def open(*, data: str = "", train: int = 50, val: int = 50, test: int = 100) -> "DocVqa":  # noqa: A001 - the contract
    """A new environment; the options say which tasks there are and change nothing about an episode.

    Raises:
        ConfigError: If the shell has no tesseract.
        SandboxError: If no shell can be held here.
    """
    require_tesseract()
    return DocVqa()


class DocVqa:
    """See `coevo.interfaces.Environment`. Nothing is random, and the seed is not used.

    The same task and answers give the same messages and rewards, as far as the agent's commands print the same: one
    that tells the time does not, nor one that is stopped for the time it takes.
    """

    def __init__(self) -> None:
        self._episode: Episode | None = None

    def reset(self, task: Task, seed: int) -> Sequence[Message]:
        """See `Environment`; the shell is started by the first command.

        Raises:
            EnvironmentFault: If the page can no longer be read, or not be written to the temporary folder.
        """
        self.close()
        self._episode = Episode(task)
        return self._episode.opening

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
        if self._episode is not None:
            self._episode.end()
            self._episode = None

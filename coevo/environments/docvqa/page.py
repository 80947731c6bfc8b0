"""The image of a task's page as a file, for as long as an episode lasts."""

import tempfile
from pathlib import Path

from coevo.environments.docvqa.drawing import draw
from coevo.environments.docvqa.generator import generate
from coevo.errors import EnvironmentFault
from coevo.interfaces import Task


class Page:
    """A generated document is drawn into a temporary file; the image of a user's document is used where it lies.

    Args:
        task: With "image", a path, or "document", the split and number of a generated one.

    Raises:
        EnvironmentFault: If the page cannot be written, or is no longer there.
    """

    def __init__(self, task: Task):
        self._folder: tempfile.TemporaryDirectory[str] | None = None
        if "image" in task.data:
            self.file = Path(task.data["image"])
            if not self.file.is_file():
                raise EnvironmentFault(f"expected the page of task {task.name} at {self.file}, it is no longer there")
        else:
            self.file = self._draw(*task.data["document"])

    def close(self) -> None:
        """Remove what was drawn; safe to call twice."""
        if self._folder is not None:
            self._folder.cleanup()

    def _draw(self, split: str, number: int) -> Path:
        content = draw(generate(split, number))
        try:
            self._folder = tempfile.TemporaryDirectory(prefix="coevo-docvqa-", ignore_cleanup_errors=True)
            file = Path(self._folder.name) / "page.png"
            file.write_bytes(content)
        except OSError as error:
            self.close()
            raise EnvironmentFault(f"expected to write a page to the temporary folder, got: {error}") from error
        return file

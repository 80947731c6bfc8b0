"""The prompts of skills: content files in `operators/`, checked when they are loaded.

Front matter holds the name; the body's `$placeholders` have to be those its prompt is filled with, no fewer.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from pydantic import BaseModel, ConfigDict, Field

from coevo.errors import ContentError
from coevo.prompt_files import fill, find_prompt_file, read_prompt_file

_LESSON = frozenset({"task", "skill", "trace", "lesson_chars"})
PLACEHOLDERS: dict[str, frozenset[str]] = {
    "skill_lesson": _LESSON,
    "skill_failure": _LESSON,
    "skill_merge": frozenset({"task", "skill", "edits", "lesson_chars", "max_edits"}),
}
"""The prompts there are, and what each is filled with."""


class FrontMatter(BaseModel):
    """What stands between the two `+++` lines."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    name: str = Field(pattern=r"^skill_[a-z_]+$")


@dataclass(frozen=True, slots=True)
class Prompt:
    """A prompt with places to fill in."""

    name: str
    body: str

    def fill(self, values: Mapping[str, str]) -> str:
        """The body with every placeholder filled in; what is filled in is not read for placeholders again."""
        return fill(self.body, dict(values))


def read_prompt(file: Path) -> Prompt:
    """Load and check one prompt file.

    Raises:
        ContentError: Naming the file, and the line where there is one.
    """
    if file.stem not in PLACEHOLDERS:
        raise ContentError(f"{file}: expected a file called as one of {', '.join(PLACEHOLDERS)}")
    expected = PLACEHOLDERS[file.stem]
    read = read_prompt_file(file, FrontMatter, expected)
    if read.matter.name != file.stem:
        raise ContentError(f"{file}: expected name = {file.stem!r} as the file is called, got {read.matter.name!r}")
    read.require(expected)
    return Prompt(read.matter.name, read.body)


def load_prompts() -> dict[str, Prompt]:
    """The prompts of skills, each from the first content root that has it.

    Raises:
        ContentError: If one is missing or malformed.
    """
    return {name: read_prompt(find_prompt_file(name)) for name in PLACEHOLDERS}

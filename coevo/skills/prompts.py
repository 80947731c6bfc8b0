"""The prompts of skills: content files in `operators/`, checked when they are loaded.

Front matter holds the name; the body's `$placeholders` have to be those its prompt is filled with, no fewer.
"""

import string
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from coevo.content import content_roots, explain, read_text
from coevo.errors import ContentError

FENCE = "+++"
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
        return string.Template(self.body).substitute(values)


def read_prompt(file: Path) -> Prompt:
    """Load and check one prompt file.

    Raises:
        ContentError: Naming the file, and the line where there is one.
    """
    opening, _, rest = read_text(file).partition("\n")
    front, fence, body = rest.partition(f"\n{FENCE}\n")
    if opening.strip() != FENCE or not fence:
        raise ContentError(f"{file}:1: expected TOML front matter between two lines of {FENCE}")
    try:
        matter = FrontMatter.model_validate(tomllib.loads(front))
    except tomllib.TOMLDecodeError as error:
        raise ContentError(f"{file}: front matter is not valid TOML: {error}") from error
    except ValidationError as error:
        raise ContentError(f"{file}: front matter: {explain(error)}") from error
    if matter.name not in PLACEHOLDERS or matter.name != file.stem:
        known = ", ".join(PLACEHOLDERS)
        raise ContentError(f"{file}: expected name = {file.stem!r}, one of {known}, got {matter.name!r}")
    _check_placeholders(file, body, front.count("\n") + 4, PLACEHOLDERS[matter.name])
    return Prompt(matter.name, body)


def _check_placeholders(file: Path, body: str, first_line: int, expected: frozenset[str]) -> None:
    used = set()
    for number, line in enumerate(body.split("\n"), first_line):
        template = string.Template(line)
        if not template.is_valid():
            raise ContentError(f"{file}:{number}: a lone $; write $$ for a dollar sign")
        for name in template.get_identifiers():
            if name not in expected:
                known = ", ".join(f"${p}" for p in sorted(expected))
                raise ContentError(f"{file}:{number}: unknown placeholder ${name}; known are {known}")
            used.add(name)
    if missing := sorted(expected - used):
        raise ContentError(f"{file}: the prompt needs ${missing[0]}, which is not there")


def load_prompts() -> dict[str, Prompt]:
    """The prompts of skills, each from the first content root that has it.

    Raises:
        ContentError: If one is missing or malformed.
    """
    return {name: _find(name) for name in PLACEHOLDERS}


def _find(name: str) -> Prompt:
    for root in content_roots():
        file = root / "operators" / f"{name}.md"
        if file.is_file():
            return read_prompt(file)
    raise ContentError(
        f"expected a prompt file {name}.md under operators/ in one of {[str(r) for r in content_roots()]}"
    )

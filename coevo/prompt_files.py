"""Prompt files: Markdown with TOML front matter between two `+++` lines and a body with `$placeholders`.

Everything is checked when a file is read, so that a misspelt placeholder fails before any money is spent.
"""

import string
import tomllib
from collections.abc import Collection
from dataclasses import dataclass
from pathlib import Path
from typing import Generic, TypeVar

from pydantic import BaseModel, ValidationError

from coevo.content import content_roots, read_text
from coevo.errors import ContentError
from coevo.explaining import explain

FENCE = "+++"
FOLDER = "operators"

Matter = TypeVar("Matter", bound=BaseModel)


@dataclass(frozen=True, slots=True)
class PromptFile(Generic[Matter]):
    """A file that has been read.

    Attributes:
        file: Where it is.
        matter: Its front matter.
        body: The prompt.
        used: The placeholders in it.
    """

    file: Path
    matter: Matter
    body: str
    used: frozenset[str]

    def require(self, names: Collection[str]) -> None:
        """Raise ContentError unless all of these placeholders are in the body."""
        for name in sorted(names):
            if name not in self.used:
                raise ContentError(f"{self.file}: the prompt needs ${name}, which is not there")


def read_prompt_file(file: Path, matter: type[Matter], known: Collection[str]) -> PromptFile[Matter]:
    """Read and check one file.

    Args:
        file: Where it is.
        matter: What stands in its front matter.
        known: The placeholders that may stand in its body.

    Raises:
        ContentError: Naming the file, and the line where there is one.
    """
    opening, _, rest = read_text(file).partition("\n")
    front, fence, body = rest.partition(f"\n{FENCE}\n")
    if opening.strip() != FENCE or not fence:
        raise ContentError(f"{file}:1: expected TOML front matter between two lines of {FENCE}")
    try:
        values = matter.model_validate(tomllib.loads(front))
    except tomllib.TOMLDecodeError as error:
        raise ContentError(f"{file}: front matter is not valid TOML: {error}") from error
    except ValidationError as error:
        raise ContentError(f"{file}: front matter: {explain(error, matter)}") from error
    return PromptFile(file, values, body, _placeholders(file, body, front.count("\n") + 4, known))


def find_prompt_file(name: str) -> Path:
    """The file of this name, from the first content root that has it.

    Raises:
        ContentError: If there is none.
    """
    for root in content_roots():
        file = root / FOLDER / f"{name}.md"
        if file.is_file():
            return file
    raise ContentError(
        f"expected a prompt file {name}.md under {FOLDER}/ in one of {[str(root) for root in content_roots()]}"
    )


def fill(body: str, values: dict[str, str]) -> str:
    """The body with every placeholder filled in; what is filled in is not read for placeholders again."""
    return string.Template(body).substitute(values)


def _placeholders(file: Path, body: str, first_line: int, known: Collection[str]) -> frozenset[str]:
    """Every placeholder of the body; refuses unknown and malformed ones, naming the line."""
    used = set()
    for number, line in enumerate(body.split("\n"), first_line):
        template = string.Template(line)
        if not template.is_valid():
            raise ContentError(f"{file}:{number}: a lone $; write $$ for a dollar sign")
        for name in template.get_identifiers():
            if name not in known:
                listed = ", ".join(f"${p}" for p in sorted(known))
                raise ContentError(f"{file}:{number}: unknown placeholder ${name}; known are {listed}")
            used.add(name)
    return frozenset(used)

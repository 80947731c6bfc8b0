"""Operators: one Markdown file each, with TOML front matter and a prompt body.

The body's `$placeholders` are checked when the file is loaded, so that a misspelt one fails before any money is spent.
The five that ship are those of EoH (Liu et al. 2024, arXiv:2401.02051): i1 new, e1 explore, e2 combine, m1 modify,
m2 re-tune. At operators with `evolves_model = true` the search perturbs the model that answers.
"""

import string
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from coevo.content import content_roots, explain, read_text
from coevo.errors import ContentError

SKILL = "skill"
"""The placeholder for what a run has learned; optional, and empty until something has been."""
PLACEHOLDERS = frozenset({"task", "function", "definition", "arguments", "returns", "parents", SKILL})
FENCE = "+++"


class FrontMatter(BaseModel):
    """What stands between the two `+++` lines of an operator file."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    name: str = Field(pattern=r"^[a-z][a-z0-9_]*$")
    parents: int = Field(ge=0, le=8)
    evolves_model: bool


@dataclass(frozen=True, slots=True)
class Operator:
    """One way to make a child: how many parents it reads and what the model is told."""

    name: str
    parents: int
    evolves_model: bool
    body: str

    @property
    def takes_skill(self) -> bool:
        """Whether the prompt has a place for what a run has learned."""
        return SKILL in string.Template(self.body).get_identifiers()

    def prompt(self, values: dict[str, str]) -> str:
        """The body with every placeholder filled in."""
        return string.Template(self.body).substitute(values)


def read_operator(file: Path) -> Operator:
    """Load and check one operator file.

    Raises:
        ContentError: Naming the file, and the line where there is one.
    """
    text = read_text(file)
    opening, _, rest = text.partition("\n")
    front, fence, body = rest.partition(f"\n{FENCE}\n")
    if opening.strip() != FENCE or not fence:
        raise ContentError(f"{file}:1: expected TOML front matter between two lines of {FENCE}")
    try:
        matter = FrontMatter.model_validate(tomllib.loads(front))
    except tomllib.TOMLDecodeError as error:
        raise ContentError(f"{file}: front matter is not valid TOML: {error}") from error
    except ValidationError as error:
        raise ContentError(f"{file}: front matter: {explain(error)}") from error
    first_line = front.count("\n") + 4
    used = _check_placeholders(file, body, first_line)
    if matter.parents and "parents" not in used:
        raise ContentError(f"{file}: reads {matter.parents} parents, so its prompt needs $parents, which is not there")
    if not matter.parents and "parents" in used:
        raise ContentError(f"{file}: has $parents in its prompt but reads none; set parents in the front matter")
    return Operator(matter.name, matter.parents, matter.evolves_model, body)


def _check_placeholders(file: Path, body: str, first_line: int) -> set[str]:
    """Every placeholder of the body; refuses unknown and malformed ones, naming the line."""
    used = set()
    for number, line in enumerate(body.split("\n"), first_line):
        template = string.Template(line)
        if not template.is_valid():
            raise ContentError(f"{file}:{number}: a lone $; write $$ for a dollar sign")
        for name in template.get_identifiers():
            if name not in PLACEHOLDERS:
                known = ", ".join(f"${p}" for p in sorted(PLACEHOLDERS))
                raise ContentError(f"{file}:{number}: unknown placeholder ${name}; known are {known}")
            used.add(name)
    for name in ("task", "definition"):
        if name not in used:
            raise ContentError(f"{file}: the prompt needs ${name}, which is not there")
    return used


def load_operators(names: tuple[str, ...]) -> dict[str, Operator]:
    """The operators of these names, from the first content root that has each.

    Raises:
        ContentError: If one is missing, misnamed or malformed.
    """
    return {name: _find(name) for name in names}


def evolving(operators: Mapping[str, Operator]) -> frozenset[str]:
    """Names of the operators at which the model evolves."""
    return frozenset(name for name, operator in operators.items() if operator.evolves_model)


def _find(name: str) -> Operator:
    for root in content_roots():
        file = root / "operators" / f"{name}.md"
        if file.is_file():
            operator = read_operator(file)
            if operator.name != name:
                raise ContentError(f"{file}: expected name = {name!r} as the file is called, got {operator.name!r}")
            return operator
    raise ContentError(
        f"expected an operator file {name}.md under operators/ in one of {[str(r) for r in content_roots()]}"
    )

"""Operators: one Markdown file each, with TOML front matter and a prompt body.

The five that ship are those of EoH (Liu et al. 2024, arXiv:2401.02051): i1 new, e1 explore, e2 combine, m1 modify,
m2 re-tune. At operators with `evolves_model = true` the search perturbs the model that answers.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from pydantic import BaseModel, ConfigDict, Field

from coevo.errors import ContentError
from coevo.prompt_files import fill, find_prompt_file, read_prompt_file

SKILL = "skill"
"""The placeholder for what a run has learned; optional, and empty until something has been."""
PLACEHOLDERS = frozenset({"task", "function", "definition", "arguments", "returns", "parents", SKILL})


class FrontMatter(BaseModel):
    """What stands between the two `+++` lines of an operator file."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    name: str = Field(pattern=r"^[a-z][a-z0-9_]*$")
    parents: int = Field(ge=0, le=8)
    evolves_model: bool


@dataclass(frozen=True, slots=True)
class Operator:
    """One way to make a child: how many parents it reads, what the model is told, and whether a skill has its place."""

    name: str
    parents: int
    evolves_model: bool
    body: str
    takes_skill: bool = False

    def prompt(self, values: dict[str, str]) -> str:
        """The body with every placeholder filled in."""
        return fill(self.body, values)


def read_operator(file: Path) -> Operator:
    """Load and check one operator file.

    Raises:
        ContentError: Naming the file, and the line where there is one.
    """
    read = read_prompt_file(file, FrontMatter, PLACEHOLDERS)
    matter = read.matter
    if matter.parents and "parents" not in read.used:
        raise ContentError(f"{file}: reads {matter.parents} parents, so its prompt needs $parents, which is not there")
    if not matter.parents and "parents" in read.used:
        raise ContentError(f"{file}: has $parents in its prompt but reads none; set parents in the front matter")
    read.require(("task", "definition"))
    return Operator(matter.name, matter.parents, matter.evolves_model, read.body, SKILL in read.used)


def load_operators(names: tuple[str, ...]) -> dict[str, Operator]:
    """The operators of these names, from the first content root that has each.

    Raises:
        ContentError: If one is missing, misnamed or malformed.
    """
    return {name: _named(name, find_prompt_file(name)) for name in names}


def _named(name: str, file: Path) -> Operator:
    operator = read_operator(file)
    if operator.name != name:
        raise ContentError(f"{file}: expected name = {name!r} as the file is called, got {operator.name!r}")
    return operator


def evolving(operators: Mapping[str, Operator]) -> frozenset[str]:
    """Names of the operators at which the model evolves."""
    return frozenset(name for name, operator in operators.items() if operator.evolves_model)

"""Validity of a model per kind of problem and operator: how many new children run and answer legally.

Counted are children that are distinct and were not taught, under the real signatures, from parents that were not
taught either: fresh programs of the grammar, and ordinary heuristics that people wrote.
"""

import ast
from collections.abc import Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from typing import Literal

import numpy as np

from coevo.codec import decode_child, encode_body, encode_prompt
from coevo.content import Signature
from coevo.engines.embedded import edits
from coevo.engines.embedded.baselines import BASELINES, SIGNATURES
from coevo.engines.embedded.corpus import slots_of
from coevo.engines.embedded.edits import OPERATORS
from coevo.engines.embedded.execution import failure, is_harmless, random_inputs
from coevo.engines.embedded.families import FAMILIES, Family
from coevo.engines.embedded.render import render
from coevo.engines.embedded.sampling import Generate

ParentSource = Literal["grammar", "people"]
_NUM_INPUTS = 4
_POOL = 60


@dataclass(frozen=True, slots=True)
class Cell:
    """One cell of the table.

    Attributes:
        family: Kind of problem.
        operator: Which operator was asked.
        parents: Who wrote the parents.
        asked: Completions asked for.
        counted: Distinct children that were not taught.
        valid: Of the counted, those that answer every input legally.
        differing: Of the asked, those that are no copy of a parent.
        failures: Why the others failed.
    """

    family: str
    operator: str
    parents: ParentSource
    asked: int
    counted: int
    valid: int
    differing: int
    failures: tuple[str, ...]


def measure(
    generate: Generate, *, count: int, seed: int, taught: AbstractSet[str], families: Sequence[str] = tuple(FAMILIES)
) -> list[Cell]:
    """The table, or the rows of some families.

    Args:
        generate: Completes prompts.
        count: Completions per cell.
        seed: Of parents and inputs; not of the completions.
        taught: Every body of the training corpus, in slots.
        families: Names of the families to measure.
    """
    survey = _Survey(generate, np.random.default_rng(seed), count, taught)
    sources: tuple[ParentSource, ...] = ("grammar", "people")
    return [
        _measure_cell(survey, FAMILIES[name], operator, source)
        for name in families
        for source in sources
        for operator in OPERATORS
        if OPERATORS[operator] or source == "grammar"
    ]


@dataclass(frozen=True, slots=True)
class _Survey:
    """What every cell of a table shares."""

    generate: Generate
    rng: np.random.Generator
    count: int
    taught: AbstractSet[str]


def _measure_cell(survey: _Survey, family: Family, operator: str, source: ParentSource) -> Cell:
    rng, count, taught = survey.rng, survey.count, survey.taught
    signature = SIGNATURES[family.name]
    pool = _parents(rng, family, signature, source, taught)
    choices = [[pool[int(p)] for p in rng.integers(len(pool), size=OPERATORS[operator])] for _ in range(count)]
    children = survey.generate([encode_prompt(operator, signature, parents) for parents in choices])
    bodies = [canonical(signature, child) for child in children]
    known = [{encode_body(signature, parent) for parent in parents} for parents in choices]
    differing = sum(body not in parents for body, parents in zip(bodies, known, strict=True))
    fresh = [body for body in dict.fromkeys(bodies) if body not in taught]
    findings = [_finding(rng, family, signature, body) for body in fresh]
    failures = tuple(finding for finding in findings if finding)
    return Cell(
        family.name, operator, source, count, len(fresh), len(fresh) - len(failures), differing, failures
    )  # fmt: skip


def canonical(signature: Signature, child: str | None) -> str:
    """A child as the codec spells it, so that equal programs are equal texts; raw text if it does not parse."""
    if child is None:
        return "cut off"
    try:
        return encode_body(signature, decode_child(signature, child))
    except ValueError:
        return child


def _finding(rng: np.random.Generator, family: Family, signature: Signature, body: str) -> str:
    try:
        tree = ast.parse(decode_child(signature, body))
    except SyntaxError:
        return "SyntaxError"
    if not is_harmless(tree):
        return "unknown names"
    inputs = [random_inputs(rng, family) for _ in range(_NUM_INPUTS)]
    return failure(body, tuple(argument.kind for argument in signature.arguments), family, inputs)


def _parents(
    rng: np.random.Generator, family: Family, signature: Signature, source: ParentSource, taught: AbstractSet[str]
) -> Sequence[str]:
    """Complete sources."""
    if source == "people":
        return [text for text in BASELINES[family.name] if encode_body(signature, text) not in taught]
    kinds = tuple(argument.kind for argument in signature.arguments)
    bodies: list[str] = []
    while len(bodies) < _POOL:
        body = render(edits.fresh(rng, family, frozenset(kinds)), slots_of(kinds))
        if body not in taught:
            bodies.append(body)
    return [decode_child(signature, body) for body in bodies]

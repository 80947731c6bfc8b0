"""The structure of a grammar program: what the corpus generates, edits, renders and parses back.

A program computes one score from weighted terms and returns what the score picks. Terms refer to features of a family
(`families`); everything here is independent of argument names and order.
"""

from dataclasses import dataclass, replace
from typing import Literal

GRID = tuple(
    str(value)
    for value in (
        0.01, 0.02, 0.03, 0.05, 0.07, 0.1, 0.15, 0.2, 0.25, 0.3, 0.35, 0.4, 0.45, 0.5, 0.55, 0.6, 0.65, 0.7, 0.75, 0.8,
        0.85, 0.9, 0.95, 1.1, 1.2, 1.3, 1.4, 1.5, 1.6, 1.7, 1.8, 1.9, 2.0, 2.2, 2.5, 2.8, 3.0, 3.5, 4.0, 5.0, 6.0, 8.0,
    )
)  # fmt: skip
"""Every real constant of the grammar: few enough that each is one token, near-logarithmic so that tuning has steps."""

Transform = Literal["id", "sqrt", "pow", "log", "rank", "norm", "exp"]
ModifierKind = Literal["gate", "damp", "bonus", "switch"]
REUSING: frozenset[str] = frozenset({"norm", "exp"})
"""Transforms that mention their argument twice, so that it needs a name."""


@dataclass(frozen=True, slots=True)
class Feature:
    """One use of a catalogue entry.

    Attributes:
        key: Position in the family's catalogue.
        numbers: Values of its integer holes, in order.
    """

    key: int
    numbers: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True)
class Term:
    """One summand of the score: sign · weight · transform(feature).

    Attributes:
        feature: What is measured.
        transform: How it is bent.
        power: Constant of `pow` and `exp`; "" for the others.
        weight: Constant factor; "" for none.
        sign: "+" or "-".
    """

    feature: Feature
    transform: Transform = "id"
    power: str = ""
    weight: str = ""
    sign: str = "+"


@dataclass(frozen=True, slots=True)
class Modifier:
    """One line that changes the finished score.

    Attributes:
        kind: `gate` multiplies by 1 + weight · feature, `damp` divides by weight + feature, `bonus` adds weight where
            the first feature is below threshold times its mean, `switch` multiplies by weight there.
        weight: Constant.
        feature: Only of gate and damp.
        threshold: Constant, only of bonus and switch.
    """

    kind: ModifierKind
    weight: str
    feature: Feature | None = None
    threshold: str = ""


@dataclass(frozen=True, slots=True)
class Program:
    """One heuristic of the grammar.

    Attributes:
        family: Name of the family whose features it uses.
        terms: One to four summands.
        modifier: At most one change of the score.
        is_named: Whether every feature gets a line and a name `f1`, `f2`, … of its own.
        narrow: Next node only: how many nearest nodes are considered; 0 for all.
        closing: Which of the family's last lines is used.
    """

    family: str
    terms: tuple[Term, ...]
    modifier: Modifier | None = None
    is_named: bool = False
    narrow: int = 0
    closing: int = 0


def normalised(program: Program, *, is_sum: frozenset[int]) -> Program:
    """The program in the one form that renders without ambiguity.

    Args:
        program: Any program.
        is_sum: Catalogue positions whose text is a sum at its top level: leading and bare, it would read as two terms.
    """
    first = program.terms[0]
    reuses = any(term.transform in REUSING for term in program.terms)
    points_at_first = program.modifier is not None and program.modifier.kind in ("bonus", "switch")
    is_ambiguous = first.feature.key in is_sum and first.transform == "id" and not first.weight and first.sign == "+"
    return replace(program, is_named=program.is_named or reuses or points_at_first or is_ambiguous)

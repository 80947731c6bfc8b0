"""What the operators do to programs: fresh ones (i1, e1), recombination (e2), new structure (m1), new constants (m2).

Every function draws from the generator it is given and returns programs whose features exist for the signature.
"""

import math
from collections.abc import Sequence
from collections.abc import Set as AbstractSet
from dataclasses import replace

import numpy as np

from coevo.engines.embedded.families import FAMILIES, Entry, Family
from coevo.engines.embedded.program import GRID, Feature, Modifier, Program, Term, Transform, normalised
from coevo.engines.embedded.render import features_of

Kinds = frozenset[str]
OPERATORS = {"i1": 0, "e1": 2, "e2": 2, "m1": 1, "m2": 1}
"""Parents of every operator."""

_EXPENSIVE = "[c]["
_MAX_TERMS = 4
_USUAL: tuple[Transform, ...] = ("id",) * 14 + ("sqrt", "pow", "pow", "log")


def apply(rng: np.random.Generator, operator: str, family: Family, parents: Sequence[Program], kinds: Kinds) -> Program:
    """What an operator makes of grammar programs; a fresh program if it has none to edit."""
    if operator == "m1" and parents:
        return change_structure(rng, parents[0], kinds)
    if operator == "m2" and parents:
        return change_constants(rng, parents[0], kinds)
    if operator == "e2" and parents:
        return recombine(rng, parents, kinds)
    return fresh(rng, family, kinds, avoid=parents)


def fresh(rng: np.random.Generator, family: Family, kinds: Kinds, *, avoid: Sequence[Program] = ()) -> Program:
    """A new program, with features that the programs to avoid lack where there is a choice."""
    taken = {term.feature.key for program in avoid for term in program.terms[1:]}
    terms: list[Term] = []
    for _ in range(rng.choice((1, 2, 3, 4), p=(0.12, 0.48, 0.3, 0.1))):
        terms.append(_term(rng, family, kinds, exclude=taken | {term.feature.key for term in terms}))
    if family.is_minimised and rng.random() < 0.75:
        terms[0] = replace(terms[0], feature=Feature(0), sign="+") if rng.random() < 0.3 else Term(Feature(0))
        terms = [terms[0], *(term for term in terms[1:] if term.feature.key != 0)]
    terms[0] = replace(terms[0], weight="" if rng.random() < 0.8 else terms[0].weight)
    return _finished(rng, Program(
        family.name,
        tuple(terms),
        _modifier(rng, family, kinds) if rng.random() < 0.22 else None,
        is_named=bool(rng.random() < 0.1),
        narrow=_narrow(rng) if family.is_minimised and rng.random() < 0.35 else 0,
        closing=int(rng.integers(len(family.closings))),
    ), kinds)  # fmt: skip


def change_structure(rng: np.random.Generator, program: Program, kinds: Kinds) -> Program:
    """m1: one or two structural edits; the result differs from the program."""
    changed = program
    while changed == program:
        for _ in range(rng.choice((1, 2), p=(0.7, 0.3))):
            changed = _structural_edit(rng, changed, kinds)
        changed = _finished(rng, changed, kinds)
    return changed


def change_constants(rng: np.random.Generator, program: Program, kinds: Kinds) -> Program:
    """m2: new values for some constants; a program without any gets a weight."""
    if not _constants(program):
        position = int(rng.integers(len(program.terms)))
        weighted = replace(program.terms[position], weight=_constant(rng))
        changed = _with_term(program, position, weighted)
        return _finished(rng, changed if len(program.terms) > 1 else _extended(rng, changed, kinds), kinds)
    changed = program
    while changed == program:
        for place in _constants(program):
            if rng.random() < 0.6:
                changed = _with_constant(rng, changed, place)
    return _finished(rng, changed, kinds)


def recombine(rng: np.random.Generator, parents: Sequence[Program], kinds: Kinds) -> Program:
    """e2: terms of every parent in the frame of one of them; differs from each."""
    frame = parents[int(rng.integers(len(parents)))]
    heads = [parent.terms[int(rng.integers(len(parent.terms)))] for parent in parents]
    rest = [term for parent in parents for term in parent.terms]
    count = int(rng.integers(2, _MAX_TERMS + 1))
    terms: list[Term] = []
    for term in [frame.terms[0], *heads, *(rest[position] for position in rng.permutation(len(rest)))]:
        if all(term.feature.key != other.feature.key for other in terms) and len(terms) < count:
            terms.append(term)
    modifiers = [parent.modifier for parent in parents]
    donor = parents[int(rng.integers(len(parents)))]
    child = replace(
        frame, terms=tuple(terms), modifier=modifiers[int(rng.integers(len(modifiers)))], narrow=donor.narrow
    )
    child = _finished(rng, child, kinds)
    return change_structure(rng, child, kinds) if child in parents else child


def _structural_edit(rng: np.random.Generator, program: Program, kinds: Kinds) -> Program:
    family = FAMILIES[program.family]
    position = int(rng.integers(len(program.terms)))
    term = program.terms[position]
    edit = rng.choice(
        ("add", "swap", "drop", "bend", "flip", "modify", "narrow"), p=(0.26, 0.22, 0.12, 0.14, 0.06, 0.12, 0.08)
    )
    if edit == "add" and len(program.terms) < _MAX_TERMS:
        return _extended(rng, program, kinds)
    if edit == "swap":
        taken = {other.feature.key for other in program.terms}
        return _with_term(program, position, replace(_term(rng, family, kinds, exclude=taken), weight=term.weight))
    if edit == "drop" and len(program.terms) > 1:
        return replace(program, terms=program.terms[:position] + program.terms[position + 1 :])
    if edit == "bend":
        transform, power = _bend(rng, family, family.catalogue[term.feature.key])
        return _with_term(program, position, replace(term, transform=transform, power=power))
    if edit == "flip" and (position or not family.is_minimised):
        return _with_term(program, position, replace(term, sign="-" if term.sign == "+" else "+"))
    if edit == "modify":
        drop = program.modifier is not None and rng.random() < 0.5
        return replace(program, modifier=None if drop else _modifier(rng, family, kinds))
    if edit == "narrow" and family.is_minimised:
        return replace(program, narrow=0 if program.narrow and rng.random() < 0.4 else _narrow(rng))
    return program


def _extended(rng: np.random.Generator, program: Program, kinds: Kinds) -> Program:
    taken = {term.feature.key for term in program.terms}
    return replace(program, terms=(*program.terms, _term(rng, FAMILIES[program.family], kinds, exclude=taken)))


def _finished(rng: np.random.Generator, program: Program, kinds: Kinds) -> Program:
    """The nearest program that runs: a square result has one full term, costly features look at few candidates."""
    family = FAMILIES[program.family]
    if all(family.catalogue[term.feature.key].shape == "part" for term in program.terms):
        term = _term(rng, family, kinds, exclude=set(), needs_full=True)
        terms = (*program.terms, term) if len(program.terms) < _MAX_TERMS else (*program.terms[:-1], term)
        program = replace(program, terms=terms)
    costly = any(_EXPENSIVE in family.catalogue[feature.key].template for feature in features_of(program))
    if costly and not program.narrow and rng.random() < 0.85:
        program = replace(program, narrow=_narrow(rng))
    return normalised(program, is_sum=family.sums)


def _term(
    rng: np.random.Generator, family: Family, kinds: Kinds, *, exclude: AbstractSet[int], needs_full: bool = False
) -> Term:
    feature = _feature(rng, family, kinds, exclude=exclude, needs_full=needs_full)
    transform, power = _bend(rng, family, family.catalogue[feature.key])
    positive = 0.5 if family.is_minimised else 0.6
    weight = "" if rng.random() < 0.15 else _constant(rng)
    return Term(feature, transform, power, weight, "+" if rng.random() < positive else "-")


def _feature(
    rng: np.random.Generator,
    family: Family,
    kinds: Kinds,
    *,
    exclude: AbstractSet[int] = frozenset(),
    needs_full: bool = False,
) -> Feature:
    allowed = [
        key
        for key, entry in enumerate(family.catalogue)
        if entry.kinds <= kinds and (not needs_full or entry.shape == "full")
    ]
    allowed = [key for key in allowed if key not in exclude] or allowed
    shares = np.array([family.catalogue[key].share for key in allowed])
    key = int(rng.choice(allowed, p=shares / shares.sum()))
    return Feature(key, tuple(int(rng.integers(low, high + 1)) for low, high in family.catalogue[key].ranges))


def _bend(rng: np.random.Generator, family: Family, entry: Entry) -> tuple[Transform, str]:
    choices: list[Transform] = [*_USUAL]
    if not family.is_scalar and not entry.is_signed:
        choices.append("norm" if rng.random() < 0.5 else "exp")
    if family.is_vector:
        choices.append("rank")
    transform = choices[int(rng.integers(len(choices)))]
    return transform, _power(rng) if transform in ("pow", "exp") else ""


def _modifier(rng: np.random.Generator, family: Family, kinds: Kinds) -> Modifier:
    kind = str(rng.choice(("gate", "damp", "bonus", "switch")))
    if kind in ("bonus", "switch"):
        return Modifier(kind, _constant(rng), threshold=_constant(rng))  # type: ignore[arg-type]
    feature = _feature(rng, family, kinds)
    if kind == "damp" and family.catalogue[feature.key].is_signed:
        kind = "gate"
    return Modifier(kind, _constant(rng), feature)  # type: ignore[arg-type]


def _narrow(rng: np.random.Generator) -> int:
    return int(rng.integers(2, 11))


def _constant(rng: np.random.Generator) -> str:
    """Log-uniform on the grid between 0.05 and 2."""
    return _nearest(math.exp(rng.uniform(math.log(0.05), math.log(2.0))))


def _power(rng: np.random.Generator) -> str:
    return _nearest(math.exp(rng.uniform(math.log(0.3), math.log(3.0))))


def _nearest(value: float) -> str:
    return min(GRID, key=lambda text: abs(math.log(float(text) / value)))


def _constants(program: Program) -> list[tuple[int, str]]:
    """Where constants stand: (term position, field), position −1 for the modifier."""
    places = [
        (p, field) for p, term in enumerate(program.terms) for field in ("weight", "power") if getattr(term, field)
    ]
    if program.modifier is not None:
        places += [(-1, field) for field in ("weight", "threshold") if getattr(program.modifier, field)]
    return places


def _with_constant(rng: np.random.Generator, program: Program, place: tuple[int, str]) -> Program:
    position, field = place
    holder = program.modifier if position < 0 else program.terms[position]
    old = getattr(holder, field)
    new = old
    while new == old:
        new = _nearest(float(old) * math.exp(rng.normal(0, 0.45)))
    if position < 0:
        return replace(program, modifier=replace(program.modifier, **{field: new}))  # type: ignore[type-var]
    return _with_term(program, position, replace(program.terms[position], **{field: new}))


def _with_term(program: Program, position: int, term: Term) -> Program:
    return replace(program, terms=(*program.terms[:position], term, *program.terms[position + 1 :]))

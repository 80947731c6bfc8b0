"""The operators' edits: what each must change and must keep."""

from dataclasses import replace

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from coevo.engines.embedded import edits
from coevo.engines.embedded.families import FAMILIES, Family
from coevo.engines.embedded.program import GRID, Feature, Program, Term
from coevo.engines.embedded.render import features_of

SEEDS = st.integers(0, 2**32 - 1)
NAMES = st.sampled_from(sorted(FAMILIES))


def drawn(seed: int, name: str) -> tuple[np.random.Generator, Family, Program]:
    """A fresh program of a family with all its arguments, and the generator that drew it."""
    rng, family = np.random.default_rng(seed), FAMILIES[name]
    return rng, family, edits.fresh(rng, family, frozenset(family.kinds))


def without_constants(program: Program) -> Program:
    """The program with every constant blanked."""
    terms = tuple(replace(term, weight=term.weight and "w", power=term.power and "p") for term in program.terms)
    modifier = program.modifier and replace(program.modifier, weight="w", threshold=program.modifier.threshold and "q")
    return replace(program, terms=terms, modifier=modifier)


@given(SEEDS, NAMES)
def test_constants_keep_the_structure(seed: int, name: str) -> None:
    """m2 changes constants and nothing else, where there are constants."""
    rng, family, program = drawn(seed, name)
    changed = edits.change_constants(rng, program, frozenset(family.kinds))

    assert changed != program
    if any(term.weight or term.power for term in program.terms) or program.modifier:
        assert without_constants(replace(changed, narrow=0)) == without_constants(replace(program, narrow=0))


@given(SEEDS, NAMES)
def test_structure_changes(seed: int, name: str) -> None:
    """m1 always returns another program."""
    rng, family, program = drawn(seed, name)

    assert edits.change_structure(rng, program, frozenset(family.kinds)) != program


@given(SEEDS, NAMES)
def test_recombination_differs_from_every_parent(seed: int, name: str) -> None:
    """e2 returns neither parent, even where the parents are one program."""
    rng, family, program = drawn(seed, name)
    other = edits.fresh(rng, family, frozenset(family.kinds))

    assert edits.recombine(rng, [program, other], frozenset(family.kinds)) not in (program, other)
    assert edits.recombine(rng, [program, program], frozenset(family.kinds)) != program


def test_recombination_takes_terms_of_both_parents() -> None:
    """Over many draws, children hold features of both parents."""
    near, far = Program("next_node", (Term(Feature(0)),)), Program("next_node", (Term(Feature(9)), Term(Feature(10))))
    kinds = frozenset(FAMILIES["next_node"].kinds)
    children = [edits.recombine(np.random.default_rng(seed), [near, far], kinds) for seed in range(40)]

    keys = [{term.feature.key for term in child.terms} for child in children]
    assert sum(0 in found and bool(found & {9, 10}) for found in keys) > 30


@given(SEEDS, st.booleans())
def test_features_exist_for_the_signature(seed: int, with_points: bool) -> None:
    """No program mentions an argument that the signature lacks."""
    family = FAMILIES["routing"]
    kinds = frozenset(family.kinds) - (frozenset() if with_points else {"points"})
    rng = np.random.default_rng(seed)
    program = edits.change_structure(rng, edits.fresh(rng, family, kinds), kinds)

    assert all(family.catalogue[feature.key].kinds <= kinds for feature in features_of(program))


@given(SEEDS, st.sampled_from(["square", "routing", "packing"]))
def test_a_square_result_has_a_full_term(seed: int, name: str) -> None:
    """Rows and columns alone would not give an n x n result."""
    rng, family, program = drawn(seed, name)
    changed = edits.change_structure(rng, program, frozenset(family.kinds))

    assert any(family.catalogue[term.feature.key].shape == "full" for term in changed.terms)


@given(SEEDS, NAMES)
def test_constants_come_from_the_grid(seed: int, name: str) -> None:
    """Every constant is one that is a token of its own."""
    rng, family, program = drawn(seed, name)
    changed = edits.change_constants(rng, program, frozenset(family.kinds))

    assert {term.weight for term in changed.terms} | {term.power for term in changed.terms} <= {*GRID, ""}


def test_avoided_programs_share_no_later_feature() -> None:
    """e1 takes features its parents lack, beyond the leading one."""
    rng, family, program = drawn(3, "next_node")
    child = edits.fresh(rng, family, frozenset(family.kinds), avoid=[program])

    assert not {t.feature.key for t in child.terms[1:]} & {t.feature.key for t in program.terms[1:]}

"""Rendering and parsing are inverse on everything the grammar writes, and normal form is `ast.unparse` form."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from coevo.codec import decode_child, encode_body
from coevo.engines.embedded import edits
from coevo.engines.embedded.corpus import signature_of, slots_of
from coevo.engines.embedded.families import FAMILIES
from coevo.engines.embedded.parse import parse
from coevo.engines.embedded.program import Program
from coevo.engines.embedded.render import render

SEEDS = st.integers(0, 2**32 - 1)
NAMES = st.sampled_from(sorted(FAMILIES))


def evolved(seed: int, name: str) -> tuple[Program, tuple[str, ...]]:
    """A program after a few random edits, with argument kinds in random order."""
    rng = np.random.default_rng(seed)
    family = FAMILIES[name]
    kinds = tuple(rng.permutation([kind for kind in family.kinds if kind not in family.optional or rng.random() < 0.7]))
    program = edits.fresh(rng, family, frozenset(kinds))
    for operator in rng.choice(("m1", "m2", "e2"), size=int(rng.integers(0, 4))):
        other = edits.fresh(rng, family, frozenset(kinds))
        parents = [program, other] if operator == "e2" else [program]
        program = edits.apply(rng, str(operator), family, parents, frozenset(kinds))
    return program, kinds


@given(SEEDS, NAMES)
def test_parse_inverts_render(seed: int, name: str) -> None:
    """parse(render(p)) == p for every program, family and argument order."""
    program, kinds = evolved(seed, name)

    assert parse(render(program, slots_of(kinds)), FAMILIES[name], slots_of(kinds)) == program


@given(SEEDS, NAMES)
def test_rendered_bodies_are_a_fixed_point_of_the_codec(seed: int, name: str) -> None:
    """A grammar body survives decode and encode byte for byte, so that parents look as they did in the corpus."""
    program, kinds = evolved(seed, name)
    signature = signature_of(FAMILIES[name], kinds)
    body = render(program, slots_of(kinds))

    assert encode_body(signature, decode_child(signature, body)) == body


@pytest.mark.parametrize(
    "text",
    [
        "",
        " return <a2>[0]",
        " c = <a2>\n s = <a3>[<a0>][c] + 0.123 * <a3>[<a1>][c]\n return c[s.argmin()]",
        " c = <a2>\n s = <a3>[<a0>][c]\n s = s + 1\n return c[s.argmin()]",
        " c = <a2>\n s = np.tan(<a3>[<a0>][c])\n return c[s.argmin()]",
        " c = <a2>\n f1 = np.tan(c)\n s = f1\n return c[s.argmin()]",
        " for i in <a2>:\n  return i",
    ],
)
def test_what_the_grammar_does_not_write_is_no_program(text: str) -> None:
    """Text outside the grammar parses to None."""
    family = FAMILIES["next_node"]

    assert parse(text, family, slots_of(family.kinds)) is None

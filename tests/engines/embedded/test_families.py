"""The catalogue: which family serves which signature, and entries that say of themselves what is true."""

import ast

import numpy as np
import pytest

from coevo.engines.embedded.corpus import slots_of
from coevo.engines.embedded.execution import compile_body, random_inputs
from coevo.engines.embedded.families import FAMILIES, Entry, Family, find_family
from coevo.engines.embedded.program import Feature
from coevo.engines.embedded.render import ANGLES, feature_text

ENTRIES = [(family, key) for family in FAMILIES.values() for key in range(len(family.catalogue))]


@pytest.mark.parametrize(
    ("kinds", "returns", "expected"),
    [
        ({"node", "destination", "nodes", "matrix"}, "node", "next_node"),
        ({"node", "nodes", "matrix"}, "node", "next_node"),
        ({"number", "weights", "values"}, "index", "next_item"),
        ({"tuple", "length", "integer"}, "number", "priority"),
        ({"tuple"}, "number", "priority"),
        ({"matrix"}, "square", "square"),
        ({"matrix", "points"}, "square", "square"),
        ({"matrix", "points", "demands", "number"}, "square", "routing"),
        ({"matrix", "demands", "number"}, "square", "routing"),
        ({"demands", "number"}, "square", "packing"),
        ({"item", "bins"}, "vector", "online"),
        ({"item", "bins"}, "number", None),
        ({"weights"}, "index", None),
    ],
)
def test_signature_finds_its_family(kinds: set[str], returns: str, expected: str | None) -> None:
    """Kinds and result decide; optional arguments may be missing."""
    family = find_family(frozenset(kinds), returns)

    assert (family.name if family else None) == expected


def value_of(family: Family, key: int, seed: int) -> np.ndarray:
    """What a catalogue entry evaluates to on random inputs, with its smallest integers."""
    entry: Entry = family.catalogue[key]
    slots = slots_of(family.kinds)
    text = feature_text(family, Feature(key, tuple(low for low, _ in entry.ranges)), slots)
    opening = " c = <a2>\n" if family.name == "next_node" else ""
    opening += ANGLES.format(**slots) + "\n" if entry.uses_angles else ""
    heuristic = compile_body(f"{opening} return {text}", family.kinds)
    inputs = random_inputs(np.random.default_rng(seed), family)
    return np.asarray(heuristic(*(inputs[kind] for kind in family.kinds)), dtype=float)


@pytest.mark.parametrize(("family", "key"), ENTRIES)
def test_unsigned_entries_are_never_negative(family: Family, key: int) -> None:
    """Roots and powers are taken without `abs` of what is not marked as signed."""
    values = np.concatenate([np.ravel(value_of(family, key, seed)) for seed in range(20)])

    assert family.catalogue[key].is_signed or (values >= 0).all()


@pytest.mark.parametrize(("family", "key"), ENTRIES)
def test_level_is_the_loosest_operator(family: Family, key: int) -> None:
    """The level an entry declares is what decides its parentheses."""
    entry = family.catalogue[key]
    text = entry.template.format(**{kind: kind for kind in entry.kinds}, k=1, j=1)
    top = ast.parse(text, mode="eval").body
    levels = {ast.Add: "sum", ast.Sub: "sum", ast.Mult: "product", ast.Div: "product"}
    expected = levels.get(type(top.op), "product") if isinstance(top, ast.BinOp) else "atom"

    assert entry.level == expected


@pytest.mark.parametrize(("family", "key"), [e for e in ENTRIES if e[0].returns == "square"])
def test_full_entries_have_the_shape_of_the_result(family: Family, key: int) -> None:
    """A full entry is n x n, a part is a row or a column."""
    shape = value_of(family, key, 1).shape

    assert (len(shape) == 2 and shape[0] == shape[1]) == (family.catalogue[key].shape == "full")

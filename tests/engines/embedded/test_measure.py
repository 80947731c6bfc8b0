"""Measuring validity: what is counted, what is valid, what differs."""

from collections.abc import Sequence

import pytest

from coevo.codec import encode_body
from coevo.engines.embedded.baselines import BASELINES, SIGNATURES
from coevo.engines.embedded.edits import OPERATORS
from coevo.engines.embedded.execution import failure, random_inputs
from coevo.engines.embedded.families import FAMILIES
from coevo.engines.embedded.grammar_engine import GrammarEngine
from coevo.engines.embedded.measure import Cell, canonical, measure
from coevo.interfaces import Request


def by_grammar(prompts: Sequence[str]) -> list[str | None]:
    """Completions of the control arm."""
    requests = [Request(str(position), prompt, position) for position, prompt in enumerate(prompts)]
    return [completion.text for completion in GrammarEngine().generate(requests)]


def by_copying(prompts: Sequence[str]) -> list[str | None]:
    """The first parent, or nothing where there is none."""
    return [prompt.removesuffix("<c>").split("<p>")[1] if "<p>" in prompt else None for prompt in prompts]


@pytest.fixture(scope="module")
def grammar_cells() -> list[Cell]:
    """The table of the control arm."""
    return measure(by_grammar, count=4, seed=0, taught=set())


def test_the_grammar_is_valid_nearly_everywhere(grammar_cells: list[Cell]) -> None:
    """The control arm, filtered on other inputs, answers legally almost always, and no child copies a parent."""
    counted = sum(cell.counted for cell in grammar_cells)
    assert all(cell.counted > 0 for cell in grammar_cells)
    assert sum(cell.valid for cell in grammar_cells) >= 0.97 * counted
    assert all(cell.differing == cell.asked == 4 for cell in grammar_cells)


def test_table_has_every_kind_operator_and_source(grammar_cells: list[Cell]) -> None:
    """One cell per family and operator, and one more with people's parents where there are parents."""
    cells = {(cell.family, cell.operator, cell.parents) for cell in grammar_cells}
    expected = {
        (f, o, s) for f in FAMILIES for o in OPERATORS for s in ("grammar", "people") if OPERATORS[o] or s == "grammar"
    }

    assert cells == expected
    assert len(grammar_cells) == len(expected)


def test_copies_do_not_differ_and_cut_off_answers_are_invalid() -> None:
    """A copy of the parent is valid but differs in no case; an answer without an end is one invalid child."""
    cells = measure(by_copying, count=4, seed=0, taught=set(), families=["next_node"])
    first = next(cell for cell in cells if cell.operator == "i1")
    copied = next(cell for cell in cells if cell.operator == "m1" and cell.parents == "people")

    assert (first.counted, first.valid) == (1, 0)
    assert copied.differing == 0
    assert copied.valid == copied.counted


def test_taught_children_are_not_counted() -> None:
    """What the corpus holds proves nothing."""
    body = "\n c = <a2>\n return c[0]"
    taught = {body.strip("\n")}
    cells = measure(lambda prompts: [body] * len(prompts), count=3, seed=0, taught=taught, families=["next_node"])

    assert [cell.counted for cell in cells] == [0] * len(cells)


def test_equal_programs_have_one_spelling() -> None:
    """Formatting does not make a child distinct."""
    signature = SIGNATURES["online"]

    assert canonical(signature, "\n return (<a1>-<a0>)") == canonical(signature, "\n return <a1> - <a0>")


@pytest.mark.parametrize("name", sorted(BASELINES))
def test_baselines_are_representable_and_run(name: str) -> None:
    """The people's parents of the measurement are legal heuristics themselves."""
    import numpy as np

    family, signature = FAMILIES[name], SIGNATURES[name]
    kinds = tuple(argument.kind for argument in signature.arguments)
    inputs = [random_inputs(np.random.default_rng(seed), family) for seed in range(3)]

    assert [failure(encode_body(signature, text), kinds, family, inputs) for text in BASELINES[name]] == [
        "" for _ in BASELINES[name]
    ]

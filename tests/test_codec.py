"""The slot codec: what is representable comes back, what is not is refused, and no completion raises."""

import ast

import pytest
from hypothesis import given
from hypothesis import strategies as st

from coevo.codec import decode_child, encode_body, encode_hints, encode_prompt, encode_signature
from coevo.content import Argument, Signature
from coevo.idioms import IDIOMS
from coevo.interfaces import Guidance


def argument(name: str, kind: str) -> Argument:
    """An argument without type and description."""
    return Argument(name=name, kind=kind, type="", description="")


TSP = Signature(
    function="select_next_node",
    arguments=(
        argument("current_node", "node"),
        argument("destination_node", "destination"),
        argument("unvisited_nodes", "nodes"),
        argument("distance_matrix", "matrix"),
    ),
    returns=argument("next_node", "node"),
)
CLASHING = Signature(
    function="score", arguments=(argument("c", "item"), argument("s", "bins")), returns=argument("scores", "vector")
)

NEAREST = '''
import numpy as np


def select_next_node(current_node: int, destination_node, unvisited_nodes, distance_matrix) -> int:
    """Nearest neighbour."""
    # a comment
    best = None
    for j in unvisited_nodes:
        if best is None or distance_matrix[current_node, j] < distance_matrix[current_node, best]:
            best = j
    return best
'''


def body_of(source: str) -> str:
    """The dump of the only function's body, for comparison up to formatting."""
    function = next(node for node in ast.parse(source).body if isinstance(node, ast.FunctionDef))
    return ast.dump(ast.Module(body=function.body, type_ignores=[]))


def test_prompt_has_the_documented_layout() -> None:
    """Operator, slots with kinds, result, one block per parent and the child mark, byte for byte."""
    parent = "def score(c, s):\n    return s - c\n"

    prompt = encode_prompt("e2", CLASHING, [parent, parent])

    block = "<p>\n return <a1> - <a0>"
    assert prompt == f"<e2><a0>item<a1>bins->vector{block}{block}<c>"


@pytest.mark.parametrize(
    ("guidance", "hints"),
    [
        (Guidance(), ""),
        (Guidance(text="Prefer exponentials."), ""),
        (Guidance(use=("exp",)), "<u>exp"),
        (Guidance(avoid=("rank", "exp")), "<x>!exp !rank"),
        (Guidance("words", use=("rank", "exp", "rank"), avoid=("ratio",)), "<u>exp rank<x>!ratio"),
    ],
)
def test_hints_stand_between_signature_and_parents(guidance: Guidance, hints: str) -> None:
    """Sections that name no idiom are left out, words are left out, idioms come once each in the order of the list."""
    parent = "def score(c, s):\n    return s - c\n"

    assert encode_prompt("m1", CLASHING, [parent], guidance) == (
        f"<m1><a0>item<a1>bins->vector{hints}<p>\n return <a1> - <a0><c>"
    )
    assert encode_prompt("i1", CLASHING, [], guidance) == f"<i1><a0>item<a1>bins->vector{hints}<c>"


@given(st.permutations(IDIOMS), st.integers(0, 4), st.integers(0, 4))
def test_hints_are_sets(order: list[str], used: int, avoided: int) -> None:
    """Prompts depend on which idioms are named, not on their order or number."""
    use, avoid = tuple(order[:used]), tuple(order[used : used + avoided])
    text = encode_hints(Guidance(use=use, avoid=avoid))

    assert text == encode_hints(Guidance(use=use[::-1] + use, avoid=avoid + avoid[::-1]))
    assert set(text.replace("<u>", " ").replace("<x>", " ").split()) == {*use, *(f"!{idiom}" for idiom in avoid)}


@pytest.mark.parametrize("guidance", [Guidance(use=("exp", "magic")), Guidance(avoid=("magic",)), Guidance(use=("",))])
def test_hint_that_is_no_idiom_is_refused(guidance: Guidance) -> None:
    """The list of idioms is closed, because the model knows no other word."""
    with pytest.raises(ValueError, match=r"expected idioms of the list in coevo\.idioms as hints, got (magic)?"):
        encode_prompt("i1", TSP, [], guidance)


def test_signature_lists_kinds_in_argument_order() -> None:
    """The header names every kind once, in order, then the kind of the result."""
    assert encode_signature(TSP) == "<a0>node<a1>destination<a2>nodes<a3>matrix->node"


def test_body_loses_comments_docstring_and_annotations_only() -> None:
    """A body is written as `ast.unparse` writes it, indented by one space per level."""
    assert encode_body(TSP, NEAREST) == (
        " best = None\n"
        " for j in <a2>:\n"
        "  if best is None or <a3>[<a0>, j] < <a3>[<a0>, best]:\n"
        "   best = j\n"
        " return best"
    )


def test_decode_writes_a_complete_source() -> None:
    """A completion becomes an importable file with numpy, the def line and four-space indentation."""
    source = decode_child(TSP, "\n c = <a2>\n if len(c):\n  return c[0]")

    assert source == (
        "import numpy as np\n\n\n"
        "def select_next_node(current_node, destination_node, unvisited_nodes, distance_matrix):\n"
        "    c = unvisited_nodes\n    if len(c):\n        return c[0]\n"
    )


def test_parent_with_its_own_argument_names_is_read_by_position() -> None:
    """A parent that calls its arguments otherwise encodes to the same slots."""
    renamed = "def score(item, bins):\n    return bins - item\n"

    assert encode_body(CLASHING, renamed) == " return <a1> - <a0>"


def test_locals_that_clash_with_arguments_are_renamed() -> None:
    """A local named like a real argument must not shadow it."""
    source = decode_child(CLASHING, " s = <a1> - <a0>\n c = s.max()\n return s / c")

    assert "s_ = s - c" in source
    assert "return s_ / c_" in source


def test_keywords_attributes_and_strings_are_not_renamed() -> None:
    """Only identifiers that are bound or read become slots."""
    source = "def score(c, s):\n    t = np.sort(s, axis=0).c\n    return dict(s=t, c='s')\n"

    assert encode_body(CLASHING, source) == " t = np.sort(<a1>, axis=0).c\n return dict(s=t, c='s')"


@pytest.mark.parametrize(
    ("source", "reason"),
    [
        ("def select_next_node(:\n", "does not parse"),
        ("def other(a, b, c, d):\n    return c[0]\n", "found 0"),
        ("def select_next_node(a, b):\n    return b[0]\n", "4 plain arguments"),
        ("def select_next_node(a, b, c, *d):\n    return c[0]\n", "4 plain arguments"),
        ("import functools\n@functools.cache\ndef select_next_node(a, b, c, d):\n    return c[0]\n", "undecorated"),
        ("LIMIT = 3\ndef select_next_node(a, b, c, d):\n    return c[LIMIT]\n", "LIMIT"),
        ("def helper(x):\n    return x\ndef select_next_node(a, b, c, d):\n    return helper(c[0])\n", "helper"),
        ("def select_next_node(a, b, c, d):\n    return '<a1>'\n", "slot-like"),
        ("def select_next_node(a, b, c, d):\n    return '<c>'\n", "slot-like"),
        ("def select_next_node(a, b, c, d):\n    return '<u>exp'\n", "slot-like"),
        ("def select_next_node(a, b, c, d):\n    return '<x>'\n", "slot-like"),
    ],
)
def test_unrepresentable_parent_is_refused(source: str, reason: str) -> None:
    """A parent that slots cannot carry raises ValueError and says why."""
    with pytest.raises(ValueError, match=reason):
        encode_body(TSP, source)


def test_unused_code_outside_the_function_is_ignored() -> None:
    """Imports and constants that the body does not use are no obstacle."""
    source = "import math\nfrom typing import Any\nX = 1\ndef score(c, s):\n    return s\n"

    assert encode_body(CLASHING, source) == " return <a1>"


@pytest.mark.parametrize(
    "text", ["", "   ", "\n c = (<a0>", " return <a9>", "def x(:", "\x00", " x = 1\nreturn x", " '"]
)
def test_garbage_still_decodes_to_text_with_the_def_line(text: str) -> None:
    """What is no program fails as a candidate, not in the codec."""
    assert TSP.definition in decode_child(TSP, text)


@given(st.text(alphabet=st.sampled_from(list("<a01234>c=s[](){}:,.+-*/ \n\tifreturn'\"\\\x00é")), max_size=80))
def test_decode_never_raises(text: str) -> None:
    """Any completion at all decodes to a source that starts with the import."""
    assert decode_child(TSP, text).startswith("import numpy as np\n")


FIRST_LINES = [" x = <a0>", " x = [y for y in <a2>]", " def f(z):\n  return z + <a0>", " while x:\n  x -= 1"]
LAST_LINES = [" return x", " return <a3>[<a0>]", " for i, (a, b) in enumerate(x):\n  pass\n else:\n  return a"]


@given(st.sampled_from(FIRST_LINES), st.sampled_from(LAST_LINES))
def test_encoding_what_was_decoded_gives_the_same_text(first: str, second: str) -> None:
    """Decode then encode is the identity on bodies in normal form."""
    body = f"{first}\n{second}"

    assert encode_body(TSP, decode_child(TSP, body)) == body


def test_decoding_what_was_encoded_gives_the_same_program() -> None:
    """Encode then decode is the identity up to formatting, docstring and comments."""
    stripped = NEAREST.replace('    """Nearest neighbour."""\n', "").replace(": int", "").replace(" -> int", "")

    assert body_of(decode_child(TSP, encode_body(TSP, NEAREST))) == body_of(stripped)

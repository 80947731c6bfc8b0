import pytest
from hypothesis import given
from hypothesis import strategies as st

from coevo.candidate import Candidate
from coevo.content import find_problem
from coevo.errors import ConfigError
from coevo.evolution.operators import Operator, load_operators
from coevo.evolution.renderers import renderer_named

CODE = """import numpy as np


def select_next_node(current_node, destination_node, unvisited_nodes, distance_matrix):
    table = {node: distance_matrix[current_node, node] for node in unvisited_nodes}
    return min(table, key=table.get)
"""
TSP = find_problem("tsp")
WORDS = renderer_named("chat")


@pytest.mark.parametrize("name", ["i1", "e1", "e2", "m1", "m2"])
def test_every_operator_renders_in_words(name):
    """A prompt holds the task, the definition and every parent with its thought, and no placeholder is left."""
    operator = load_operators((name,))[name]
    parents = [Candidate(CODE + f"# {n}\n", thought=f"thought {n}") for n in range(operator.parents)]
    text = WORDS.render(operator, TSP, parents)
    assert TSP.description in text
    assert TSP.spec.heuristic.definition in text
    for number, parent in enumerate(parents, 1):
        assert f"Heuristic {number}:\nthought {number - 1}\n```python\n{parent.code.strip()}\n```" in text
    assert "$" not in text


def test_braces_in_code_are_not_the_thought():
    """The thought is looked for before the code only, and the code keeps its own braces."""
    reading = WORDS.read(TSP, f"{{Go to the nearest.}}\n```python\n{CODE}```\nDone {{really}}.")
    assert (reading.thought, reading.code, reading.reason) == ("Go to the nearest.", CODE, "")


def test_the_block_that_defines_the_function_is_taken():
    """Other blocks before it are passed over."""
    reading = WORDS.read(TSP, f"```\npip install numpy\n```\nand\n```python\n{CODE}```")
    assert reading.code == CODE


def test_bare_code_is_found_with_its_imports():
    """An answer without a fence still gives the program."""
    assert WORDS.read(TSP, f"{{Idea}}\n{CODE}").code == CODE


def test_an_answer_without_the_function_has_a_reason():
    """No program is data, not an exception."""
    reading = WORDS.read(TSP, "I cannot help with that.")
    assert (reading.code, reading.reason) == ("", "the answer does not define select_next_node")


@given(st.text())
def test_reading_never_raises(text):
    """Whatever a model says, reading it gives a program or a reason, in words and in slots."""
    for name in ("chat", "slots"):
        reading = renderer_named(name).read(TSP, text)
        assert bool(reading.code) != bool(reading.reason)


def test_slots_refuse_an_operator_they_do_not_know():
    """The embedded model's codec knows five operators; any other needs another model."""
    with pytest.raises(ConfigError, match="knows the operators e1, e2, i1, m1, m2, got 'm3'"):
        renderer_named("slots").render(Operator("m3", 1, True, ""), TSP, [Candidate(CODE)])


def test_slots_ask_for_a_new_heuristic_where_a_parent_cannot_be_shown():
    """A parent that does not even parse costs no completion: the model is asked for a new heuristic."""
    slots = renderer_named("slots")
    operators = load_operators(("i1", "m1"))
    assert slots.render(operators["m1"], TSP, [Candidate("def broken(")]) == slots.render(operators["i1"], TSP, [])


@pytest.mark.parametrize("piece", ["\n", "```a", "```\n", "{", "from ", " \n", "def "])
def test_reading_takes_linear_time(piece):
    """A megabyte of one repeated piece, as a stuck model writes it, is read as fast as anything of that length."""
    reading = WORDS.read(TSP, piece * (1_000_000 // len(piece)))
    assert reading.reason

"""Every known way in which evolution strategies on language models go wrong has a test that names it."""

import ast
import re
from pathlib import Path

import pytest

TESTS = Path(__file__).parents[1]

PITFALLS = {
    1: "weights that are packed away and never move",
    2: "copies derived from weights, which noise does not reach",
    3: "cached prefixes of another member",
    4: "a cache reset that is refused without a word",
    5: "weights that move while a request is at work",
    6: "drift over many members",
    7: "an interruption that leaves a member in place of the base",
    8: "an update that is applied twice, or to a member",
    9: "two tensors with the same noise",
    10: "shards with the same noise, or replicas that differ",
    11: "fused layers under other names",
    12: "tied weights perturbed twice",
    13: "tied weights stored twice",
    14: "seeds cut to 32 bits",
    15: "noise that depends on the device",
    16: "noise that depends on chunks or threads",
    17: "noise that a storage type swallows",
    18: "sums that depend on their order or precision",
    19: "quantised weights",
    20: "captured graphs that keep old weights",
    21: "values that do not survive the way to a worker",
    22: "functions of a library that move between versions",
    24: "steps without spread, NaN or missing rewards",
    25: "z-scores over the wrong members",
    26: "noise as large as a tensor",
    28: "parameters that are not contiguous",
    29: "exports in an engine's own names",
    30: "a replay that does not reach the live weights",
    31: "packages that do not go together",
}


def pitfalls_named() -> dict[int, list[str]]:
    """Number -> the functions of tests and of the GPU script that check something and name it in their docstring."""
    named: dict[int, list[str]] = {}
    for file in [*TESTS.rglob("test_*.py"), TESTS / "benchmarks" / "gpu.py"]:
        for node in ast.walk(ast.parse(file.read_text())):
            if isinstance(node, ast.FunctionDef) and checks(node):
                for number in re.findall(r"\bP(\d+)\b", ast.get_docstring(node) or ""):
                    named.setdefault(int(number), []).append(f"{file.name}::{node.name}")
    return named


def checks(function: ast.FunctionDef) -> bool:
    """Whether a function asserts, expects an error, or returns what it compared."""
    nodes = list(ast.walk(function))
    named = {node.attr for node in nodes if isinstance(node, ast.Attribute)}
    return any(isinstance(node, ast.Assert | ast.Compare) for node in nodes) or bool(named & {"raises", "equal"})


@pytest.mark.parametrize("number", PITFALLS)
def test_a_pitfall_has_a_test(number):
    """Some test says in its docstring which pitfall it is about."""
    assert pitfalls_named().get(number), f"no test names P{number}: {PITFALLS[number]}"

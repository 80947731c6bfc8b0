"""The filter: what counts as a legal answer, and what is too risky to try in this process."""

import ast

import numpy as np
import pytest

from coevo.engines.embedded.execution import failure, is_harmless, random_inputs
from coevo.engines.embedded.families import FAMILIES


@pytest.mark.parametrize(
    ("name", "body", "expected"),
    [
        ("next_node", " return <a2>[0]", ""),
        ("next_node", " return 1", "illegal answer"),
        ("next_node", " return <a2>", "illegal answer"),
        ("next_node", " return <a2>[", "SyntaxError"),
        ("next_node", " return missing", "NameError"),
        ("next_item", " return np.argmin(<a1>)", ""),
        ("next_item", " return -1", "illegal answer"),
        ("priority", " return 1", ""),
        ("priority", " return np.inf", "illegal answer"),
        ("square", " return <a0>", ""),
        ("square", " return <a0>[0]", "illegal answer"),
        ("square", " return <a0> / 0", "illegal answer"),
        ("packing", " return <a0>[:, None] * <a0>", ""),
        ("online", " return <a1>", ""),
        ("online", " return <a1>[:1]", "illegal answer"),
    ],
)
def test_findings(name: str, body: str, expected: str) -> None:
    """Each family accepts exactly the answers its problems accept."""
    family = FAMILIES[name]
    rng = np.random.default_rng(0)
    inputs = [random_inputs(rng, family) for _ in range(8)]

    assert failure(body, family.kinds, family, inputs) == expected


def test_inputs_are_not_changed_by_a_program() -> None:
    """A program that writes into its arguments spoils nothing for the next one."""
    family = FAMILIES["square"]
    inputs = random_inputs(np.random.default_rng(0), family)
    before = inputs["matrix"].copy()
    failure(" <a0>[:] = 0\n return <a0>", family.kinds, family, [inputs])

    assert np.array_equal(inputs["matrix"], before)


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        ("import numpy as np\ndef f(a):\n    return np.sort(a)[0]", True),
        ("def f(a):\n    for i in a:\n        b = i\n    return min(a, key=lambda x: x + b)", True),
        ("import os\ndef f(a):\n    return a", False),
        ("def f(a):\n    while True:\n        pass", False),
        ("def f(a):\n    return a.__class__", False),
        ("def f(a):\n    return open(a)", False),
        ("def f(a):\n    np.save('x', a)", False),
        ("def f(a):\n    return missing", False),
    ],
)
def test_harmless_programs_use_numpy_and_plain_builtins(source: str, expected: bool) -> None:
    """Imports, endless loops, files and underscored names are not tried."""
    assert is_harmless(ast.parse(source)) is expected

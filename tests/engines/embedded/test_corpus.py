"""The corpus: deterministic, executable, complete."""

from itertools import islice

import numpy as np
import pytest

from coevo.codec import decode_child, encode_body
from coevo.engines.embedded.corpus import Sample, generate, signature_of, slots_of
from coevo.engines.embedded.edits import OPERATORS, fresh
from coevo.engines.embedded.execution import failure, random_inputs
from coevo.engines.embedded.families import FAMILIES
from coevo.engines.embedded.human import as_people_write


@pytest.fixture(scope="module")
def samples() -> list[Sample]:
    """A small corpus."""
    return list(generate(7, 400))


def test_same_seed_same_corpus(samples: list[Sample]) -> None:
    """A corpus is a function of its seed; a shorter one is a prefix."""
    assert list(generate(7, 60)) == samples[:60]
    assert list(generate(8, 60)) != samples[:60]


def test_every_family_and_operator_occurs(samples: list[Sample]) -> None:
    """All 35 tasks are taught."""
    assert {sample.family for sample in samples} == set(FAMILIES)
    assert {sample.operator for sample in samples} == set(OPERATORS)


def test_prompts_hold_the_parents_of_their_operator(samples: list[Sample]) -> None:
    """A prompt starts with its operator, has one block per parent and ends where the child begins."""
    for sample in samples:
        assert sample.prompt.startswith(f"<{sample.operator}><a0>")
        assert sample.prompt.count("<p>\n") == OPERATORS[sample.operator]
        assert sample.prompt.endswith("<c>")
        assert sample.child.startswith("\n ")


def test_no_child_copies_a_parent(samples: list[Sample]) -> None:
    """What is taught is change."""
    for sample in samples:
        assert sample.child not in sample.prompt.removesuffix("<c>").split("<p>")[1:]


@pytest.mark.parametrize("name", sorted(FAMILIES))
def test_human_renderings_run(name: str) -> None:
    """Programs as people write them are representable, and nearly all of them run."""
    rng, family = np.random.default_rng(5), FAMILIES[name]
    signature, slots = signature_of(family, family.kinds), slots_of(family.kinds)
    findings = []
    for _ in range(60):
        text = as_people_write(rng, fresh(rng, family, frozenset(family.kinds)), slots)
        body = encode_body(signature, decode_child(signature, text))
        findings.append(failure(body, family.kinds, family, [random_inputs(rng, family)]))

    assert sum(not finding for finding in findings) >= 54
    assert "SyntaxError" not in findings
    assert "NameError" not in findings


def test_corpus_is_lazy() -> None:
    """A huge corpus costs nothing until it is read."""
    assert len(list(islice(generate(0, 10**9), 3))) == 3

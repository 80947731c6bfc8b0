"""Hints of the corpus: true of their child, telling it from its parents, and never more than the model is used to."""

import re
from collections import Counter

import numpy as np
import pytest

from coevo.codec import encode_hints
from coevo.engines.embedded.corpus import Sample, generate
from coevo.engines.embedded.families import FAMILIES
from coevo.engines.embedded.hints import MOST, Task, draw_hints, idioms_of_body, shares, varying
from coevo.idioms import IDIOMS
from coevo.interfaces import Guidance

_SECTIONS = re.compile(r"->[a-z]+(?:<u>(?P<use>[a-z ]+))?(?:<x>(?P<avoid>[!a-z ]+))?(?:<p>|<c>)")


@pytest.fixture(scope="module")
def samples() -> list[Sample]:
    """A small corpus."""
    return list(generate(4, 300))


def hints_of(sample: Sample) -> Guidance:
    """What a prompt of the corpus names."""
    match = _SECTIONS.search(sample.prompt)
    assert match is not None
    use, avoid = (re.findall("[a-z]+", match[section] or "") for section in ("use", "avoid"))
    return Guidance(use=tuple(use), avoid=tuple(avoid))


def test_more_than_half_of_the_prompts_have_hints(samples: list[Sample]) -> None:
    """The model must do with and without; no section names more than six idioms."""
    hints = [hints_of(sample) for sample in samples]

    assert 0.5 < sum(hint != Guidance() for hint in hints) / len(hints) < 0.68
    assert max(len(section) for hint in hints for section in (hint.use, hint.avoid)) == MOST


def test_hints_are_true_of_their_child(samples: list[Sample]) -> None:
    """A child has what its prompt asks for and lacks what it forbids, but for few hints that nothing could obey."""
    vain = []
    for sample in samples:
        hint, found = hints_of(sample), idioms_of_body(sample.child)
        untrue = (set(hint.use) - found) | (set(hint.avoid) & found)
        assert len(untrue) <= 1
        assert sample.operator == "m2" or not untrue & varying(sample.family)
        vain += [sample] if untrue else []

    assert 0 < len(vain) < 0.1 * len(samples)


def test_prompts_name_idioms_in_the_order_of_the_codec(samples: list[Sample]) -> None:
    """The header holds exactly what the codec writes for the same hints."""
    assert all(f"{encode_hints(hints_of(sample))}<" in sample.prompt for sample in samples)


def test_no_section_names_an_idiom_of_the_other(samples: list[Sample]) -> None:
    """Nothing is to be used and to be avoided."""
    assert not any(set(hint.use) & set(hint.avoid) for hint in map(hints_of, samples))


def test_telling_idioms_are_preferred() -> None:
    """What a parent lacks is asked for more often than the same in a parent; what it has is forbidden more often."""
    rest = "np.exp(x[:3]).sum() / len(x) * x.mean() - np.sqrt(x) / y + x.max() % 2"
    child = f"\n s = np.log(x) + {rest}"

    def named(parent: str) -> Counter[str]:
        rng = np.random.default_rng(0)
        hints = [draw_hints(rng, Task("next_node", "m1", [parent]), child) for _ in range(500)]
        return Counter(idiom for hint in hints for idiom in hint.use + hint.avoid)

    same, lacking, other = named(child), named(f"\n s = {rest}"), named(f"\n s = np.log(abs(x)) + {rest}")

    assert lacking["log"] > 1.2 * same["log"] > 0
    assert other["abs"] > 1.2 * same["abs"] > 0


@pytest.mark.parametrize("idiom", IDIOMS)
def test_every_idiom_varies_somewhere(idiom: str) -> None:
    """Some family writes it in 3 to 80 % of its new programs, so that a hint can decide."""
    assert any(0.03 <= shares(family)[idiom] <= 0.8 for family in FAMILIES)


@pytest.mark.parametrize("family", sorted(FAMILIES))
def test_every_family_has_idioms_to_decide(family: str) -> None:
    """No kind of problem is without hints."""
    assert len(varying(family)) >= 8
    assert varying(family) <= set(IDIOMS)


def test_slots_are_read_as_names() -> None:
    """Bodies in slots are programs; other text has no idioms."""
    assert idioms_of_body("\n s = np.exp(<a0>[:3] / <a1>)\n return s") == {"exp", "slice", "ratio"}
    assert idioms_of_body("no program at all") == frozenset()

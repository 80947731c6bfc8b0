"""Hints of the corpus: idioms that a prompt names, so that the model learns to use them or to leave them out.

What a hint says is true of the child that follows, so it is worth obeying. A few say what no child could obey, because
the kind of heuristic has no such building block, always has it, or (m2) keeps the structure of its parent: they teach
that such a hint changes nothing.
"""

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from functools import cache

import numpy as np

from coevo.engines.embedded import edits
from coevo.engines.embedded.families import FAMILIES
from coevo.engines.embedded.render import render
from coevo.idioms import IDIOMS, idioms_of
from coevo.interfaces import Guidance

MOST = 6
"""The most idioms to use, and to avoid, that one prompt of the corpus names."""

_HINTED_SHARE = 0.6
_USE_SHARE, _AVOID_SHARE = 0.85, 0.7
_VAIN_SHARE = 0.1
_TELLING, _RARE = 4.0, 0.02
_NUM_PROGRAMS = 400
_LEAST, _GREATEST = 0.01, 0.9


@dataclass(frozen=True, slots=True)
class Task:
    """What a sample asks for, as far as hints go: its family, its operator, and the bodies of its parents in slots."""

    family: str
    operator: str
    parents: Sequence[str]


def idioms_of_body(body: str) -> frozenset[str]:
    """The idioms of a body in slots; none if it is no function body."""
    text = re.sub(r"<a(\d+)>", r"slot\1", body.strip("\n"))
    return idioms_of(f"def heuristic():\n{text}")


@cache
def shares(family: str) -> dict[str, float]:
    """The share of a family's new programs that has each idiom, under its full signature."""
    kinds = FAMILIES[family].kinds
    slots = {kind: f"<a{position}>" for position, kind in enumerate(kinds)}
    rng, found = np.random.default_rng(0), Counter[str]()
    for _ in range(_NUM_PROGRAMS):
        found.update(idioms_of_body(render(edits.fresh(rng, FAMILIES[family], frozenset(kinds)), slots)))
    return {idiom: found[idiom] / _NUM_PROGRAMS for idiom in IDIOMS}


def varying(family: str) -> frozenset[str]:
    """The idioms that some but not nearly all of a family's programs have: those that a hint can decide."""
    return frozenset(idiom for idiom, share in shares(family).items() if _LEAST <= share <= _GREATEST)


def draw_hints(rng: np.random.Generator, task: Task, child: str) -> Guidance:
    """Hints for more than half of the samples, up to six of each sort: the more a hint says, the sooner it is learnt.

    Preferred are idioms that surprise in this kind of heuristic, and those that tell the child from its parents: to
    use, what some parent lacks; to avoid, what some parent has.

    Args:
        rng: Source of randomness.
        task: What is asked.
        child: The body that answers it.
    """
    if rng.random() > _HINTED_SHARE:
        return Guidance()
    found, parents = idioms_of_body(child), [idioms_of_body(parent) for parent in task.parents]
    shared, seen = frozenset(IDIOMS).intersection(*parents), frozenset[str]().union(*parents)
    usual = shares(task.family)
    used = {idiom: 1 - usual[idiom] for idiom in IDIOMS if idiom in found}
    unused = {idiom: usual[idiom] for idiom in IDIOMS if idiom not in found}
    use = _drawn(rng, used, telling=found - shared) if used and rng.random() < _USE_SHARE else []
    avoid = _drawn(rng, unused, telling=seen) if rng.random() < _AVOID_SHARE else []
    vain = _vain(rng, task) - {*use, *avoid}
    return Guidance(use=(*use, *vain - found)[-MOST:], avoid=(*avoid, *vain & found)[-MOST:])


def _drawn(rng: np.random.Generator, surprise: Mapping[str, float], telling: AbstractSet[str]) -> list[str]:
    """Some idioms of which it is surprising that they are there, or not there."""
    names = list(surprise)
    weights = np.array([_RARE + surprise[name] * (_TELLING if name in telling else 1.0) for name in names])
    count = min(len(names), int(rng.integers(1, MOST + 1)))
    return [names[int(p)] for p in rng.choice(len(names), size=count, replace=False, p=weights / weights.sum())]


def _vain(rng: np.random.Generator, task: Task) -> frozenset[str]:
    """Now and then one idiom that the child could not be told to have, or to lack."""
    if rng.random() > _VAIN_SHARE:
        return frozenset()
    usual = varying(task.family)
    names = [idiom for idiom in IDIOMS if (idiom in usual) == (task.operator == "m2")]
    return frozenset([names[int(rng.integers(len(names)))]])

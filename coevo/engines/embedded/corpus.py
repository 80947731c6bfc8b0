"""The synthetic corpus: prompts with the child that the model is to write.

Everything is drawn from one seed: signatures (argument order and subsets), parents (grammar programs, partly as people
write them), and children (grammar edits, executed as a filter). More than half of the prompts carry hints that are true
of their child (`hints`).
"""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from coevo.codec import CHILD_TOKEN, PARENT_TOKEN, decode_child, encode_body, encode_hints, encode_signature
from coevo.content import Signature
from coevo.engines.embedded import edits
from coevo.engines.embedded.execution import Inputs, failure, random_inputs
from coevo.engines.embedded.families import FAMILIES, Family
from coevo.engines.embedded.hints import Task, draw_hints
from coevo.engines.embedded.human import as_people_write
from coevo.engines.embedded.program import Program
from coevo.engines.embedded.render import Slots, render

_OPERATOR_SHARES = (0.14, 0.16, 0.22, 0.26, 0.22)
_HUMAN_SHARE = 0.35
_NUM_INPUTS = 40


@dataclass(frozen=True, slots=True)
class Sample:
    """One training text: the model reads the prompt and writes the child."""

    family: str
    operator: str
    prompt: str
    child: str


def signature_of(family: Family, kinds: tuple[str, ...]) -> Signature:
    """A signature with these argument kinds, in this order, under neutral names."""
    arguments = [{"name": f"argument_{p}", "kind": kind, "type": "", "description": ""} for p, kind in enumerate(kinds)]
    returns = {"name": "result", "kind": family.returns, "type": "", "description": ""}
    return Signature.model_validate({"function": "heuristic", "arguments": arguments, "returns": returns})


def slots_of(kinds: tuple[str, ...]) -> Slots:
    """Slot of every argument kind."""
    return {kind: f"<a{position}>" for position, kind in enumerate(kinds)}


def generate(seed: int, count: int) -> Iterator[Sample]:
    """Samples of the corpus; the same seed yields the same sequence, whatever the count."""
    rng = np.random.default_rng(seed)
    families = list(FAMILIES.values())
    shares = np.array([family.share for family in families])
    pools = {family.name: [random_inputs(rng, family) for _ in range(_NUM_INPUTS)] for family in families}
    made = 0
    while made < count:
        family = families[int(rng.choice(len(families), p=shares / shares.sum()))]
        operator = str(rng.choice(list(edits.OPERATORS), p=_OPERATOR_SHARES))
        sample = _draw(rng, family, operator, pools[family.name])
        if sample is not None:
            made += 1
            yield sample


def _draw(rng: np.random.Generator, family: Family, operator: str, pool: list[Inputs]) -> Sample | None:
    """One sample; None if its child does not run."""
    kinds = _argument_kinds(rng, family)
    available, slots = frozenset(kinds), slots_of(kinds)
    parents: list[Program] = []
    for _ in range(edits.OPERATORS[operator]):
        parents.append(_parent(rng, family, available))
    if len(parents) == 2 and rng.random() < 0.4:
        parents[1] = edits.change_structure(rng, parents[0], available)
    child = render(edits.apply(rng, operator, family, parents, available), slots)
    inputs = [pool[int(p)] for p in rng.integers(len(pool), size=3)]
    texts = [_parent_text(rng, parent, kinds) for parent in parents]
    if child in texts or failure(child, kinds, family, inputs):
        return None
    blocks = "".join(f"{PARENT_TOKEN}\n{text}" for text in texts)
    hints = encode_hints(draw_hints(rng, Task(family.name, operator, texts), child))
    prompt = f"<{operator}>{encode_signature(signature_of(family, kinds))}{hints}{blocks}{CHILD_TOKEN}"
    return Sample(family.name, operator, prompt, f"\n{child}")


def _parent(rng: np.random.Generator, family: Family, kinds: frozenset[str]) -> Program:
    """A program that is often an edit of an edit, as in a population that has evolved for a while."""
    program = edits.fresh(rng, family, kinds)
    for _ in range(int(rng.choice((0, 1, 2), p=(0.6, 0.25, 0.15)))):
        program = edits.change_structure(rng, program, kinds)
    return program


def _parent_text(rng: np.random.Generator, parent: Program, kinds: tuple[str, ...]) -> str:
    if rng.random() > _HUMAN_SHARE:
        return render(parent, slots_of(kinds))
    signature = signature_of(FAMILIES[parent.family], kinds)
    return encode_body(signature, decode_child(signature, as_people_write(rng, parent, slots_of(kinds))))


def _argument_kinds(rng: np.random.Generator, family: Family) -> tuple[str, ...]:
    """Argument kinds of a signature: mostly the usual ones in the usual order."""
    kinds = list(family.kinds)
    drop = 0.5 if family.name == "square" else 0.12
    kinds = [kind for kind in kinds if kind not in family.optional or rng.random() > drop]
    if rng.random() < 0.3:
        rng.shuffle(kinds)
    return tuple(kinds)

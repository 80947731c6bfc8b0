"""Whether a model obeys hints: children of the same prompts and seeds, with and without one.

    python tests/benchmarks/hints.py --count 40 --seed 11

A prompt gets one idiom that heuristics of its kind sometimes have and sometimes lack. It is asked three times, from the
same parents and with the same seeds: without a hint, with the idiom to use, with the idiom to avoid. Counted is how
many children have the idiom, and how many run and answer legally. The parents are fresh programs of the grammar; the
training corpus (generated anew, a few minutes) holds none of them.
"""

import argparse
import sys
from collections.abc import Callable, Iterable, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from coevo.codec import decode_child, encode_prompt
from coevo.engines.embedded import edits
from coevo.engines.embedded.baselines import SIGNATURES
from coevo.engines.embedded.corpus import generate, slots_of
from coevo.engines.embedded.edits import OPERATORS
from coevo.engines.embedded.execution import failure, random_inputs
from coevo.engines.embedded.families import FAMILIES
from coevo.engines.embedded.hints import idioms_of_body, varying
from coevo.engines.embedded.measure import canonical
from coevo.engines.embedded.render import render
from coevo.engines.embedded.sampling import Generate, sampler
from coevo.engines.embedded.train import Recipe, taught
from coevo.engines.loading import resolve_model
from coevo.idioms import IDIOMS
from coevo.interfaces import Guidance


@dataclass(frozen=True, slots=True)
class Answer:
    """What came of one prompt without a hint, with the idiom to use, and with the idiom to avoid, in this order.

    Attributes:
        family: Kind of problem.
        operator: Which operator was asked.
        idiom: The idiom of the hint.
        has: Whether the child has the idiom.
        valid: Whether the child answers legally.
    """

    family: str
    operator: str
    idiom: str
    has: tuple[bool, ...]
    valid: tuple[bool, ...]


@dataclass(frozen=True, slots=True)
class Question:
    """A cell of the table: its prompts have these parents and name these idioms, one of each for each prompt."""

    family: str
    operator: str
    parents: tuple[tuple[str, ...], ...]
    idioms: tuple[str, ...]


def pose(rng: np.random.Generator, family: str, operator: str, *, count: int, known: AbstractSet[str]) -> Question:
    """A cell with parents that are not known."""
    usual = [idiom for idiom in IDIOMS if idiom in varying(family)]
    signature = SIGNATURES[family]
    kinds = tuple(argument.kind for argument in signature.arguments)
    bodies: list[str] = []
    while len(bodies) < count * OPERATORS[operator]:
        body = render(edits.fresh(rng, FAMILIES[family], frozenset(kinds)), slots_of(kinds))
        bodies += [decode_child(signature, body)] if body not in known else []
    parents = [tuple(bodies[p::count]) for p in range(count)]
    return Question(family, operator, tuple(parents), tuple(str(rng.choice(usual)) for _ in range(count)))


def ask(draw: Callable[[], Generate], question: Question) -> list[Answer]:
    """The answers of one cell; `draw` makes a source of completions that begins anew with the same seed."""
    family, signature = FAMILIES[question.family], SIGNATURES[question.family]
    pairs = list(zip(question.parents, question.idioms, strict=True))
    ways: list[list[str]] = []
    for hint in (lambda _: Guidance(), lambda i: Guidance(use=(i,)), lambda i: Guidance(avoid=(i,))):
        prompts = [encode_prompt(question.operator, signature, parents, hint(idiom)) for parents, idiom in pairs]
        ways.append([canonical(signature, child) for child in draw()(prompts)])
    kinds, rng = tuple(argument.kind for argument in signature.arguments), np.random.default_rng(0)
    inputs = [random_inputs(rng, family) for _ in range(4)]
    return [
        Answer(
            question.family,
            question.operator,
            idiom,
            tuple(idiom in idioms_of_body(body) for body in bodies),
            tuple(not failure(body, kinds, family, inputs) for body in bodies),
        )
        for idiom, *bodies in zip(question.idioms, *ways, strict=True)
    ]


def row(name: str, answers: Sequence[Answer]) -> str:
    """A row of a Markdown table: shares in percent; differences with the standard error of paired answers."""
    has = 100 * np.array([answer.has for answer in answers], dtype=float)
    valid = 100 * np.array([answer.valid for answer in answers], dtype=float)
    entries = [
        str(len(answers)),
        *(f"{share:.0f} %" for share in has.mean(0)),
        difference(has[:, 1] - has[:, 0]),
        difference(has[:, 2] - has[:, 0]),
        *(f"{share:.0f} %" for share in valid.mean(0)),
        difference(valid[:, 1:].mean(1) - valid[:, 0]),
    ]
    return f"| {name} | {' | '.join(entries)} |\n"


def difference(values: np.ndarray) -> str:
    """Mean of paired differences with its standard error, in points."""
    error = values.std(ddof=1) / np.sqrt(len(values)) if len(values) > 1 else float("nan")
    return f"{values.mean():+.0f} ± {error:.0f}"


def table(title: str, groups: Iterable[tuple[str, Sequence[Answer]]]) -> str:
    """A Markdown table with one row per group: how many children have the idiom, and how many are valid."""
    ways = ("none", "use", "avoid")
    heads = ("n", *(f"has it, {way}" for way in ways), "use − none", "avoid − none", *(f"valid, {way}" for way in ways))
    heads = (*heads, "valid, hint − none")
    lines = [row(name, answers) for name, answers in groups]
    return f"| {title} | {' | '.join(heads)} |\n| --- |{' --- |' * len(heads)}\n{''.join(lines)}\n"


def tables(answers: Sequence[Answer]) -> str:
    """The answers by operator, kind and idiom, and by cell; m2 is to keep its parent's structure and counts apart."""
    obeying = [answer for answer in answers if answer.operator != "m2"]
    return "".join(
        (
            table("operator", grouped(answers, lambda answer: answer.operator)),
            table("kind, without m2", grouped(obeying, lambda answer: answer.family)),
            table("idiom, without m2", grouped(obeying, lambda answer: answer.idiom)),
            table("kind and operator", grouped(answers, lambda answer: f"{answer.family} {answer.operator}")),
        )
    )


def grouped(answers: Sequence[Answer], key: Callable[[Answer], str]) -> list[tuple[str, list[Answer]]]:
    """The answers of every key in order of first appearance, and all of them."""
    names = dict.fromkeys(map(key, answers))
    return [(name, [answer for answer in answers if key(answer) == name]) for name in names] + [("all", [*answers])]


def main() -> None:
    """Measure and print the tables."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--count", type=int, default=40, help="prompts per kind and operator")
    parser.add_argument("--seed", type=int, default=11)
    parser.add_argument("--model", default="embedded", help="a model folder")
    options = parser.parse_args()
    import torch
    from transformers import AutoTokenizer, LlamaForCausalLM

    torch.set_num_threads(1)
    recipe = Recipe()
    known = taught(list(generate(recipe.seed, recipe.samples)))
    folder = Path(resolve_model(options.model))
    model, tokenizer = LlamaForCausalLM.from_pretrained(folder).eval(), AutoTokenizer.from_pretrained(folder)
    rng, answers = np.random.default_rng(options.seed), []
    for number, (family, operator) in enumerate((f, o) for f in FAMILIES for o in OPERATORS):
        question = pose(rng, family, operator, count=options.count, known=known)
        answers += ask(lambda seed=1000 * options.seed + number: sampler(model, tokenizer, seed), question)
    sys.stdout.write(tables(answers))


if __name__ == "__main__":
    main()

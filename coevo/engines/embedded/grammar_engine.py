"""The control arm of experiments: an engine that answers with the corpus grammar and has no weights.

What a search gains over it, it gains from the model. It reads the same slot prompts as the embedded model, parses the
parents back into the grammar and applies the same edits the model was taught. Where a prompt has hints, it makes a few
children and answers with the one that breaks the fewest of them.
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from coevo.codec import CHILD_TOKEN, PARENT_TOKEN
from coevo.content import Signature
from coevo.engines.embedded.edits import OPERATORS, apply
from coevo.engines.embedded.execution import failure, random_inputs
from coevo.engines.embedded.families import Family, find_family
from coevo.engines.embedded.hints import idioms_of_body
from coevo.engines.embedded.parse import parse
from coevo.engines.embedded.render import render
from coevo.errors import ModelError
from coevo.interfaces import Completion, Request, Update

_HEADER = re.compile(
    r"<(?P<operator>\w+)>(?P<arguments>(?:<a\d+>[a-z]+)+)->(?P<returns>[a-z]+)"
    r"(?:<u>(?P<use>[a-z]+(?: [a-z]+)*))?(?:<x>(?P<avoid>![a-z]+(?: ![a-z]+)*))?"
)
_TRIES = 20
_CHOICES = 6
_NUM_INPUTS = 3
_UNKNOWN = "\n pass"
"""Answer for a kind of function the grammar does not write: it fails as a candidate."""


class GrammarEngine:
    """Answers slot prompts by sampling the grammar; stateless, seeded by each request alone."""

    def generate(self, requests: Sequence[Request]) -> Iterator[Completion]:
        """Answer every request in order.

        Raises:
            ModelError: If a request is not a slot prompt.
        """
        for request in requests:
            yield Completion(request.id, _answer(request), "stop", 0)

    def commit(self, update: Update) -> int:
        """Refused: there are no weights to move.

        Raises:
            ModelError: Always.
        """
        raise ModelError("expected an engine with weights to commit an update, got the grammar engine; use --es off")

    def fingerprint(self) -> int:
        """0: there are no weights."""
        return 0

    def export(self, folder: Path) -> None:
        """Refused: there are no weights to write.

        Raises:
            ModelError: Always.
        """
        raise ModelError(f"expected an engine with weights to export to {folder}, got the grammar engine")

    def close(self) -> None:
        """Nothing to release."""


def knows(signature: Signature) -> bool:
    """Whether the grammar has heuristics with such arguments and such a result."""
    kinds = [argument.kind for argument in signature.arguments]
    return len(set(kinds)) == len(kinds) and find_family(frozenset(kinds), signature.returns.kind) is not None


def _answer(request: Request) -> str:
    header, *blocks = request.text.removesuffix(CHILD_TOKEN).split(PARENT_TOKEN)
    match = _HEADER.fullmatch(header)
    if match is None or match["operator"] not in OPERATORS or not request.text.endswith(CHILD_TOKEN):
        raise ModelError(
            f"expected a slot prompt for one of {', '.join(OPERATORS)}, "
            f"got {request.text[:60]!r} in request {request.id}; the grammar serves the renderer 'slots'"
        )
    kinds = tuple(re.findall(r"<a\d+>([a-z]+)", match["arguments"]))
    family = find_family(frozenset(kinds), match["returns"])
    if family is None or len(set(kinds)) < len(kinds):
        return _UNKNOWN
    use, avoid = (frozenset(re.findall("[a-z]+", match[section] or "")) for section in ("use", "avoid"))
    asked = _Asked(family, match["operator"], kinds, tuple(block.strip("\n") for block in blocks))
    return f"\n{_best_child(np.random.default_rng(request.seed), asked, use, avoid)}"


@dataclass(frozen=True, slots=True)
class _Asked:
    """What a prompt asks for: a function of these argument kinds, made of these bodies."""

    family: Family
    operator: str
    kinds: tuple[str, ...]
    parents: tuple[str, ...]


def _best_child(rng: np.random.Generator, asked: _Asked, use: frozenset[str], avoid: frozenset[str]) -> str:
    """Without hints the first child, else the first of those that break the fewest."""

    def broken(body: str) -> int:
        found = idioms_of_body(body)
        return len(use - found) + len(avoid & found)

    return min((_child(rng, asked) for _ in range(_CHOICES if use | avoid else 1)), key=broken)


def _child(rng: np.random.Generator, asked: _Asked) -> str:
    """The body of a child that differs from its parents and runs, as far as a few tries find one."""
    slots = {kind: f"<a{position}>" for position, kind in enumerate(asked.kinds)}
    parsed = (parse(parent, asked.family, slots) for parent in asked.parents)
    parents = [program for program in parsed if program is not None]
    for _ in range(_TRIES):
        body = render(apply(rng, asked.operator, asked.family, parents, frozenset(asked.kinds)), slots)
        inputs = [random_inputs(rng, asked.family) for _ in range(_NUM_INPUTS)]
        if body not in asked.parents and not failure(body, asked.kinds, asked.family, inputs):
            break
    return body

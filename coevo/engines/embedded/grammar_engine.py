"""The control arm of experiments: an engine that answers with the corpus grammar and has no weights.

What a search gains over it, it gains from the model. It reads the same slot prompts as the embedded model, parses the
parents back into the grammar and applies the same edits the model was taught.
"""

import re
from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np

from coevo.codec import CHILD_TOKEN, PARENT_TOKEN
from coevo.content import Signature
from coevo.engines.embedded.edits import OPERATORS, apply
from coevo.engines.embedded.execution import failure, random_inputs
from coevo.engines.embedded.families import Family, find_family
from coevo.engines.embedded.parse import parse
from coevo.engines.embedded.render import render
from coevo.errors import ModelError
from coevo.interfaces import Completion, Request, Update

_HEADER = re.compile(r"<(?P<operator>\w+)>(?P<arguments>(?:<a\d+>[a-z]+)+)->(?P<returns>[a-z]+)")
_TRIES = 20
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
    return f"\n{_child(request.seed, family, match['operator'], kinds, blocks)}"


def _child(seed: int, family: Family, operator: str, kinds: tuple[str, ...], blocks: Sequence[str]) -> str:
    """The body of a child that differs from its parents and runs, as far as a few tries find one."""
    rng = np.random.default_rng(seed)
    slots = {kind: f"<a{position}>" for position, kind in enumerate(kinds)}
    parsed = (parse(block, family, slots) for block in blocks)
    parents = [program for program in parsed if program is not None]
    for _ in range(_TRIES):
        body = render(apply(rng, operator, family, parents, frozenset(kinds)), slots)
        inputs = [random_inputs(rng, family) for _ in range(_NUM_INPUTS)]
        if body not in (block.strip("\n") for block in blocks) and not failure(body, kinds, family, inputs):
            break
    return body

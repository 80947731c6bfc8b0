"""Texts whose gradients make a basis: prompts, and what the model should have written."""

import json
from collections.abc import Collection, Iterator
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Any

from coevo.errors import ContentError

_EDITS = ("m1", "m2")
"""The operators that evolve the model: the basis is for what it is asked then."""


_APART = 1 << 40
"""Added to a seed, so that it is none a model is trained with."""


@dataclass(frozen=True, slots=True)
class Text:
    """A prompt as it is sent to the model, and a completion without its end token."""

    prompt: str
    completion: str


def grammar_texts(seed: int, count: int, families: Collection[str] = ()) -> list[Text]:
    """Edits of the embedded model's own grammar.

    Args:
        seed: Of the corpus. Whatever it is, the model was not trained on this sequence: seeds here lie apart.
        count: How many.
        families: Kinds of problem, or none for all that there are, mixed as the corpus mixes them.

    Raises:
        ContentError: If there is no such family.
    """
    from coevo.engines.embedded.corpus import generate
    from coevo.engines.embedded.families import FAMILIES

    if unknown := sorted(set(families) - FAMILIES.keys()):
        raise ContentError(f"expected families among {', '.join(FAMILIES)}, got {unknown[0]!r}")
    wanted = (
        Text(sample.prompt, sample.child)
        for sample in generate(_APART + seed, 1 << 40)
        if sample.operator in _EDITS and (not families or sample.family in families)
    )
    return list(islice(wanted, count))


def read_texts(file: Path, count: int) -> list[Text]:
    """The first texts of a file of JSON lines, each `{"prompt": …, "completion": …}`.

    Raises:
        ContentError: If it cannot be read, a line is something else, or there are too few.
    """
    try:
        lines = file.read_text().splitlines()
    except (OSError, UnicodeDecodeError) as error:
        raise ContentError(f"expected a corpus of JSON lines in {file}, got: {error}") from error
    texts = list(islice(_parsed(file, lines), count))
    if len(texts) < count:
        raise ContentError(
            f"expected {count} texts in {file}, found {len(texts)}; take fewer vectors or smaller batches"
        )
    return texts


def _parsed(file: Path, lines: list[str]) -> Iterator[Text]:
    for number, line in enumerate(lines, 1):
        if not line.strip():
            continue
        try:
            values: Any = json.loads(line)
            prompt, completion = values["prompt"], values["completion"]
        except (ValueError, KeyError, TypeError, RecursionError) as error:
            raise ContentError(f"{file}, line {number}: expected prompt and completion: {error}") from error
        if not (isinstance(prompt, str) and isinstance(completion, str) and completion):
            raise ContentError(f"{file}, line {number}: expected texts as prompt and completion, the latter not empty")
        yield Text(prompt, completion)

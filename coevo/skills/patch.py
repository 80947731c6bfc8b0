"""Patches: what a trace, or many traces, would change in the skill."""

from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Literal

from coevo.skills.quoting import normal, one_line

Kind = Literal["add", "replace", "drop"]


@dataclass(frozen=True, slots=True)
class Edit:
    """One change of one line. Nothing of it is trusted before the guards have seen it.

    Attributes:
        kind: What is done.
        section: Where a lesson is added.
        target: The text of the lesson that is replaced or dropped.
        text: The new lesson.
        evidence: Ids of the traces it rests on, sorted, each once.
    """

    kind: Kind
    section: str = ""
    target: str = ""
    text: str = ""
    evidence: tuple[str, ...] = ()

    @property
    def key(self) -> tuple[str, str, str, str]:
        """What makes two edits the same; also the canonical order among edits."""
        return (self.kind, self.section, normal(self.target), normal(self.text))

    def __str__(self) -> str:
        parts = {
            "add": f"add to {self.section}: {self.text}",
            "replace": f"replace {self.target!r} by: {self.text}",
            "drop": f"drop {self.target!r}",
        }
        return one_line(parts[self.kind], 300)


@dataclass(frozen=True, slots=True)
class Hints:
    """Idioms to use and to avoid from now on, in place of those of the skill."""

    use: tuple[str, ...] = ()
    avoid: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Patch:
    """Edits that belong together; without hints the skill keeps its own."""

    edits: tuple[Edit, ...] = ()
    hints: Hints | None = None

    def __bool__(self) -> bool:
        return bool(self.edits) or self.hints is not None


@dataclass(frozen=True, slots=True)
class Rejection:
    """Something that an analyst proposed and that was not taken, and why."""

    edit: str
    reason: str


@dataclass(frozen=True, slots=True)
class Proposal:
    """What an analyst made of one trace, or of one group of patches.

    Attributes:
        patch: What it proposes.
        rejected: What of its answer could not be used.
        fell_back: Whether a merge is the deterministic one because the model's could not be used.
    """

    patch: Patch
    rejected: tuple[Rejection, ...] = ()
    fell_back: bool = False


def united(edits: Iterable[Edit]) -> list[Edit]:
    """Edits without repetitions: evidence is united, recurring ones come first; independent of the order they came in.

    Of texts with the same words the first in alphabetical order stands for all.
    """
    found: dict[tuple[str, str, str, str], Edit] = {}
    for each in edits:
        same, edit = found.get(each.key), each
        if same is not None:
            evidence = tuple(sorted({*same.evidence, *edit.evidence}))
            target, text = min(same.target, edit.target), min(same.text, edit.text)
            edit = replace(same, target=target, text=text, evidence=evidence)
        found[edit.key] = edit
    return sorted(found.values(), key=lambda e: (-len(e.evidence), e.key))

"""Hierarchical merging: n patches, B at a time, become one in ⌈log_B n⌉ levels (arXiv:2603.25158, stage 3)."""

from collections.abc import Sequence

from coevo.skills.patch import Patch, Rejection, united
from coevo.skills.settings import SkillSettings

MERGED_EDITS = 16
"""Most edits of one merged patch on its way up: B such patches have to fit into the prompt of the next merge."""


def grouped(patches: Sequence[Patch], group: int) -> list[Sequence[Patch]]:
    """Patches in their order, `group` at a time; the last group may be smaller."""
    return [patches[start : start + group] for start in range(0, len(patches), group)]


def union(patches: Sequence[Patch]) -> Patch:
    """The deterministic merge: every edit once, evidence united, recurring ones first. Loses nothing.

    Independent of the order of the patches, and of how they were grouped on the way. Of hints, those of the first
    patch that has any.
    """
    hints = next((patch.hints for patch in patches if patch.hints is not None), None)
    return Patch(tuple(united(edit for patch in patches for edit in patch.edits)), hints)


def bounded(patch: Patch, most: int = MERGED_EDITS) -> tuple[Patch, list[Rejection]]:
    """The first edits of a patch, and the rest as rejected."""
    rest = [Rejection(str(edit), f"more than {most} edits in one merged patch") for edit in patch.edits[most:]]
    return Patch(patch.edits[:most], patch.hints), rest


def num_levels(count: int, group: int) -> int:
    """⌈log_B n⌉, exactly: 0 for at most one patch."""
    levels = 0
    while count > 1:
        count = -(-count // group)
        levels += 1
    return levels


def most_completions(settings: SkillSettings) -> int:
    """Completions that one update by a model asks at most: a lesson of every trace, then every merge of several."""
    count, asked = settings.max_traces, settings.max_traces
    while count > 1:
        whole, rest = divmod(count, settings.group)
        asked += whole + (rest > 1)
        count = whole + (rest > 0)
    return asked

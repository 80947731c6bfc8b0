"""One update of the skill: traces become lessons, lessons become one patch, the patch becomes the next version."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from coevo.skills.analyst import Analyst
from coevo.skills.applying import apply
from coevo.skills.guards import Guard
from coevo.skills.merging import grouped
from coevo.skills.patch import Patch, Proposal, Rejection
from coevo.skills.settings import SkillSettings
from coevo.skills.skill import Skill
from coevo.skills.trace import Trace


@dataclass(frozen=True, slots=True)
class Level:
    """One level of merging: patches before it and after it, and merges a model was asked for but did not deliver."""

    patches: int
    merged: int
    fell_back: int


@dataclass(frozen=True, slots=True)
class SkillUpdate:
    """What became of an update.

    Attributes:
        skill: The next version, or the same skill if nothing changed.
        traces: Ids of the traces that were looked at.
        lessons: Edits that the traces gave and the guards passed, before merging.
        levels: ⌈log_B n⌉ levels for n patches.
        rejected: Everything proposed that is not in the skill now, with reasons.
        is_changed: Whether there is a next version.
    """

    skill: Skill
    traces: tuple[str, ...]
    lessons: int
    levels: tuple[Level, ...]
    rejected: tuple[Rejection, ...]
    is_changed: bool

    def facts(self) -> dict[str, Any]:
        """The update as plain values for a run's log: counts, the whole text, and every rejection with its reason."""
        return {
            "version": self.skill.version,
            "text": self.skill.text,
            "use": list(self.skill.use),
            "avoid": list(self.skill.avoid),
            "traces": len(self.traces),
            "lessons": self.lessons,
            "levels": [[level.patches, level.merged, level.fell_back] for level in self.levels],
            "rejected": [[rejection.edit, rejection.reason] for rejection in self.rejected],
        }


def update_skill(skill: Skill, traces: Sequence[Trace], analyst: Analyst, settings: SkillSettings) -> SkillUpdate:
    """Learn from traces. Deterministic, as far as the analyst is.

    Args:
        skill: The version so far.
        traces: All that are to be considered; the analyst chooses among them. Ids have to differ.
        analyst: Who makes and merges patches; every edit it gives, at every stage, goes through the guards.
        settings: Bounds; the new version keeps them whatever the analyst says.
    """
    chosen = analyst.choose(traces, settings)
    guard = Guard(skill, chosen, settings)
    rejected: list[Rejection] = []
    proposals = analyst.lessons(skill, chosen, settings) if chosen else []
    patches = [patch for patch in (_sifted(proposal, guard, rejected) for proposal in proposals) if patch]
    lessons = sum(len(patch.edits) for patch in patches)
    levels: list[Level] = []
    while len(patches) > 1:
        groups = grouped(patches, settings.group)
        merged, fell_back = _merge(skill, analyst, len(levels) + 1, groups, settings)
        levels.append(Level(len(patches), len(groups), fell_back))
        patches = [_sifted(proposal, guard, rejected) for proposal in merged]
    changed, refused = apply(skill, patches[0], settings) if patches else (skill, [])
    ids = tuple(trace.id for trace in chosen)
    return SkillUpdate(changed, ids, lessons, tuple(levels), (*rejected, *refused), changed is not skill)


def _sifted(proposal: Proposal, guard: Guard, rejected: list[Rejection]) -> Patch:
    """The patch of a proposal as far as it passes the guards; what does not is noted."""
    patch, refused = guard.sift(proposal.patch)
    rejected += [*proposal.rejected, *refused]
    return patch


def _merge(
    skill: Skill, analyst: Analyst, level: int, groups: Sequence[Sequence[Patch]], settings: SkillSettings
) -> tuple[list[Proposal], int]:
    """One level: groups with several patches that hold something are merged, others pass; and how many fell back."""
    holding = [[patch for patch in group if patch] for group in groups]
    several = [group for group in holding if len(group) > 1]
    merges = iter(analyst.merge(skill, level, several, settings) if several else [])
    proposals = [next(merges) if len(group) > 1 else Proposal(group[0] if group else Patch()) for group in holding]
    return proposals, sum(proposal.fell_back for proposal in proposals)

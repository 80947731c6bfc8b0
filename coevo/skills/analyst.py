"""The Protocol of those who learn from traces."""

from collections.abc import Sequence
from typing import Protocol

from coevo.skills.patch import Patch, Proposal
from coevo.skills.settings import SkillSettings
from coevo.skills.skill import Skill
from coevo.skills.trace import Trace


class Analyst(Protocol):
    """Makes patches of traces and merges patches. Nothing it returns is trusted: guards see all of it.

    Attributes:
        is_cumulative: Whether it wants all traces of a run at every update, not only those since the last one.
    """

    is_cumulative: bool

    def choose(self, traces: Sequence[Trace], settings: SkillSettings) -> list[Trace]:
        """The traces it wants to look at; evidence may refer to these alone."""

    def lessons(self, skill: Skill, traces: Sequence[Trace], settings: SkillSettings) -> list[Proposal]:
        """Local patches, in the order of the traces; at most one for each trace."""

    def merge(
        self, skill: Skill, level: int, groups: Sequence[Sequence[Patch]], settings: SkillSettings
    ) -> list[Proposal]:
        """One patch for every group of several patches, in their order; levels count from 1."""

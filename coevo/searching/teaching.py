"""How the prompts learn inside a search: what its children teach is distilled into a skill that later prompts hold.

The same completions feed both kinds of learning: what moves the model's weights (`coevo.searching.learning`) is also
what the skill is distilled from (Trace2Skill, arXiv:2603.25158; in step with the weights as in arXiv:2608.17310,
section 3).
"""

from collections.abc import Sequence

from coevo.interfaces import Guidance
from coevo.records.event_log import EventLog
from coevo.records.run_directory import RunDirectory
from coevo.searching.analysts import AnalystAt
from coevo.searching.breeding import Child
from coevo.searching.config import SearchConfig
from coevo.searching.rewards import gains
from coevo.skills import Birth, Skill, SkillUpdate, Trace, update_skill


class Teacher:
    """The skill of one run: traces are noted batch by batch, and every few generations the skill is brought up to date.

    Args:
        config: How often, and within which bounds.
        title: What the skill is about: the problem's name.
        analyst_at: Who distils after a generation; None for a run without a skill.
        log: Where each version is recorded.
        directory: Where the latest version is kept as SKILL.md.
    """

    def __init__(
        self, config: SearchConfig, title: str, analyst_at: AnalystAt | None, log: EventLog, directory: RunDirectory
    ) -> None:
        self._config = config
        self._analyst_at = analyst_at
        self._log = log
        self._directory = directory
        self._traces: list[Trace] = []
        self._skill = Skill(title)

    @property
    def guidance(self) -> Guidance:
        """What prompts are given of the skill as it is now."""
        return self._skill.guidance()

    def observe(self, operator: str, generation: int, children: Sequence[Child]) -> None:
        """Take note of a batch.

        Args:
            operator: Who asked.
            generation: 0 for the first population.
            children: Every child of the batch.
        """
        if self._analyst_at is None:
            return
        earned: Sequence[float | None] = gains(children) or [None] * len(children)
        self._traces += [
            _birth(child, operator, generation, gain).trace(self._skill.title)
            for child, gain in zip(children, earned, strict=True)
        ]

    def teach(self, generation: int, *, is_last: bool) -> None:
        """After every `skill_every` generations but the last: distil a new version, record it, use it from now on."""
        every = self._config.skill_every
        if self._analyst_at is None or every is None or generation % every or is_last:
            return
        analyst = self._analyst_at(generation)
        update = update_skill(self._skill, self._traces, analyst, self._config.skill)
        self._skill = update.skill
        self._record(generation, update)
        if not analyst.is_cumulative:
            self._traces = []

    def _record(self, generation: int, update: SkillUpdate) -> None:
        self._log.emit("skill", generation=generation, **update.facts())
        self._directory.save_skill(update.skill.text)


def _birth(child: Child, operator: str, generation: int, gain: float | None) -> Birth:
    return Birth(
        id=child.id,
        operator=operator,
        generation=generation,
        parents=[(parent.candidate, parent.cost) for parent in child.parents],
        child=child.candidate,
        evaluation=child.evaluation,
        reward=gain,
    )

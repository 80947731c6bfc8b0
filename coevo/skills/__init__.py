"""Trace2Skill (arXiv:2603.25158): traces become lessons, lessons become one skill text.

    traces  --analyst-->  one patch each  --merge, B at a time-->  one patch  --apply-->  SKILL.md, next version

No loop, no engine and no log is known here: `update_skill` is a function of a skill, traces and an analyst, and an
analyst that asks a model does so through a function it is given. Guards stand between the analyst and the skill.
"""

from coevo.skills.analyst import Analyst
from coevo.skills.merging import most_completions
from coevo.skills.model_analyst import Ask, ModelAnalyst
from coevo.skills.prompts import load_prompts
from coevo.skills.settings import SkillSettings
from coevo.skills.skill import Lesson, Skill
from coevo.skills.statistics_analyst import StatisticsAnalyst
from coevo.skills.trace import Birth, Passage, Trace
from coevo.skills.update import SkillUpdate, update_skill

__all__ = [
    "Analyst",
    "Ask",
    "Birth",
    "Lesson",
    "ModelAnalyst",
    "Passage",
    "Skill",
    "SkillSettings",
    "SkillUpdate",
    "StatisticsAnalyst",
    "Trace",
    "load_prompts",
    "most_completions",
    "update_skill",
]

"""The analyst without a model: what good programs had that bad ones had not, counted.

For models that cannot reflect, such as the embedded one. It reads all traces it is given, compares the idioms and the
constants of programs (`coevo.skills.effects` has the rule), and says what passed: as idioms to use and to avoid, and in
words. Programs that do not parse are left out, since no idiom can be seen in them; those that failed are not, because
they earned least.
"""

import ast
from collections import Counter
from collections.abc import Iterable, Sequence

from coevo.idioms import IDIOMS, idioms_of
from coevo.skills.effects import AT_LEAST, Effect, Observation, significant
from coevo.skills.merging import union
from coevo.skills.patch import Edit, Hints, Patch, Proposal
from coevo.skills.selection import distinct, failure_counts
from coevo.skills.settings import SkillSettings
from coevo.skills.skill import Lesson, Section, Skill
from coevo.skills.trace import Trace

MAX_BLOCKS = 3
"""Most idioms to use, and most to avoid."""
MAX_CONSTANTS = 20
"""Constants that are tested: the most frequent ones."""
MAX_FAILURES = 3
"""Classes of failure that are named."""

_PROGRAMS = "Programs with "
_FAILURES = "Often fails with "


class StatisticsAnalyst:
    """Deterministic; asks nobody. What it said before is replaced by what it finds now."""

    is_cumulative = True

    def __init__(self) -> None:
        # By source: at every update most programs have been seen before.
        self._features: dict[str, frozenset[str] | None] = {}

    def choose(self, traces: Sequence[Trace], settings: SkillSettings) -> list[Trace]:
        """Every subject once."""
        return distinct(traces)

    def lessons(self, skill: Skill, traces: Sequence[Trace], settings: SkillSettings) -> list[Proposal]:
        """One patch from all the traces together."""
        if not traces:
            return []
        observations = [o for o in map(self._observation, traces) if o is not None]
        constants = _most_frequent(o.features for o in observations)
        effects = significant(observations, (*IDIOMS, *constants))
        found = [*_effect_lessons(effects), *_failure_lessons(traces)]
        every = tuple(trace.id for trace in traces)
        edits = [Edit("drop", target=lesson.text, evidence=every) for lesson in skill.lessons if _is_own(lesson)]
        edits += [Edit("add", section, text=text, evidence=tuple(sorted(ids))) for section, text, ids in found]
        return [Proposal(Patch(tuple(edits), _hints(effects)))]

    def _observation(self, trace: Trace) -> Observation | None:
        if trace.value is None or not trace.program:
            return None
        if trace.program not in self._features:
            self._features[trace.program] = _features_of(trace.program)
        features = self._features[trace.program]
        return None if features is None else Observation(trace.id, trace.stratum, trace.value, features)

    def merge(
        self, skill: Skill, level: int, groups: Sequence[Sequence[Patch]], settings: SkillSettings
    ) -> list[Proposal]:
        """The union of each group."""
        return [Proposal(union(group)) for group in groups]


def constants_of(tree: ast.AST) -> frozenset[str]:
    """The numbers a program is written with, to two significant digits; 0, 1 and 2 say nothing."""
    numbers = (node.value for node in ast.walk(tree) if isinstance(node, ast.Constant))
    # A bool is an int, and an int can be too large for a float.
    plain = (n for n in numbers if isinstance(n, int | float) and not isinstance(n, bool) and abs(n) < 1e300)
    return frozenset(f"{float(n):.2g}" for n in plain if n not in (0, 1, 2))


def _features_of(source: str) -> frozenset[str] | None:
    """Idioms and constants of a program; None if it does not parse."""
    try:
        tree = ast.parse(source)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return None
    return idioms_of(source) | constants_of(tree)


def _most_frequent(features: Iterable[frozenset[str]]) -> list[str]:
    """Constants that enough programs have, the most frequent first, ties by their text."""
    counts = Counter(feature for each in features for feature in each if feature not in IDIOMS)
    frequent = sorted(counts.items(), key=lambda item: (-item[1], item[0]))
    return [name for name, count in frequent if count >= AT_LEAST][:MAX_CONSTANTS]


def _hints(effects: Sequence[Effect]) -> Hints:
    idioms = [effect for effect in effects if effect.feature in IDIOMS]
    use = tuple(effect.feature for effect in idioms if effect.z > 0)
    avoid = tuple(effect.feature for effect in idioms if effect.z < 0)
    return Hints(use[:MAX_BLOCKS], avoid[:MAX_BLOCKS])


def _effect_lessons(effects: Sequence[Effect]) -> list[tuple[Section, str, tuple[str, ...]]]:
    """The strongest effects in words: section, text, traces it rests on."""
    lessons: list[tuple[Section, str, tuple[str, ...]]] = []
    signs: tuple[tuple[Section, int], ...] = (("worked", 1), ("failed", -1))
    for section, sign in signs:
        strongest = [effect for effect in effects if effect.z * sign > 0][: 2 * MAX_BLOCKS]
        lessons += [(section, _sentence(effect), effect.with_it) for effect in strongest]
    return lessons


def _sentence(effect: Effect) -> str:
    kind = "the idiom" if effect.feature in IDIOMS else "the constant"
    word = "more" if effect.z > 0 else "less"
    counts = f"{len(effect.with_it)} with, {effect.without_it} without"
    # By rank they differ in this direction; the means of the values may not, where a few are far out.
    gap = f"{abs(effect.gain):.3g} {word}" if effect.gain * effect.z > 0 else word
    return f"{_PROGRAMS}{kind} {effect.feature} earn {gap} than those without ({counts})."


def _failure_lessons(traces: Sequence[Trace]) -> list[tuple[Section, str, tuple[str, ...]]]:
    frequent = [reason for reason, count in failure_counts(traces) if count >= AT_LEAST][:MAX_FAILURES]
    return [("failed", f"{_FAILURES}{r}", tuple(t.id for t in traces if t.reason == r)) for r in frequent]


def _is_own(lesson: Lesson) -> bool:
    return lesson.text.startswith((_PROGRAMS, _FAILURES))

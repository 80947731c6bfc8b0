"""A patch put into the skill: conflicts are held back, evidence adds up, and the bounds hold whatever the patch is.

The outcome depends on the edits as a set, not on their order.
"""

from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace

from coevo.idioms import IDIOMS
from coevo.skills.patch import Edit, Hints, Patch, Rejection, united
from coevo.skills.quoting import normal
from coevo.skills.settings import SkillSettings
from coevo.skills.skill import MAX_COUNT, SECTIONS, Lesson, Section, Skill, as_section


@dataclass
class _Draft:
    """Lessons by their words while edits are put in; `fresh` are those that this patch brought or confirmed."""

    lessons: dict[str, Lesson]
    fresh: set[str] = field(default_factory=set)
    rejected: list[Rejection] = field(default_factory=list)

    def reject(self, edit: Edit | Lesson, reason: str) -> None:
        self.rejected.append(Rejection(str(edit) if isinstance(edit, Edit) else edit.text, reason))

    def put(self, section: Section, edit: Edit, earlier: int) -> None:
        """Enter the edit's text, resting on its evidence and on that of an earlier lesson."""
        evidence = min(MAX_COUNT, earlier + len(edit.evidence))
        self.lessons[normal(edit.text)] = Lesson(section, edit.text, evidence)
        self.fresh.add(normal(edit.text))


def apply(skill: Skill, patch: Patch, settings: SkillSettings) -> tuple[Skill, list[Rejection]]:
    """The skill with a patch whose edits have passed the guards.

    - Two different edits of one lesson conflict: that with more evidence stays; with equal evidence, none.
    - A lesson added again where it stands adds its evidence to it; anywhere else it is a duplicate and refused.
    - A replaced lesson hands its evidence on. To begin counting anew, drop a lesson and add it.
    - If the bounds are exceeded, lessons of least evidence give way; with equal evidence, old ones before new ones.

    Returns:
        The same skill if nothing changes, else its next version, which fits the bounds; and what was not taken, why.
    """
    draft = _Draft({normal(lesson.text): lesson for lesson in skill.lessons})
    edits = _without_conflicts(united(patch.edits), draft)
    for edit in edits:
        if edit.kind == "drop":
            draft.lessons.pop(normal(edit.target), None)
    for kind, enter in (("replace", _replace), ("add", _add)):
        for edit in sorted((e for e in edits if e.kind == kind), key=lambda e: (-len(e.evidence), e.key)):
            enter(draft, edit)
    use, avoid = _blocks(skill, patch.hints, draft)
    changed = _fitted(replace(skill, version=skill.version + 1, lessons=(), use=use, avoid=avoid), draft, settings)
    is_same = replace(changed, version=skill.version) == skill
    return skill if is_same else changed, draft.rejected


def _without_conflicts(edits: Sequence[Edit], draft: _Draft) -> list[Edit]:
    """The edits without those that change one lesson in different ways."""
    by_target: dict[str, list[Edit]] = defaultdict(list)
    for edit in edits:
        if edit.kind != "add":
            by_target[normal(edit.target)].append(edit)
    kept = [edit for edit in edits if edit.kind == "add"]
    for rivals in by_target.values():
        first, *others = rivals
        wins = not others or len(first.evidence) > len(others[0].evidence)
        kept += [first] if wins else []
        for edit in others if wins else rivals:
            draft.reject(edit, "conflicts with another edit of the same lesson")
    return kept


def _replace(draft: _Draft, edit: Edit) -> None:
    old = draft.lessons.get(normal(edit.target))
    if old is None:
        draft.reject(edit, "the lesson it changes is not in the skill")
    elif normal(edit.text) in draft.lessons and normal(edit.text) != normal(edit.target):
        draft.reject(edit, "duplicate: the skill has a lesson with these words")
    else:
        del draft.lessons[normal(edit.target)]
        draft.put(old.section, edit, old.evidence)


def _add(draft: _Draft, edit: Edit) -> None:
    section = as_section(edit.section)
    same = draft.lessons.get(normal(edit.text))
    if section is None:
        draft.reject(edit, "no such section")
    elif same is None:
        draft.put(section, edit, 0)
    elif same.section == section:
        draft.put(section, replace(edit, text=same.text), same.evidence)
    else:
        draft.reject(edit, f"duplicate: the skill has a lesson with these words under {same.section}")


def _blocks(skill: Skill, hints: Hints | None, draft: _Draft) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """What to use and to avoid: of the hints if there are any; unknown idioms and contradictions are refused."""
    if hints is None:
        return skill.use, skill.avoid
    both = set(hints.use) & set(hints.avoid)
    for name in sorted({*hints.use, *hints.avoid}):
        if name not in IDIOMS:
            draft.rejected.append(Rejection(f"hint {name!r:.40}", "not an idiom"))
        elif name in both:
            draft.rejected.append(Rejection(f"hint {name!r}", "both to use and to avoid"))
    use, avoid = (
        tuple(dict.fromkeys(name for name in names if name in IDIOMS and name not in both))
        for names in (hints.use, hints.avoid)
    )
    return use, avoid


def _fitted(empty: Skill, draft: _Draft, settings: SkillSettings) -> Skill:
    """The skill with as many of the lessons as fit, in the order of their evidence."""

    def rank(lesson: Lesson) -> tuple[int, bool, str]:
        return (-lesson.evidence, normal(lesson.text) not in draft.fresh, normal(lesson.text))

    ranked = sorted(draft.lessons.values(), key=rank)
    skill = empty
    for count in range(1, len(ranked) + 1):
        larger = replace(empty, lessons=_arranged(ranked[:count]))
        if not larger.fits(settings):
            for lesson in ranked[count - 1 :]:
                draft.reject(lesson, f"no room within {settings.max_lines} lines and {settings.max_chars} characters")
            break
        skill = larger
    return skill


def _place(lesson: Lesson) -> tuple[int, int, str]:
    return (SECTIONS.index(lesson.section), -lesson.evidence, normal(lesson.text))


def _arranged(lessons: Iterable[Lesson]) -> tuple[Lesson, ...]:
    """Section by section, those of most evidence first."""
    return tuple(sorted(lessons, key=_place))

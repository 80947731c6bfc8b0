"""What a model answered, read as edits: one line each, whatever prose stands around them.

    ADD worked: TEXT            REPLACE 3: TEXT            DROP 3            NONE

and in a merge with what it was made of at the end: `ADD worked: TEXT FROM 1, 4`. Lines of words were chosen over JSON
because small models write them without a fault of syntax. Keywords in capitals are always read; in other letters only
where the rest of the line leaves no doubt. List marks and emphasis around them are passed over, and so is everything
before the end of a model's thinking (`</think>`).
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace

from coevo.skills.patch import Edit, Patch, Rejection
from coevo.skills.quoting import one_line
from coevo.skills.skill import Skill, as_section, numbered

LESSON_EDITS = 3
"""Most edits of one trace (published: three lessons)."""

_LEADING = re.compile(r"^(?:[\s>*\-+•`#]|\d{1,3}[.)]\s)*")
_ADD = re.compile(r"(ADD)\b[\s*_`]*(?:TO\s+)?([^:]{1,40}):[\s*_`]*(.+)", re.IGNORECASE)
_REPLACE = re.compile(
    r"(REPLACE)\b[\s*_`]*(?:LESSON\s+)?[L#]?(\d{1,6})\b[\s*_`]*(?::|WITH\b|BY\b)[\s*_`]*(.+)", re.IGNORECASE
)
_DROP = re.compile(r"(DROP)\b[\s*_`]*(?:LESSON\s+)?[L#]?(\d{1,6})\b(.*)", re.IGNORECASE)
_NONE = re.compile(r"NONE\b[\s.*_`]*", re.IGNORECASE)
_FROM = re.compile(
    r"[\s(\[*_`]*\bFROM:?\s+(?:edits?\s+)?#?(\d{1,6}(?:\s*(?:,|and|&)\s*#?\d{1,6})*)[\s)\].*_`]*$", re.IGNORECASE
)
_BRACKETS = re.compile(r"\s*\[\s*(\d{1,6}(?:\s*,\s*\d{1,6})*)\s*\][\s.]*$")


@dataclass(frozen=True, slots=True)
class Line:
    """One edit of an answer, and the numbers of the edits it was made of, if it names any."""

    edit: Edit
    sources: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True)
class Answer:
    """The edits of an answer, and whether it says that there are none to make; beside edits, a NONE says nothing."""

    lines: tuple[Line, ...] = ()
    says_none: bool = False

    @property
    def is_readable(self) -> bool:
        """Whether there is an edit or a NONE in it."""
        return bool(self.lines) or self.says_none


def read_answer(skill: Skill, text: str) -> Answer:
    """Read an answer; never raises, whatever the text. Edits carry no evidence yet."""
    body = text.rpartition("</think>")[2]
    stripped = [_LEADING.sub("", line).rstrip() for line in body.splitlines()]
    lines = tuple(line for line in (_read_line(skill, text) for text in stripped) if line is not None)
    return Answer(lines, not lines and any(_NONE.fullmatch(line) for line in stripped))


def lesson_patch(trace: str, answer: Answer) -> tuple[Patch, list[Rejection]]:
    """The patch of one trace: its first edits, resting on that trace; the rest is rejected."""
    edits = [replace(line.edit, evidence=(trace,)) for line in answer.lines]
    rest = [Rejection(str(edit), f"more than {LESSON_EDITS} edits from one trace") for edit in edits[LESSON_EDITS:]]
    return Patch(tuple(edits[:LESSON_EDITS])), rest


def merged_patch(merged: Sequence[Edit], answer: Answer, most: int) -> tuple[Patch, list[Rejection]]:
    """The patch of a merge, each edit resting on the evidence of those it was made of.

    An edit that names no source but is one of those shown, word for word, was made of that. Refused are edits without
    any source, or with one that does not exist; that change a lesson none of their sources changes; and more than
    `most`. What no edit was made of is rejected as left out.

    Args:
        merged: The edits that the model was shown, numbered from 1.
        answer: What it made of them.
        most: Most edits that the patch may have.
    """
    kept: list[Edit] = []
    rejected: list[Rejection] = []
    named: set[int] = set()
    for line in (_with_sources(merged, line) for line in answer.lines):
        named.update(line.sources)
        reason = _source_reason(merged, line) or (f"more than {most} edits in one merge" if len(kept) == most else "")
        if reason:
            rejected.append(Rejection(str(line.edit), reason))
        else:
            evidence = {trace for number in line.sources for trace in merged[number - 1].evidence}
            kept.append(replace(line.edit, evidence=tuple(sorted(evidence))))
    left_out = [edit for number, edit in enumerate(merged, 1) if number not in named]
    return Patch(tuple(kept)), rejected + [Rejection(str(edit), "left out by the merge") for edit in left_out]


def _with_sources(merged: Sequence[Edit], line: Line) -> Line:
    same = tuple(number for number, edit in enumerate(merged, 1) if edit.key == line.edit.key)
    return line if line.sources else replace(line, sources=same)


def _source_reason(merged: Sequence[Edit], line: Line) -> str:
    if not line.sources:
        return "does not say which edits it was made of"
    if missing := [number for number in line.sources if not 1 <= number <= len(merged)]:
        return f"there is no edit {missing[0]} among {len(merged)}"
    targets = {merged[number - 1].target for number in line.sources}
    if line.edit.kind != "add" and line.edit.target not in targets:
        return "none of the edits it was made of changes that lesson"
    return ""


def _read_line(skill: Skill, line: str) -> Line | None:
    line, sources = _split_sources(line)
    if found := _ADD.fullmatch(line):
        section = as_section(found[2])
        if section or found[1] == "ADD":
            return Line(Edit("add", section or one_line(found[2], 40), text=_clean(found[3])), sources)
    if found := _REPLACE.fullmatch(line):
        return Line(Edit("replace", target=_target(skill, found[2]), text=_clean(found[3])), sources)
    if (found := _DROP.fullmatch(line)) and (found[1] == "DROP" or not found[3].strip(" .")):
        return Line(Edit("drop", target=_target(skill, found[2])), sources)
    return None


def _split_sources(line: str) -> tuple[str, tuple[int, ...]]:
    found = _FROM.search(line) or _BRACKETS.search(line)
    if found is None:
        return line, ()
    numbers = dict.fromkeys(int(number) for number in re.findall(r"\d+", found[1]))
    return line[: found.start()], tuple(numbers)


def _target(skill: Skill, number: str) -> str:
    """The text of the lesson with that number; what is not there keeps its number, and the guards refuse it."""
    lesson = numbered(skill, int(number))
    return lesson.text if lesson else f"lesson {int(number)}"


def _clean(text: str) -> str:
    """The lesson without the emphasis and quotation marks around it."""
    return " ".join(text.strip().strip('*_`"“”').split())

"""The skill: one bounded Markdown document of one-line lessons, each with how often it was met.

Its text is all there is of it: `Skill.parse(skill.text)` is the skill again, so that a run's events hold it whole.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, get_args

from coevo.errors import ContentError
from coevo.idioms import IDIOMS
from coevo.interfaces import Guidance
from coevo.skills.quoting import normal
from coevo.skills.settings import SkillSettings

Section = Literal["worked", "failed", "open"]
SECTIONS: tuple[Section, ...] = get_args(Section)
HEADINGS: dict[Section, str] = {"worked": "What has worked", "failed": "What has failed", "open": "Open ideas"}
BLOCKS = "Building blocks"
MAX_COUNT = 999_999_999
"""Largest version and evidence count."""

_TITLE = re.compile(r"# Skill: (.+)")
_VERSION = re.compile(r"Version ([0-9]{1,9})")
_LESSON = re.compile(r"- (.+) \(seen ([0-9]{1,9})\)")
_BLOCKS = re.compile(r"- (use|avoid): (.+)")
_KEYS = {heading: section for section, heading in HEADINGS.items()}


@dataclass(frozen=True, slots=True)
class Lesson:
    """One line of a skill. `evidence` is the number of traces it rests on."""

    section: Section
    text: str
    evidence: int

    def __post_init__(self) -> None:
        if self.section not in SECTIONS:
            raise ValueError(f"expected a section of {', '.join(SECTIONS)}, got {self.section!r}")
        _check_line("lesson", self.text)
        if not 1 <= self.evidence <= MAX_COUNT:
            raise ValueError(f"expected evidence between 1 and {MAX_COUNT}, got {self.evidence}")


@dataclass(frozen=True, slots=True)
class Skill:
    """What a run has learned, as of one version.

    Attributes:
        title: What it is about, such as the problem.
        version: 0 before the first update, then 1, 2, …
        lessons: Section by section, no two with the same words.
        use: Idioms to use.
        avoid: Idioms to avoid; none that are to be used.
    """

    title: str
    version: int = 0
    lessons: tuple[Lesson, ...] = ()
    use: tuple[str, ...] = ()
    avoid: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        _check_line("title", self.title)
        if not 0 <= self.version <= MAX_COUNT:
            raise ValueError(f"expected a version between 0 and {MAX_COUNT}, got {self.version}")
        places = [SECTIONS.index(lesson.section) for lesson in self.lessons]
        if places != sorted(places):
            raise ValueError("expected lessons section by section")
        if len({normal(lesson.text) for lesson in self.lessons}) < len(self.lessons):
            raise ValueError("expected lessons that differ in their words")
        blocks = (*self.use, *self.avoid)
        if len(set(blocks)) < len(blocks) or not set(blocks) <= set(IDIOMS):
            raise ValueError(f"expected different idioms of {', '.join(IDIOMS)}, got {blocks}")

    @property
    def text(self) -> str:
        """The document, as SKILL.md."""
        return "\n".join([f"# Skill: {self.title}", f"Version {self.version}", *self._body()]) + "\n"

    def guidance(self) -> Guidance:
        """What prompts are given of it: the document without title and version, and the idioms."""
        return Guidance("\n".join(self._body()).strip("\n"), self.use, self.avoid)

    def fits(self, settings: SkillSettings) -> bool:
        """Whether the document is within the bounds on lines and characters."""
        return self.text.count("\n") <= settings.max_lines and len(self.text) <= settings.max_chars

    def find(self, text: str) -> Lesson | None:
        """The lesson with these words, if there is one."""
        wanted = normal(text)
        return next((lesson for lesson in self.lessons if normal(lesson.text) == wanted), None)

    def listing(self) -> str:
        """The lessons numbered from 1, for an analyst to refer to."""
        lines = [f"{n}. [{one.section}] {one.text} (seen {one.evidence})" for n, one in enumerate(self.lessons, 1)]
        return "\n".join(lines) or "(no lessons yet)"

    @classmethod
    def parse(cls, text: str) -> "Skill":
        """The skill with this text.

        Raises:
            ContentError: Naming the line, if it is not a skill's text.
        """
        lines = text.split("\n")
        title = _TITLE.fullmatch(lines[0])
        version = _VERSION.fullmatch(lines[1]) if len(lines) > 1 else None
        if title is None or version is None:
            raise ContentError("a skill's text: expected '# Skill: TITLE' in line 1 and 'Version N' in line 2")
        lessons, blocks = _parse_body(lines[2:])
        try:
            return cls(title[1], int(version[1]), tuple(lessons), blocks["use"], blocks["avoid"])
        except ValueError as error:
            raise ContentError(f"a skill's text: {error}") from error

    def _body(self) -> list[str]:
        blocks = [f"- {name}: {', '.join(b)}" for name, b in (("use", self.use), ("avoid", self.avoid)) if b]
        lines = ["", f"## {BLOCKS}", *blocks] if blocks else []
        for section in SECTIONS:
            own = [f"- {one.text} (seen {one.evidence})" for one in self.lessons if one.section == section]
            lines += ["", f"## {HEADINGS[section]}", *own] if own else []
        return lines


def _parse_body(lines: Sequence[str]) -> tuple[list[Lesson], dict[str, tuple[str, ...]]]:
    lessons: list[Lesson] = []
    blocks: dict[str, tuple[str, ...]] = {"use": (), "avoid": ()}
    heading = ""
    for number, line in enumerate(lines, 3):
        if line.startswith("## ") and line[3:] in (BLOCKS, *_KEYS):
            heading = line[3:]
        elif heading == BLOCKS and (found := _BLOCKS.fullmatch(line)):
            blocks[found[1]] = tuple(found[2].split(", "))
        elif heading in _KEYS and (found := _LESSON.fullmatch(line)):
            lessons.append(_parsed(number, _KEYS[heading], found))
        elif line:
            raise ContentError(
                f"a skill's text, line {number}: expected a heading or a lesson with (seen N), got {line!r:.80}"
            )
    return lessons, blocks


def _parsed(number: int, section: Section, found: re.Match[str]) -> Lesson:
    try:
        return Lesson(section, found[1], int(found[2]))
    except ValueError as error:
        raise ContentError(f"a skill's text, line {number}: {error}") from error


def _check_line(name: str, text: str) -> None:
    if not text.isprintable() or not normal(text) or text != " ".join(text.split()):
        raise ValueError(
            f"expected a {name} of one printable line with words in it and single spaces, got {text!r:.80}"
        )


def as_section(name: str) -> Section | None:
    """The section with this key or heading, however it is written; None if there is none."""
    wanted = normal(name)
    for section, heading in HEADINGS.items():
        if wanted in (section, normal(heading)):
            return section
    return None


def numbered(skill: Skill, number: int) -> Lesson | None:
    """The lesson with this number in the listing, or None."""
    return skill.lessons[number - 1] if 1 <= number <= len(skill.lessons) else None

"""Guards: what an edit has to be before it may touch the skill. Deterministic; every refusal has its reason.

An edit passes if all of this holds.

- It rests on at least one trace, and on none that does not exist.
- What it replaces or drops is in the skill; where it adds is a section of the skill.
- Its text is one printable line of three words or more (a prompt's own forms, repeated, have fewer), no longer than the
  bound.
- No code: no fence, no definition, import, lambda or statement list.
- No data: no number of more than eight digits, no row of four numbers, at most eight numbers, no string of more than 40
  characters without a space, no address.
- No markup: no tag, no token of a chat template.
- It does not speak to a model. It is refused if it holds one of the `_ORDERS` (to ignore or reveal what a prompt holds,
  to take another role), whoever wrote it; and if four or more of its words in a row stand in the same order somewhere
  in the text of a trace and one of those words is in `_ADDRESSING`: then it quotes an instruction that a trace carried.
"""

import re
import unicodedata
from collections.abc import Iterable, Sequence

from coevo.skills.patch import Edit, Patch, Rejection
from coevo.skills.quoting import normal, words_of
from coevo.skills.settings import SkillSettings
from coevo.skills.skill import SECTIONS, Skill
from coevo.skills.trace import Trace

MIN_WORDS = 3
"""Words of the shortest lesson."""
QUOTED_WORDS = 4
"""Words in a row that make a quotation."""

_ADDRESSING = frozenset((
    "you", "your", "yours", "yourself", "assistant", "ai", "llm", "chatbot", "model", "ignore", "ignoring", "disregard",
    "forget", "override", "instruction", "instructions", "prompt", "prompts", "respond", "reply", "repeat", "pretend",
    "obey",
))  # fmt: skip
_ADDRESSED = re.compile(rf"\b(?:{'|'.join(sorted(_ADDRESSING))})\b")
_ORDERS = re.compile(
    r"\b(?:ignore|ignoring|disregard|forget|override|bypass)\b.{0,30}\b(?:instructions?|prompts?|guidelines|the above|"
    r"all (?:of )?(?:the )?(?:above|previous|prior|earlier)|"
    r"(?:above|previous|prior|earlier) (?:rules|texts?|messages?))\b"
    r"|\b(?:print|reveal|leak|disclose|exfiltrate)\b.{0,30}\b(?:instances?|prompts?|instructions?|secrets?|passwords?)\b"
    r"|\b(?:show|repeat|output|send)\b.{0,30}\b(?:prompts?|instructions?|secrets?|passwords?)\b"
    r"|\b(?:system prompt|developer message|you are now|you are an?|as an ai|pretend to be|from now on you)\b"
)
_CODE = re.compile(
    r"```|~~~|\bdef\s+\w+\s*\(|\bclass\s+\w+\s*(?:\(\w*\))?:|\blambda\b[^.]*:|\breturn\s+[\w.]+[(\[]|;\s*\w+\s*=|"
    r"(?:^|\s)(?:import\s+\w+(?:\.\w+)*\s*(?:$|;|as\b)|from\s+\w+(?:\.\w+)*\s+import\b)|__\w+__"
)
_MARKUP = re.compile(r"</?[^\W\d][^<>]*>|<[|!/｜]|\|>|｜>|\[/?INST\]", re.IGNORECASE)
_NUMBER = r"[-+]?(?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d+)?"
_ROW = re.compile(rf"{_NUMBER}(?:[\s,;|\[\]()]+{_NUMBER}){{3,}}")
_LONG_NUMBER = re.compile(r"\d(?:[._]?\d){8,}")
_ADDRESS = re.compile(r"\b(?:https?|ftp|file)://|\bwww\.", re.IGNORECASE)


class Guard:
    """Checks edits of one skill against the traces of one update.

    Args:
        skill: What the edits are to change.
        traces: All that evidence may refer to, and that must not be quoted as an instruction.
        settings: Bound on a lesson.
    """

    def __init__(self, skill: Skill, traces: Sequence[Trace], settings: SkillSettings):
        self._skill = skill
        self._settings = settings
        self._ids = frozenset(trace.id for trace in traces)
        self._instructions = _instructions(traces)

    def sift(self, patch: Patch) -> tuple[Patch, list[Rejection]]:
        """The patch without the edits that do not pass, and those with their reasons."""
        reasons = [(edit, self.reason(edit)) for edit in patch.edits]
        kept = tuple(edit for edit, reason in reasons if not reason)
        return Patch(kept, patch.hints), [Rejection(str(edit), reason) for edit, reason in reasons if reason]

    def reason(self, edit: Edit) -> str:
        """Why an edit is refused; empty if it passes."""
        if not edit.evidence:
            return "rests on no trace"
        if missing := sorted(set(edit.evidence) - self._ids):
            return f"rests on traces that do not exist: {', '.join(missing[:3])}"[:200]
        if edit.kind == "add":
            if edit.section not in SECTIONS:
                return f"no section {edit.section!r:.40}; the sections are {', '.join(SECTIONS)}"
        elif self._skill.find(edit.target) is None:
            return "the lesson it changes is not in the skill"
        return "" if edit.kind == "drop" else self._text_reason(edit.text)

    def _text_reason(self, text: str) -> str:
        if not text.isprintable() or text != " ".join(text.split()) or not normal(text):
            return "not one line of words"
        if len(text) > self._settings.lesson_chars:
            return f"longer than {self._settings.lesson_chars} characters: {len(text)}"
        for pattern, reason in ((_CODE, "holds code"), (_MARKUP, "holds markup"), (_ADDRESS, "holds an address")):
            if pattern.search(text):
                return reason
        is_short = len(words_of(text)) < MIN_WORDS
        return _data_reason(text) or self._order_reason(text) or (f"fewer than {MIN_WORDS} words" if is_short else "")

    def _order_reason(self, text: str) -> str:
        if _ORDERS.search(normal(text)):
            return "speaks to a model, not of programs"
        for run in _runs(words_of(text)):
            if run in self._instructions:
                return f"quotes an instruction from a trace: {' '.join(run)!r:.80}"
        return ""


def _data_reason(text: str) -> str:
    if _ROW.search(text) or len(re.findall(_NUMBER, text)) > 8:
        return "holds a row of numbers"
    if _LONG_NUMBER.search(text):
        return "holds a number of more than eight digits"
    return "holds a string of more than 40 characters" if re.search(r"\S{41,}", text) else ""


def _instructions(traces: Iterable[Trace]) -> frozenset[tuple[str, ...]]:
    """Every run of words in the traces that addresses someone."""
    texts = (unicodedata.normalize("NFKC", trace.untrusted).lower() for trace in traces)
    # Most programs address nobody, and a search makes thousands of them.
    return frozenset(run for text in texts if _ADDRESSED.search(text) for run in _runs(words_of(text)))


def _runs(words: Sequence[str]) -> list[tuple[str, ...]]:
    """Runs of `QUOTED_WORDS` words of which one is addressing."""
    addressed = [n for n, word in enumerate(words) if word in _ADDRESSING]
    starts = {start for n in addressed for start in range(max(0, n - QUOTED_WORDS + 1), n + 1)}
    runs = (tuple(words[start : start + QUOTED_WORDS]) for start in sorted(starts))
    return [run for run in runs if len(run) == QUOTED_WORDS]

"""Slot text back to a program; the inverse of `render` on what the grammar writes."""

import re
from collections.abc import Iterator
from functools import lru_cache
from itertools import product

from coevo.engines.embedded.families import FAMILIES, Family
from coevo.engines.embedded.program import GRID, Feature, Modifier, ModifierKind, Program, Term, Transform
from coevo.engines.embedded.render import Slots, render

_CONSTANT = r"\d+\.\d+"
_WRAPPERS: tuple[tuple[Transform, re.Pattern[str]], ...] = (
    ("sqrt", re.compile(r"np\.sqrt\((?P<v>.*)\)")),
    ("log", re.compile(r"np\.log1p\((?P<v>.*)\)")),
    ("rank", re.compile(r"(?P<v>.*)\.argsort\(\)\.argsort\(\)")),
    ("norm", re.compile(r"(?P<v>f\d) / (?P=v)\.max\(\)")),
    ("exp", re.compile(rf"np\.exp\(-(?P<p>{_CONSTANT}) \* (?P<v>f\d) / (?P=v)\.max\(\)\)")),
    ("pow", re.compile(rf"(?P<v>.*) \*\* (?P<p>{_CONSTANT})")),
    ("id", re.compile(r"(?P<v>.*)")),
)


def parse(text: str, family: Family, slots: Slots) -> Program | None:
    """The program whose rendering is exactly this text; None if the grammar does not write it."""
    lines = text.strip("\n").split("\n")
    names: dict[str, Feature] = {}
    narrow, score, modifier_text = 0, "", ""
    for line in lines[:-1]:
        name, _, value = line.strip().partition(" = ")
        if name == "c":
            cut = re.search(r"\[:(\d+)\]\]$", value)
            narrow = int(cut[1]) if cut else 0
        elif re.fullmatch(r"f\d", name):
            feature = find_feature(value, family, slots)
            if feature is None:
                return None
            names[name] = feature
        elif name == "s" and not score:
            score = value
        elif name == "s":
            modifier_text = value
    closings = [closing.format(**slots) for closing in family.closings]
    if lines[-1] not in closings or not score:
        return None
    choices = [list(_terms(sign, part, family, slots, names)) for sign, part in _split(score)]
    modifiers = list(_modifiers(modifier_text, family, slots)) if modifier_text else [None]
    for terms, modifier in product(product(*choices), modifiers):
        program = Program(family.name, terms, modifier, bool(names), narrow, closings.index(lines[-1]))
        if render(program, slots) == text.strip("\n"):
            return program
    return None


def find_feature(text: str, family: Family, slots: Slots) -> Feature | None:
    """The catalogue entry that writes this text."""
    for key, pattern in enumerate(_patterns(family.name, tuple(sorted(slots.items())))):
        match = pattern.fullmatch(text) if pattern is not None else None
        if match is not None:
            values = match.groupdict()
            return Feature(key, tuple(int(values[hole]) for hole in ("k", "j") if hole in values))
    return None


@lru_cache(maxsize=64)
def _patterns(family: str, slots: tuple[tuple[str, str], ...]) -> tuple[re.Pattern[str] | None, ...]:
    kinds = dict(slots)
    patterns: list[re.Pattern[str] | None] = []
    for entry in FAMILIES[family].catalogue:
        if not entry.kinds <= kinds.keys():
            patterns.append(None)
            continue
        text = re.escape(entry.template.format(**kinds, k="KHOLE", j="JHOLE"))
        for hole in "kj":
            marker = f"{hole.upper()}HOLE"
            text = text.replace(marker, rf"(?P<{hole}>\d+)", 1).replace(marker, f"(?P={hole})")
        patterns.append(re.compile(text))
    return tuple(patterns)


def _split(score: str) -> list[tuple[str, str]]:
    """The summands of an expression with their signs: split where no bracket is open."""
    score = f" - {score[1:]}" if score.startswith("-") else f" + {score}"
    depth, starts = 0, []
    for position, letter in enumerate(score):
        depth += (letter in "([") - (letter in ")]")
        if depth == 0 and score[position : position + 3] in (" + ", " - "):
            starts.append(position)
    ends = [*starts[1:], len(score)]
    return [(score[start + 1], score[start + 3 : end]) for start, end in zip(starts, ends, strict=True)]


def _terms(sign: str, text: str, family: Family, slots: Slots, names: dict[str, Feature]) -> Iterator[Term]:
    weighted = re.fullmatch(rf"({_CONSTANT}) \* (.*)", text)
    for weight, rest in ((weighted[1], weighted[2]),) if weighted and weighted[1] in GRID else (("", text),):
        for core in _unbracketed(rest):
            for transform, pattern in _WRAPPERS:
                match = pattern.fullmatch(core)
                if match is None:
                    continue
                power = match.groupdict().get("p") or ""
                for inner in _inner(match["v"]):
                    feature = names.get(inner) or find_feature(inner, family, slots)
                    if feature is not None:
                        yield Term(feature, transform, power, weight, sign)


def _unbracketed(text: str) -> Iterator[str]:
    yield text
    if text.startswith("(") and text.endswith(")"):
        yield text[1:-1]


def _inner(text: str) -> Iterator[str]:
    yield from _unbracketed(text)
    if text.startswith("np.abs(") and text.endswith(")"):
        yield text[7:-1]


def _modifiers(text: str, family: Family, slots: Slots) -> Iterator[Modifier]:
    shapes: tuple[tuple[ModifierKind, str], ...] = (
        ("gate", rf"s \* \(1 \+ (?P<w>{_CONSTANT}) \* (?P<f>.*)\)"),
        ("damp", rf"s / \((?P<w>{_CONSTANT}) \+ (?P<f>.*)\)"),
        ("bonus", rf"s \+ (?P<w>{_CONSTANT}) \* \(f1 < (?P<q>{_CONSTANT}).*\)"),
        ("switch", rf"np\.where\(f1 < (?P<q>{_CONSTANT}) .*, (?P<w>{_CONSTANT}) \* s, s\)"),
        ("switch", rf"(?P<w>{_CONSTANT}) \* s if f1 < (?P<q>{_CONSTANT}) else s"),
    )
    for kind, shape in shapes:
        match = re.fullmatch(shape, text)
        if match is None:
            continue
        found = match.groupdict()
        if "f" not in found:
            yield Modifier(kind, found["w"], threshold=found["q"])
            continue
        for inner in _unbracketed(found["f"]):
            feature = find_feature(inner, family, slots)
            if feature is not None:
                yield Modifier(kind, found["w"], feature)

"""Programs as slot text: the vectorised style, which is also what a child looks like."""

from collections.abc import Mapping

from coevo.engines.embedded.families import FAMILIES, Family, Level
from coevo.engines.embedded.program import Feature, Modifier, Program, Term

Slots = Mapping[str, str]
"""Slot of every argument kind of a signature, e.g. {"matrix": "<a2>"}."""

ANGLES = " t = np.arctan2({points}[:, 1] - {points}[0, 1], {points}[:, 0] - {points}[0, 0])"


def render(program: Program, slots: Slots) -> str:
    """The body of a program, as `ast.unparse` would write it with one-space indentation."""
    family = FAMILIES[program.family]
    lines = _opening(program, family, slots)
    texts: list[tuple[str, Level]] = []
    for position, term in enumerate(program.terms):
        text, level = feature_text(family, term.feature, slots), family.catalogue[term.feature.key].level
        if program.is_named:
            lines.append(f" f{position + 1} = {text}")
            text, level = f"f{position + 1}", "atom"
        texts.append(_transformed(family, term, text, level))
    lines.append(f" s = {_weighted_sum(program.terms, texts)}")
    if program.modifier is not None:
        lines.append(f" s = {_modified(program.modifier, family, slots)}")
    lines.append(family.closings[program.closing].format(**slots))
    return "\n".join(lines)


def feature_text(family: Family, feature: Feature, slots: Slots) -> str:
    """A feature with slots and integers filled in."""
    return family.catalogue[feature.key].template.format(**slots, **holes(feature))


def holes(feature: Feature) -> dict[str, int]:
    """Values of the integer holes by name."""
    return dict(zip(("k", "j"), feature.numbers, strict=False))


def bracketed(text: str, level: Level) -> str:
    """The text, fit to stand right of an operator."""
    return text if level == "atom" else f"({text})"


def _opening(program: Program, family: Family, slots: Slots) -> list[str]:
    if family.name == "next_node":
        everyone = slots["nodes"]
        if not program.narrow:
            return [f" c = {everyone}"]
        return [f" c = {everyone}[{slots['matrix']}[{slots['node']}][{everyone}].argsort()[:{program.narrow}]]"]
    if any(family.catalogue[feature.key].uses_angles for feature in features_of(program)):
        return [ANGLES.format(**slots)]
    return []


def features_of(program: Program) -> list[Feature]:
    """Every feature a program mentions, in textual order."""
    of_modifier = [program.modifier.feature] if program.modifier and program.modifier.feature else []
    return [term.feature for term in program.terms] + of_modifier


def _transformed(family: Family, term: Term, text: str, level: Level) -> tuple[str, Level]:
    if term.transform == "id":
        return text, level
    if term.transform == "norm":
        return f"{text} / {text}.max()", "product"
    if term.transform == "exp":
        return f"np.exp(-{term.power} * {text} / {text}.max())", "atom"
    if term.transform == "rank":
        return f"{bracketed(text, level)}.argsort().argsort()", "atom"
    if family.catalogue[term.feature.key].is_signed:
        text, level = f"np.abs({text})", "atom"
    if term.transform == "pow":
        return f"{bracketed(text, level)} ** {term.power}", "atom"
    return f"np.{'sqrt' if term.transform == 'sqrt' else 'log1p'}({text})", "atom"


def _weighted_sum(terms: tuple[Term, ...], texts: list[tuple[str, Level]]) -> str:
    parts = []
    for position, (term, (text, level)) in enumerate(zip(terms, texts, strict=True)):
        if term.weight:
            text = f"{term.weight} * {bracketed(text, level)}"
        elif (position or term.sign == "-") and (level == "sum" or not position):
            text = bracketed(text, level)
        lead = ("-" if term.sign == "-" else "") if not position else f" {term.sign} "
        parts.append(lead + text)
    return "".join(parts)


def _modified(modifier: Modifier, family: Family, slots: Slots) -> str:
    if modifier.feature is not None:
        entry = family.catalogue[modifier.feature.key]
        text = feature_text(family, modifier.feature, slots)
        if modifier.kind == "gate":
            return f"s * (1 + {modifier.weight} * {bracketed(text, entry.level)})"
        return f"s / ({modifier.weight} + {bracketed(text, entry.level) if entry.level == 'sum' else text})"
    mean = "" if family.is_scalar else " * f1.mean()"
    if modifier.kind == "bonus":
        return f"s + {modifier.weight} * (f1 < {modifier.threshold}{mean})"
    if family.is_scalar:
        return f"{modifier.weight} * s if f1 < {modifier.threshold} else s"
    return f"np.where(f1 < {modifier.threshold}{mean}, {modifier.weight} * s, s)"

"""What every human style shares: choosing among spellings, and the score of one candidate as an expression or lines."""

import re
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from coevo.engines.embedded.families import Entry, Family
from coevo.engines.embedded.program import Program, Term
from coevo.engines.embedded.render import Slots, bracketed, holes, render

_INDEX = re.compile(r"(?<![A-Za-z_])([ij])(?![A-Za-z_])")


@dataclass(frozen=True, slots=True)
class Pen:
    """A program about to be written by hand."""

    rng: np.random.Generator
    program: Program
    family: Family
    slots: Slots

    def pick(self, *options: str) -> str:
        """One of the spellings."""
        return options[int(self.rng.integers(len(options)))]

    def chance(self, share: float) -> bool:
        """True with this probability."""
        return bool(self.rng.random() < share)

    def constant(self) -> str:
        """A constant with two decimals, as people choose them."""
        return f"{self.rng.uniform(0.05, 2):.2f}"

    def terms(self) -> list[Term]:
        """The terms that have a one-candidate form."""
        return [term for term in self.program.terms if self._entry(term).scalar]

    def expression(self) -> str:
        """The score of candidate `@i` (or pair `@i`, `@j`); a plain first feature if no term can be written so."""
        terms = self.terms()
        if not terms:
            return marked(self.family.catalogue[0].scalar)
        text = ("-" if terms[0].sign == "-" else "") + self._summand(terms[0])
        return text + "".join(f" {term.sign} {self._summand(term)}" for term in terms[1:])

    def score_lines(self, indent: str) -> str:
        """Lines that set `@s`, sometimes term by term."""
        terms = self.terms()
        if len(terms) < 2 or self.chance(0.5):
            return f"{indent}@s = {self.expression()}"
        lines = [f"{indent}@f{number} = {self._summand(term)}" for number, term in enumerate(terms)]
        total = ("-" if terms[0].sign == "-" else "") + "@f0"
        total += "".join(f" {term.sign} @f{number}" for number, term in enumerate(terms) if number)
        return "\n".join([*lines, f"{indent}@s = {total}"])

    def _entry(self, term: Term) -> Entry:
        return self.family.catalogue[term.feature.key]

    def _summand(self, term: Term) -> str:
        text = marked(filled(self._entry(term).scalar, term))
        level = self._entry(term).level
        if term.transform in ("sqrt", "log", "pow"):
            shapes = {
                "sqrt": f"np.sqrt(abs({text}))",
                "log": f"np.log(1 + abs({text}))",
                "pow": f"abs({text}) ** {term.power}",
            }
            text, level = shapes[term.transform], "atom"
        if term.weight:
            return f"{term.weight} * {bracketed(text, level)}"
        return bracketed(text, level) if level == "sum" else text


Style = Callable[[Pen], str]


def marked(text: str) -> str:
    """Index letters as name markers."""
    return _INDEX.sub(r"@\1", text)


def filled(template: str, term: Term) -> str:
    """A template with its integers."""
    for hole, value in holes(term.feature).items():
        template = template.replace(f"{{{hole}}}", str(value))
    return template


def long_names(pen: Pen) -> str:
    """The vectorised style under other names, with functions of numpy where the grammar uses methods."""
    text = render(pen.program, pen.slots).replace("s.argmin()", "np.argmin(s)")
    if pen.chance(0.5):
        text = re.sub(r"(<a\d>\[<a\d>)\]\[(c|<a\d>)\]", r"\1, \2]", text)
    for old in ("s", "c", "f1", "f2", "f3", "f4"):
        text = re.sub(rf"(?<![A-Za-z0-9_@.<]){old}(?![A-Za-z0-9_(>])", f"@{old}", text)
    constants = list(dict.fromkeys(re.findall(r"(?<![\d.])\d\.\d+(?= \*)", text)))
    if constants and pen.chance(0.4):
        chosen = pen.pick(*constants)
        text = f" @w = {chosen}\n" + text.replace(f"{chosen} *", "@w *")
    if pen.family.name == "next_node" and pen.chance(0.3):
        ending = pen.pick(
            "return int(@c[np.argmin(@s)])", "@best = @c[np.argmin(@s)]\n return @best", "return @c[np.argsort(@s)[0]]"
        )
        text = text.replace("return @c[np.argmin(@s)]", ending)
    return text

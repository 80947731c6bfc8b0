"""Renderers: operator + parents -> the text a model reads, and its answer -> a program.

A model folder names its renderer. `chat` and `plain` write the operator's prompt in words and look for a code block in
the answer (the engine wraps `chat` text in the model's chat template); `slots` is the codec of the embedded model.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, Protocol

from coevo import codec
from coevo.candidate import Candidate
from coevo.content import ProblemFolder
from coevo.errors import ConfigError
from coevo.evolution.operators import Operator
from coevo.interfaces import Guidance

RendererName = Literal["chat", "plain", "slots", "board"]
NO_GUIDANCE = Guidance()
_LEARNED = "What earlier attempts at this task have taught, to be weighed and not to be repeated:"
SLOT_OPERATORS = frozenset({"i1", "e1", "e2", "m1", "m2"})


@dataclass(frozen=True, slots=True)
class Reading:
    """What an answer says: a program and the thought that came with it, or the reason why there is none."""

    code: str = ""
    thought: str = ""
    reason: str = ""


class Renderer(Protocol):
    """Turns an operator and its parents into text, and an answer into a program."""

    def render(
        self,
        operator: Operator,
        problem: ProblemFolder,
        parents: Sequence[Candidate],
        guidance: Guidance = NO_GUIDANCE,
    ) -> str:
        """The text of the request."""

    def read(self, problem: ProblemFolder, text: str) -> Reading:
        """The program in an answer; never raises, whatever the text."""


class WordsRenderer:
    """Prompts in words, answers with a fenced code block: for instruction models and the scripted engine."""

    def render(
        self,
        operator: Operator,
        problem: ProblemFolder,
        parents: Sequence[Candidate],
        guidance: Guidance = NO_GUIDANCE,
    ) -> str:
        """The operator's prompt with the problem and the parents filled in."""
        signature = problem.spec.heuristic
        values = {
            "task": problem.description,
            "function": signature.function,
            "definition": signature.definition,
            "arguments": "\n".join(f"- `{a.name}` ({a.type}): {a.description}" for a in signature.arguments),
            "returns": f"- `{signature.returns.name}` ({signature.returns.type}): {signature.returns.description}",
            "parents": "\n\n".join(_listing(number, parent) for number, parent in enumerate(parents, 1)),
            "skill": f"{_LEARNED}\n\n{guidance.text.strip()}\n\n" if guidance.text.strip() else "",
        }
        return operator.prompt(values)

    def read(self, problem: ProblemFolder, text: str) -> Reading:
        """The first fenced block that defines the function, or else the bare definition; thought before the code."""
        function = problem.spec.heuristic.function
        defines = re.compile(rf"^[ \t]*def[ \t]+{re.escape(function)}[ \t]*\(", re.MULTILINE)
        for block in re.finditer(r"^[ \t]*```[^\n]*\n(.*?)(?:^[ \t]*```|\Z)", text, re.DOTALL | re.MULTILINE):
            if defines.search(block[1]):
                return Reading(block[1].strip("\n") + "\n", _thought(text[: block.start()]))
        if (bare := defines.search(text)) is None:
            return Reading(reason=f"the answer does not define {function}")
        start = min([bare.start(), *(m.start() for m in re.finditer(r"^(?:import|from)\s", text, re.MULTILINE))])
        return Reading(text[start:].strip("\n") + "\n", _thought(text[:start]))


def _listing(number: int, parent: Candidate) -> str:
    thought = f"{parent.thought}\n" if parent.thought else ""
    return f"Heuristic {number}:\n{thought}```python\n{parent.code.strip()}\n```"


def _thought(before_code: str) -> str:
    """The sentence in braces before the code. Only text before the code is searched: programs have braces too."""
    braces = re.search(r"\{([^{}]*)\}", before_code)
    return " ".join((braces[1] if braces else before_code).split())[:500]


class SlotsRenderer:
    """The embedded model's codec: argument names become numbered slots, so names it has never seen do not matter."""

    def render(
        self,
        operator: Operator,
        problem: ProblemFolder,
        parents: Sequence[Candidate],
        guidance: Guidance = NO_GUIDANCE,
    ) -> str:
        """The slot text of the request.

        Where the codec cannot represent a parent, the model is asked for a new heuristic instead (i1), so that the
        completion is not wasted. The codec can represent whatever it wrote; a start heuristic is checked beforehand.
        """
        if operator.name not in SLOT_OPERATORS:
            known = ", ".join(sorted(SLOT_OPERATORS))
            raise ConfigError(
                f"the embedded model knows the operators {known}, got {operator.name!r}; use another model"
            )
        try:
            codes = [parent.code for parent in parents]
            return codec.encode_prompt(operator.name, problem.spec.heuristic, codes, guidance)
        except ValueError:
            return codec.encode_prompt("i1", problem.spec.heuristic, [], guidance)

    def read(self, problem: ProblemFolder, text: str) -> Reading:
        """The program, with the problem's own argument names."""
        return Reading(codec.decode_child(problem.spec.heuristic, text))


def unreadable(problem: ProblemFolder, candidate: Candidate) -> str:
    """Why the slot codec cannot show a candidate as a parent; empty if it can."""
    try:
        codec.encode_prompt("m1", problem.spec.heuristic, [candidate.code])
    except ValueError as error:
        return str(error)
    return ""


def renderer_named(name: RendererName) -> Renderer:
    """The renderer a model folder names.

    Raises:
        ConfigError: If it is one for a model that plays.
    """
    if name == "board":
        raise ConfigError(
            "expected a model that writes programs, got one that plays on boards (renderer 'board'); take another "
            "--model, or coevo tune"
        )
    return SlotsRenderer() if name == "slots" else WordsRenderer()

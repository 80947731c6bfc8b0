"""Traces: what happened once, with its outcome, for an analyst to learn from (arXiv:2603.25158, stage 1).

A trace of the search is one child: its parents, its program, its verdict, what it earned. A trace of an agent is one
episode. Neither holds anything of an instance: verdicts are costs and one line of detail, and of that line the numbers
are left out, because a program may put into its message what it was given. Letters it could put there too; the line is
short, and a program has nothing to gain by it.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from coevo.candidate import Candidate, Evaluation
from coevo.skills.quoting import PREAMBLE, one_line, plain, quoted, reason_of, shares

Outcome = Literal["good", "bad", "neutral"]


@dataclass(frozen=True, slots=True)
class Passage:
    """A part of a trace: what it is, in our words, and the untrusted text itself."""

    label: str
    text: str


@dataclass(frozen=True, slots=True)
class Trace:
    """Something that happened, and how it ended.

    Attributes:
        id: Unique in the run; what evidence refers to.
        task: Label of the problem or environment.
        outcome: How it ended.
        passages: What happened, in order; untrusted.
        value: What it earned (maximised); None where nothing was earned, such as without any valid child in a batch.
        subject: What it is about: of traces with the same subject only one counts. Empty: the trace itself.
        stratum: Values are compared with those of the same stratum alone.
        reason: Class of failure of a bad trace; untrusted; empty where there is none.
        program: Source of the program it is about, for statistics; empty where there is none.
    """

    id: str
    task: str
    outcome: Outcome
    passages: tuple[Passage, ...]
    value: float | None = None
    subject: str = ""
    stratum: str = ""
    reason: str = ""
    program: str = ""

    @property
    def order(self) -> tuple[tuple[int, int, str], ...]:
        """Sorting key by id in which 2.m1.10 comes after 2.m1.9."""
        parts = re.findall(r"[0-9]{1,18}|[^0-9]+", self.id)
        return tuple((0, int(part), "") if part[0] in "0123456789" else (1, 0, part) for part in parts)

    @property
    def untrusted(self) -> str:
        """All its text that others wrote, to look for quotations in."""
        return "\n".join([*(passage.text for passage in self.passages), self.reason])

    def render(self, max_chars: int) -> str:
        """The trace for a model to read: what is known of it, then its passages as quoted data.

        Args:
            max_chars: Bound on the length of all passages together, without the quotation marks.
        """
        earned = "" if self.value is None else f", earned {self.value:.4g}"
        lines = [f"Trace {one_line(self.id, 80)} of {one_line(self.task, 80)}: {self.outcome}{earned}.", PREAMBLE]
        texts = [plain(passage.text, max_chars) for passage in self.passages]
        cut = shares([len(text) for text in texts], max_chars)
        for passage, text, length in zip(self.passages, texts, cut, strict=True):
            lines += ["", f"{one_line(passage.label, 120)}:", quoted(text, length)]
        return "\n".join(lines)


@dataclass(frozen=True, slots=True)
class Birth:
    """One child of a search, as its events tell of it.

    Attributes:
        id: Of the completion.
        operator: Who asked for it.
        generation: 0 for the first population.
        parents: Programs it was made from, with their costs (minimised).
        child: The program, or None where the answer held none.
        evaluation: The verdict on the search split.
        reward: What it earned (maximised), or None where its batch had no rewards.
    """

    id: str
    operator: str
    generation: int
    parents: Sequence[tuple[Candidate, float]]
    child: Candidate | None
    evaluation: Evaluation
    reward: float | None

    @property
    def outcome(self) -> Outcome:
        """Good if it earned something, bad if it failed or lost something, neutral else."""
        if not self.evaluation.is_ok or (self.reward is not None and self.reward < 0):
            return "bad"
        return "good" if self.reward is not None and self.reward > 0 else "neutral"

    def trace(self, task: str) -> Trace:
        """The birth as a trace. Its stratum is the batch: there children had the same operator and like parents."""
        reason = "" if self.evaluation.is_ok else reason_of(self.evaluation.status, self.evaluation.detail)
        return Trace(
            id=self.id,
            task=task,
            outcome=self.outcome,
            passages=(*self._parents(), *self._child(), Passage("Verdict", reason or "ok")),
            value=self.reward,
            subject=self.child.identity if self.child else "",
            stratum=f"{self.generation}.{self.operator}",
            reason=reason,
            program=self.child.code if self.child else "",
        )

    def _parents(self) -> list[Passage]:
        return [
            Passage(f"Parent {number}, cost {cost:.6g} (less is better)", _program(parent))
            for number, (parent, cost) in enumerate(self.parents, 1)
        ]

    def _child(self) -> list[Passage]:
        cost = "no cost" if self.evaluation.cost is None else f"cost {self.evaluation.cost:.6g}"
        label = f"Child by operator {self.operator}, {cost}"
        return [Passage(label, _program(self.child) if self.child else "the answer held no program")]


def _program(candidate: Candidate) -> str:
    thought = f"# {' '.join(candidate.thought.split())}\n" if candidate.thought else ""
    return thought + candidate.code.strip("\n")

"""Candidates (heuristic programs) and the verdicts on them: plain frozen values, no behaviour beyond identity."""

import hashlib
from dataclasses import dataclass
from functools import cached_property
from typing import Literal, get_args

Status = Literal["ok", "invalid", "infeasible", "crash", "timeout", "memory"]
STATUSES: tuple[Status, ...] = get_args(Status)


@dataclass(frozen=True)
class Candidate:
    """One heuristic program.

    Attributes:
        code: Python source that defines the problem's heuristic function.
        thought: One sentence that says what the program does; may be empty.
        operator: Name of the operator that wrote it, or "start" for a program the user brought.
        parents: Identities of the parents, in prompt order.
    """

    code: str
    thought: str = ""
    operator: str = ""
    parents: tuple[str, ...] = ()

    @cached_property
    def identity(self) -> str:
        """First 16 hex digits of the SHA-256 of the source: the same program has the same identity in every run."""
        return hashlib.sha256(self.code.encode()).hexdigest()[:16]


@dataclass(frozen=True, slots=True)
class Evaluation:
    """What became of a candidate on one split.

    Attributes:
        status: "ok", or the way it failed. Only "ok" carries numbers.
        detail: One line on the failure; empty when ok.
        cost: Mean over the instances, always minimised; None unless ok.
        objective: The same mean in the problem's own sense; None unless ok.
        objectives: One value per instance, own sense, in instance order; empty unless ok.
        cpu_s: CPU seconds the candidate used in all; a clock field, never compared.
    """

    status: Status
    detail: str = ""
    cost: float | None = None
    objective: float | None = None
    objectives: tuple[float, ...] = ()
    cpu_s: float = 0.0

    @property
    def is_ok(self) -> bool:
        """Whether the candidate solved every instance feasibly within its limits."""
        return self.status == "ok"

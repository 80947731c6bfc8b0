"""Fixtures of the skill tests: traces and births made from a few words."""

from collections.abc import Callable, Sequence
from typing import Any

import pytest

from coevo.candidate import Candidate, Evaluation
from coevo.skills import Birth, Passage, Trace, load_prompts
from coevo.skills.prompts import Prompt


@pytest.fixture(scope="session")
def trace() -> Callable[..., Trace]:
    """Makes a trace from an id, its value and its text; good above 0, bad below."""

    def make(name: str, value: float | None = 1.0, text: str = "text", **fields: Any) -> Trace:
        outcome = "neutral" if not value else "good" if value > 0 else "bad"
        return Trace(name, "tiny", fields.pop("outcome", outcome), (Passage("Text", text),), value, **fields)

    return make


@pytest.fixture(scope="session")
def birth() -> Callable[..., Birth]:
    """Makes the birth of a child from its source and reward; failed where a status is given."""

    def make(code: str | None, reward: float | None = 1.0, *, status: Any = "ok", **fields: Any) -> Birth:
        child = None if code is None else Candidate(code, fields.pop("thought", ""))
        parents = fields.pop("parents", ((Candidate("def f(x):\n    return x\n", "The thought."), 5.0),))
        cost = 4.0 if status == "ok" else None
        evaluation = Evaluation(status, fields.pop("detail", ""), cost)
        return Birth(
            fields.pop("name", "3.m1.2"), "m1", fields.pop("generation", 3), parents, child, evaluation, reward
        )

    return make


class ScriptedAsk:
    """Answers by stage from lists; notes what it was asked."""

    def __init__(self, answer: Callable[[str, int], str | None]):
        self._answer = answer
        self.stages: list[str] = []
        self.prompts: list[str] = []

    def __call__(self, stage: str, prompts: Sequence[str]) -> list[str | None]:
        """The answers to the prompts of one stage."""
        self.stages.append(stage)
        self.prompts += prompts
        return [self._answer(stage, place) for place in range(len(prompts))]


@pytest.fixture(scope="session")
def scripted_ask() -> type[ScriptedAsk]:
    """Makes an `ask` from a function of stage and place."""
    return ScriptedAsk


@pytest.fixture(scope="session")
def prompts() -> dict[str, Prompt]:
    """The prompts that ship."""
    return load_prompts()

"""Events of what learns in a run, the weights and the skill, as values."""

import json
import math
from typing import Any

from coevo.records.event_log import Event
from coevo.reporting.diffs import diff
from coevo.reporting.learning_story import GuardStory, SkillStory, StepStory


def step_of(event: Event) -> StepStory:
    """A `step` event.

    A coefficient cᵢ multiplies noise εᵢ of unit variance on 1/K of the weights (all of them without subspaces), so a
    weight's change has the variance Σ cᵢ² / K.
    """
    coefficients = [float(value) for value in event["coefficients"]] if event["applied"] else []
    return StepStory(
        step=int(event["step"]),
        generation=int(event["generation"]),
        operator=str(event["operator"]),
        sigma=float(event["sigma"]),
        length=math.sqrt(math.fsum(value * value for value in coefficients) / int(event.get("subspace_count", 1))),
        is_applied=bool(event["applied"]),
        rewards=tuple(float(reward) for reward in event["rewards"]),
        fingerprint=str(event["fingerprint"]),
    )


def guard_of(event: Event) -> GuardStory:
    """A `guard` event."""
    return GuardStory(
        step=int(event["step"]),
        valid=float(event["valid"]),
        bound=float(event["bound"]),
        is_refused=bool(event["refused"]),
        scale=float(event["scale"]),
    )


def skill_of(event: Event, before: SkillStory | None) -> SkillStory:
    """A `skill` event; `before` is the one before it."""
    text, version = str(event["text"]), int(event["version"])
    lines, note = diff(before.text if before else "", text)
    return SkillStory(
        version=version,
        is_new=before is None or version != before.version,
        generation=int(event["generation"]),
        text=text,
        use=tuple(map(str, event["use"])),
        avoid=tuple(map(str, event["avoid"])),
        traces=int(event["traces"]),
        lessons=int(event["lessons"]),
        levels=len(event["levels"]),
        rejected=tuple((_words(edit), _words(reason)) for edit, reason in event["rejected"]),
        diff=() if note else lines,
    )


def _words(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)

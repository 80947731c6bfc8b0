"""How large a skill and its making may be."""

from pydantic import BaseModel, ConfigDict, Field


class SkillSettings(BaseModel):
    """Bounds of a skill and of one update of it. Lengths are in characters."""

    model_config = ConfigDict(frozen=True, extra="forbid", use_attribute_docstrings=True)

    max_traces: int = Field(default=20, ge=1, le=1000)
    """Traces of which one update asks a model for a lesson; statistics read all they are given."""
    group: int = Field(default=5, ge=2, le=32)
    """B, the patches that are merged at a time (published: 5)."""
    max_lines: int = Field(default=80, ge=16, le=400)
    """Lines of the skill (published: 80)."""
    max_chars: int = Field(default=4000, ge=1000, le=40_000)
    """Length of the skill; it stands in every prompt, so every token of it is paid for with every completion."""
    lesson_chars: int = Field(default=200, ge=40, le=400)
    """Length of one lesson."""
    trace_chars: int = Field(default=6000, ge=500, le=100_000)
    """Length of one trace as a model is shown it."""

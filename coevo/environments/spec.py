"""`environment.toml`: what is known of an environment without importing any of its code."""

from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field, field_validator, model_validator

from coevo.answer_bounds import AnswerTokens, EpisodeTokens, Temperature, TopK, TopP

SPLITS = ("train", "val")
"""What every environment has: tasks to learn from, and tasks that choose the best weights. Others are reported only."""


class _Frozen(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid", use_attribute_docstrings=True)


class EnvironmentOption(_Frozen):
    """Something the user may set with `--option name=value`; `tasks` and `open` are given every option by name."""

    name: str = Field(pattern=r"^[a-z][a-z0-9_]*$")
    type: Literal["number", "integer", "text"]
    default: float | int | str
    description: str

    @model_validator(mode="after")
    def _default_has_the_type(self) -> "EnvironmentOption":
        self.read(str(self.default))
        return self

    def read(self, text: str) -> float | int | str:
        """The value that a text stands for.

        Raises:
            ValueError: If it is not of the option's type.
        """
        if self.type == "text":
            return text
        try:
            return int(text) if self.type == "integer" else float(text)
        except ValueError:
            raise ValueError(f"option {self.name}: expected {self.type}, got {text!r}") from None


class EpisodeLimits(_Frozen):
    """What bounds an episode; the environment may end it earlier."""

    turns: int = Field(ge=1, le=10_000)
    """Most actions; the last one is still scored."""
    turn_tokens: AnswerTokens
    """Longest answer of a turn; a longer one is cut off and passed to the environment as it is."""
    total_tokens: EpisodeTokens | None = None
    """Most tokens generated in an episode; it is truncated at the first turn that begins beyond it."""
    step_s: float = Field(default=60.0, gt=0)
    """Wall time of one call of `reset` or `step`; beyond it the surroundings have failed."""
    at_once: int = Field(default=64, ge=1)
    """Episodes that may be open at a time."""


class EpisodeSampling(_Frozen):
    """How answers are drawn unless the user says otherwise."""

    temperature: Temperature = 1.0
    top_p: TopP = 1.0
    top_k: TopK = 0
    presence_penalty: float = Field(default=0.0, ge=-2, le=2)
    stop: tuple[Annotated[str, Field(min_length=1)], ...] = ()


class Need(_Frozen):
    """A program or package without which the environment cannot run."""

    program: str = ""
    """Name of a program on the PATH."""
    package: str = ""
    """Name of a Python module."""
    install: str
    """The command that brings it."""

    @model_validator(mode="after")
    def _is_one(self) -> "Need":
        if bool(self.program) == bool(self.package):
            raise ValueError("names a program or a package, one of the two")
        return self


class EnvironmentSpec(_Frozen):
    """`environment.toml`.

    Attributes:
        conversation: "grows" where every turn adds the answer and what the environment says to it; "renewed" where
            each turn's messages are all that the agent sees.
        splits: Name -> what it holds.
        at_best: The score of an episode that could not be better, for reports.
    """

    schema_version: Literal[1]
    name: str = Field(pattern=r"^[a-z][a-z0-9-]*$")
    title: str
    conversation: Literal["grows", "renewed"]
    splits: dict[str, str]
    limits: EpisodeLimits
    sampling: EpisodeSampling = EpisodeSampling()
    options: tuple[EnvironmentOption, ...] = ()
    needs: tuple[Need, ...] = ()
    at_best: float = 1.0
    source: str
    licence: str

    @field_validator("splits")
    @classmethod
    def _has_what_tuning_needs(cls, splits: dict[str, str]) -> dict[str, str]:
        if missing := [name for name in SPLITS if name not in splits]:
            raise ValueError(f"needs the splits {', '.join(SPLITS)}; missing: {', '.join(missing)}")
        return splits

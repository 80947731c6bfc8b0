"""How warm and how narrow answers may be drawn, and how long they may be, wherever a user says so."""

from typing import Annotated

from pydantic import AfterValidator, Field

LEAST_TEMPERATURE, MOST_TEMPERATURE = 0.01, 100.0
"""Below, an fp32 division by the temperature loses the differences between tokens or overflows, and vLLM serves nothing
colder; above, all tokens are alike."""

LEAST_TOP_P = 1e-6
"""A nucleus narrower than this holds the likeliest token alone, as it does at this."""

MOST_TOKENS = 1_000_000
"""Of one answer, and of a vocabulary."""


def _is_served(temperature: float) -> float:
    if temperature != 0 and not LEAST_TEMPERATURE <= temperature <= MOST_TEMPERATURE:
        raise ValueError(f"must be 0 (greedy), or from {LEAST_TEMPERATURE:g} to {MOST_TEMPERATURE:g}")
    return temperature


Temperature = Annotated[float, Field(ge=0, allow_inf_nan=False), AfterValidator(_is_served)]
"""0 is greedy."""

TopP = Annotated[float, Field(ge=LEAST_TOP_P, le=1)]
"""Share of probability that the nucleus holds."""

TopK = Annotated[int, Field(ge=0, le=MOST_TOKENS)]
"""Likeliest tokens kept; 0 keeps all."""

AnswerTokens = Annotated[int, Field(ge=1, le=MOST_TOKENS)]
"""Longest answer."""

EpisodeTokens = Annotated[int, Field(ge=1, le=1_000_000_000)]
"""Most tokens of an episode's answers together."""

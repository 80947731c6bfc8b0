"""The numbers of the baselines, checked where they enter."""

from typing import Literal

from pydantic import BaseModel, ConfigDict, Field, FiniteFloat

Method = Literal["es", "grpo", "ppo"]
"""How scores move the weights: evolution strategies, or backpropagation through one of the baselines."""


class BaselineSettings(BaseModel):
    """Settings of GRPO and PPO; without effect with evolution strategies.

    A group of GRPO is all episodes of one task: members × children of the table `evolution_strategy`, so that equal
    numbers there are equal rollouts. The defaults are the published ones for GRPO on Sudoku.
    """

    model_config = ConfigDict(frozen=True, extra="forbid", use_attribute_docstrings=True)

    lr: FiniteFloat = Field(default=1e-6, gt=0, le=1e6)
    """Learning rate of AdamW on the model's weights, without a schedule."""

    clip: FiniteFloat = Field(default=0.2, gt=0, lt=1)
    """ε: how far from 1 a ratio of probabilities still moves the weights."""

    kl: FiniteFloat = Field(default=1e-3, ge=0, le=1e6)
    """β: weight of the divergence from the model as it began; at 0 no copy of that model is kept."""

    epochs: int = Field(default=1, ge=1, le=100)
    """Passes over the turns of a generation."""

    minibatch: int = Field(default=512, ge=1)
    """Turns of one step of the optimiser; the last step of a pass takes those that are left."""

    rows: int = Field(default=16, ge=1)
    """Turns of one forward and backward pass: a matter of memory and time alone."""

    weight_decay: FiniteFloat = Field(default=0.0, ge=0, le=1e6)
    """Of AdamW."""

    max_norm: FiniteFloat | None = Field(default=None, gt=0, le=1e6)
    """Longest gradient; a longer one is shortened. Unbounded without a number (published)."""

    value_lr: FiniteFloat = Field(default=1e-3, gt=0, le=1)
    """PPO: learning rate of the value head."""

    value_clip: FiniteFloat = Field(default=0.2, gt=0, le=1e6)
    """PPO: how far a value may move from what it was when the episode was played, in units of score."""

    value_weight: FiniteFloat = Field(default=0.1, ge=0, le=1e6)
    """PPO: weight of the value loss beside the policy's."""

    discount: FiniteFloat = Field(default=1.0, gt=0, le=1)
    """PPO: γ, of a turn."""

    trace_decay: FiniteFloat = Field(default=0.95, ge=0, le=1)
    """PPO: λ of generalised advantage estimation, of a turn."""

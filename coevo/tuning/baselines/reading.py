"""What a model thinks of turns: the log-probability of every token of an answer, and the value of where it began.

Log-probabilities are those of the distribution that the answers were drawn from: the softmax of the logits over the
sampling temperature. So a baseline asks for plain sampling; under a nucleus, the k likeliest or a penalty the answers
would come from another distribution than the one whose gradient is taken.
"""

import inspect
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor, nn

from coevo.errors import ConfigError
from coevo.interfaces import Sampling
from coevo.tuning.baselines.turns import TurnTokens


@dataclass(frozen=True, slots=True)
class Read:
    """What was read off some turns.

    Attributes:
        log_probs: Shape (turns, longest answer), fp32; arbitrary behind the end of an answer.
        mask: Same shape, 1.0 on tokens of the answers.
        values: Shape (turns,): the value head's score-to-come where the answer begins; None without a head.
    """

    log_probs: Tensor
    mask: Tensor
    values: Tensor | None


class Reader:
    """Reads turns with one model.

    Args:
        model: A causal language model of transformers, in evaluation mode: without dropout, so that the same weights
            give the same probabilities.
        temperature: Of the sampling, above 0.
        padding: A token for the places that no turn fills.
        head: From the last hidden state of a prompt to its value; None for no values.
    """

    def __init__(self, model: Any, temperature: float, padding: int, head: nn.Linear | None = None) -> None:
        self.model = model
        self.head = head
        self._temperature = temperature
        self._padding = padding
        self._keeps = "logits_to_keep" in inspect.signature(model.forward).parameters

    def read(self, turns: Sequence[TurnTokens]) -> Read:
        """Read turns in one pass: prompts padded on the left, answers on the right, so that all answers begin together.

        Args:
            turns: At least one; no answer is empty.
        """
        longest = max(len(turn.answer) for turn in turns)
        inputs, seen = self._padded(turns, longest)
        answers, mask = self._answers(turns, longest)
        output = self.model(
            input_ids=inputs,
            attention_mask=seen,
            position_ids=(seen.cumsum(-1) - 1).clamp(min=0),
            use_cache=False,
            output_hidden_states=self.head is not None,
            **({"logits_to_keep": longest} if self._keeps else {}),
        )
        scaled = output.logits[:, -longest:].float() / self._temperature
        log_probs = scaled.log_softmax(-1).gather(-1, answers[..., None])[..., 0]
        values = None
        if self.head is not None:
            values = self.head(output.hidden_states[-1][:, -longest].float())[:, 0]
        return Read(log_probs, mask, values)

    def _padded(self, turns: Sequence[TurnTokens], longest: int) -> tuple[Tensor, Tensor]:
        """Inputs and attention mask, shape (turns, prompt + answer − 1): an answer's last token predicts nothing."""
        width = max(len(turn.prompt) for turn in turns)
        inputs = torch.full((len(turns), width + longest - 1), self._padding)
        seen = torch.zeros_like(inputs)
        for row, turn in enumerate(turns):
            start, tokens = width - len(turn.prompt), [*turn.prompt, *turn.answer[:-1]]
            inputs[row, start : start + len(tokens)] = torch.tensor(tokens)
            seen[row, start : start + len(tokens)] = 1
        return inputs.to(self.model.device), seen.to(self.model.device)

    def _answers(self, turns: Sequence[TurnTokens], longest: int) -> tuple[Tensor, Tensor]:
        answers = torch.full((len(turns), longest), self._padding)
        mask = torch.zeros(len(turns), longest)
        for row, turn in enumerate(turns):
            answers[row, : len(turn.answer)] = torch.tensor(turn.answer)
            mask[row, : len(turn.answer)] = 1.0
        return answers.to(self.model.device), mask.to(self.model.device)


def check_sampling(sampling: Sampling, method: str) -> None:
    """Refuse a distribution whose log-probabilities are not the model's own.

    Raises:
        ConfigError: Naming what to set.
    """
    if sampling.temperature == 0:
        raise ConfigError(f"method {method} learns from chance: expected a temperature above 0, got 0")
    if (sampling.top_p, sampling.top_k, sampling.presence_penalty) != (1.0, 0, 0.0):
        raise ConfigError(
            f"method {method} takes the gradient of the distribution that answers are drawn from: expected top-p 1, "
            f"top-k 0 and presence penalty 0, got {sampling.top_p:g}, {sampling.top_k} and "
            f"{sampling.presence_penalty:g}; set all three"
        )


@contextmanager
def threads(count: int) -> Iterator[None]:
    """Let torch use this many threads, and as many as before afterwards."""
    before = torch.get_num_threads()
    torch.set_num_threads(count)
    try:
        yield
    finally:
        torch.set_num_threads(before)

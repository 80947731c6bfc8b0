"""One generation's learning: shuffled minibatches of turns, gradients, AdamW."""

import math
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from coevo.errors import RunError
from coevo.tuning.baselines.losses import clipped_policy_loss, clipped_value_loss, divergence, mean_of_answers
from coevo.tuning.baselines.methods import Judge
from coevo.tuning.baselines.reading import Read, Reader
from coevo.tuning.baselines.settings import BaselineSettings
from coevo.tuning.baselines.turns import Played, TurnTokens

Shuffle = Callable[[int], np.random.Generator]
"""Epoch -> the generator that shuffles it."""


@dataclass(frozen=True, slots=True)
class Example:
    """A turn to learn from; log-probabilities are of its answer's tokens, None where they are not needed."""

    turn: TurnTokens
    advantage: float
    old: Tensor | None = None
    reference: Tensor | None = None
    value: float = 0.0
    target: float = 0.0


class Trainer:
    """Moves a model by what its turns were worth.

    Args:
        reader: Of the model that learns; with a value head if the judge wants values.
        reference: Of the model as it began, or None for no divergence from it.
        optimiser: Of the weights that learn.
        judge: How good turns were.
        settings: Of the method.
    """

    def __init__(
        self,
        reader: Reader,
        reference: Reader | None,
        optimiser: torch.optim.Optimizer,
        judge: Judge,
        settings: BaselineSettings,
    ) -> None:
        self._reader, self._reference = reader, reference
        self._optimiser, self._judge, self._settings = optimiser, judge, settings

    def learn(self, played: Sequence[Played], shuffle: Shuffle) -> dict[str, Any]:
        """Learn from the episodes of a generation.

        Args:
            played: They may be none.
            shuffle: Order of the turns.

        Returns:
            Means over all steps: `loss` and its parts `policy`, `kl`, `value`; the largest and mean `grad_norm`;
            counts of `examples`, `tokens`, `updates`.

        Raises:
            RunError: If a loss or gradient is not finite.
        """
        examples = self.examples(played)
        norms: list[float] = []
        sums: Counter[str] = Counter()
        for epoch in range(self._settings.epochs):
            order = shuffle(epoch).permutation(len(examples))
            for first in range(0, len(order), self._settings.minibatch):
                chosen = [examples[place] for place in order[first : first + self._settings.minibatch]]
                parts, norm = self._update(chosen)
                sums.update({name: value * len(chosen) for name, value in parts.items()})
                norms.append(norm)
        count = max(1, len(examples) * self._settings.epochs)
        return {
            **{name: sums[name] / count for name in ("loss", "policy", "kl", "value")},
            "grad_norm": math.fsum(norms) / len(norms) if norms else 0.0,
            "lr": self._settings.lr,
            "examples": len(examples),
            "tokens": sum(len(example.turn.answer) for example in examples),
            "updates": len(norms),
        }

    def examples(self, played: Sequence[Played]) -> list[Example]:
        """The turns with what has to be known of them before the weights move."""
        played = [episode for episode in played if episode.turns]
        turns = [turn for episode in played for turn in episode.turns]
        if not turns:
            return []
        # In a single step the ratio is 1 and its gradient that of the new log-probability: no pass of its own is due.
        moves_once = self._settings.epochs == 1 and len(turns) <= self._settings.minibatch
        before = self._all(self._reader, turns) if self._judge.has_values or not moves_once else None
        reference = self._all(self._reference, turns) if self._reference else None
        values = np.array([value for _, value in before]) if before and self._judge.has_values else None
        judged = self._judge(played, values)
        return [
            Example(
                turn,
                float(judged.advantages[place]),
                before[place][0] if before else None,
                reference[place][0] if reference else None,
                0.0 if values is None else float(values[place]),
                0.0 if judged.targets is None else float(judged.targets[place]),
            )
            for place, turn in enumerate(turns)
        ]

    def loss(self, examples: Sequence[Example]) -> dict[str, Tensor]:
        """The loss of some examples in one pass, summed over them, under `loss`, and its parts."""
        settings, read = self._settings, self._reader.read([example.turn for example in examples])
        device = read.log_probs.device
        advantages = torch.tensor([example.advantage for example in examples], device=device)
        olds = [example.old for example in examples]
        old = read.log_probs.detach() if olds[0] is None else _padded(olds, read)
        tokens = clipped_policy_loss(read.log_probs, old, advantages, settings.clip)
        parts = {"policy": mean_of_answers(tokens, read.mask).sum()}
        if examples[0].reference is not None:
            away = divergence(read.log_probs, _padded([example.reference for example in examples], read))
            parts["kl"] = mean_of_answers(away, read.mask).sum()
        if read.values is not None:
            known = torch.tensor([example.value for example in examples], device=device)
            targets = torch.tensor([example.target for example in examples], device=device)
            parts["value"] = clipped_value_loss(read.values, known, targets, settings.value_clip).sum()
        weights = {"policy": 1.0, "kl": settings.kl, "value": settings.value_weight}
        return {"loss": sum((weights[name] * part for name, part in parts.items()), torch.zeros(())), **parts}

    def _update(self, examples: Sequence[Example]) -> tuple[dict[str, float], float]:
        """One step of the optimiser; means of the loss and its parts, and the length of the gradient."""
        self._optimiser.zero_grad(set_to_none=True)
        sums: Counter[str] = Counter()
        for places in _similar([example.turn for example in examples], self._settings.rows):
            parts = self.loss([examples[place] for place in places])
            (parts["loss"] / len(examples)).backward()  # type: ignore[no-untyped-call]
            sums.update({name: float(part.detach()) for name, part in parts.items()})
        norm = float(nn.utils.clip_grad_norm_(self._parameters(), self._settings.max_norm or math.inf))
        if not math.isfinite(norm) or not math.isfinite(sums["loss"]):
            raise RunError(f"expected a finite loss and gradient, got {sums['loss']:g} and {norm:g}; lower baseline.lr")
        self._optimiser.step()
        return {name: value / len(examples) for name, value in sums.items()}, norm

    def _parameters(self) -> list[Tensor]:
        return [parameter for group in self._optimiser.param_groups for parameter in group["params"]]

    @torch.no_grad()
    def _all(self, reader: Reader, turns: Sequence[TurnTokens]) -> list[tuple[Tensor, float]]:
        """Log-probabilities of each answer's tokens, shape (tokens,), and the value of each turn (0 without a head)."""
        found: list[tuple[Tensor, float]] = [(torch.empty(0), 0.0)] * len(turns)
        for places in _similar(turns, self._settings.rows):
            read = reader.read([turns[place] for place in places])
            for row, place in enumerate(places):
                own = read.log_probs[row, : len(turns[place].answer)].clone()
                found[place] = own, 0.0 if read.values is None else float(read.values[row])
        return found


def _similar(turns: Sequence[TurnTokens], rows: int) -> Iterator[list[int]]:
    """Places of the turns in groups of similar length, so that little is padded."""
    order = sorted(range(len(turns)), key=lambda place: len(turns[place].prompt) + len(turns[place].answer))
    for first in range(0, len(order), rows):
        yield order[first : first + rows]


def _padded(answers: Sequence[Tensor | None], read: Read) -> Tensor:
    """Numbers of each token as rows of one tensor; behind an answer's end they are those of now, so ratios are 1."""
    whole = read.log_probs.detach().clone()
    for row, answer in enumerate(answers):
        if answer is None:
            raise ValueError("expected what is known of every answer of a pass, or of none")
        whole[row, : len(answer)] = answer
    return whole

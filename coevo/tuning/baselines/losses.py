"""The losses, minimised: functions of tensors, without a model."""

import torch
from torch import Tensor


def clipped_policy_loss(new: Tensor, old: Tensor, advantages: Tensor, clip: float) -> Tensor:
    """−min(ρ·A, clip(ρ, 1 − ε, 1 + ε)·A) of every token, ρ = exp(new − old) (arXiv:1707.06347, equation 7).

    Args:
        new: Log-probabilities now, shape (turns, tokens); the gradient flows through these.
        old: Those when the answer was drawn, same shape.
        advantages: Of each turn, shape (turns,).
        clip: ε.
    """
    ratio = (new - old).exp()
    gain = advantages[:, None]
    return -torch.minimum(ratio * gain, ratio.clamp(1 - clip, 1 + clip) * gain)


def divergence(new: Tensor, reference: Tensor) -> Tensor:
    """Estimate of KL(new ‖ reference) at every token: r − ln r − 1 with r = reference / new, which is never negative.

    The estimator k3 of arXiv:2402.03300, equation 4.

    Args:
        new: Log-probabilities now, shape (turns, tokens).
        reference: Those of the model as it began, same shape.
    """
    difference = reference - new
    return difference.exp() - difference - 1


def mean_of_answers(values: Tensor, mask: Tensor) -> Tensor:
    """Mean over the tokens of each answer, shape (turns,).

    Args:
        values: Shape (turns, tokens).
        mask: Same shape, 1.0 on tokens that count, at least one in a turn.
    """
    return (values * mask).sum(-1) / mask.sum(-1)


def clipped_value_loss(new: Tensor, old: Tensor, targets: Tensor, clip: float) -> Tensor:
    """½·max((V − R)², (V₀ + clip(V − V₀, ±ε) − R)²) of each turn: a value does not move far from what it was.

    Args:
        new: Values now, shape (turns,); the gradient flows through these.
        old: V₀, those when the episode was played.
        targets: R, what they should have been.
        clip: ε, in units of score.
    """
    held = old + (new - old).clamp(-clip, clip)
    return 0.5 * torch.maximum((new - targets) ** 2, (held - targets) ** 2)

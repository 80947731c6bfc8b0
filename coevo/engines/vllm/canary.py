"""Does what the model answers depend on the weights that move? One parameter after another, before a run starts.

A served parameter may be a shadow: a layer that computes from a copy made after loading looks alive in every other
respect. So noise is put into one parameter alone and the model's log-probabilities have to change, and to come back to
the bit when it is taken out.
"""

import math
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence

from coevo.errors import ModelError
from coevo.interfaces import Member

Look = Callable[[], Hashable]
Table = tuple[tuple[tuple[int, float], ...], ...]
"""For each place of an answer the likeliest tokens and their log-probabilities."""

Nudge = Callable[[Sequence[str], Member | None], None]

CANARY_SIGMA = 0.05
"""Large enough to show in bf16 weights around 1, small enough to stay finite."""

_TRIES = 3
"""Directions of which one has to show more than rounding does: its noise may happen to miss the prompt."""


def require_moving(parameters: Mapping[str, Sequence[str]], nudge: Nudge, look: Look) -> None:
    """Check every parameter.

    Args:
        parameters: Runtime parameter -> the checkpoint tensors in it.
        nudge: Serves a member in some tensors alone, or for None puts them back.
        look: What the model says now to a fixed prompt, recomputed.

    Raises:
        ModelError: Naming the first parameter that does not count, or is not put back.
    """
    before = look()
    for number, (parameter, tensors) in enumerate(parameters.items()):
        nudge(tensors, Member(run_key=0, step=0, direction=number, sign=1, sigma=CANARY_SIGMA))
        moved = look()
        nudge(tensors, None)
        if moved == before:
            raise ModelError(
                f"expected the model's answers to depend on the served parameter {parameter!r}, but noise in it "
                "changes nothing: vLLM computes from a copy; leave it out of the scope, or use the engine 'torch'"
            )
    if look() != before:
        raise ModelError("expected the same log-probabilities from the same weights after a check, got others")


def require_adapting(
    tensors: Iterable[str], nudge: Nudge, look: Callable[[], Table], look_with: Callable[[Member, str], Table]
) -> None:
    """Check that a low-rank member's adapter does in every tensor what the member's noise in the weights does.

    vLLM leaves out, without a word, what it finds no layer for, and how it cuts an adapter is its own affair.

    Args:
        tensors: The matrices in scope.
        nudge: See `require_moving`.
        look: What the model says now to a fixed prompt, recomputed.
        look_with: What it says with a member's adapter in one tensor alone.

    Raises:
        ModelError: Naming the first tensor in which they differ, or if an adapter leaves a trace.
    """
    before = look()
    for tensor in tensors:
        for direction in range(_TRIES):
            member = Member(run_key=0, step=0, direction=direction, sign=1, sigma=CANARY_SIGMA, rank=1)
            nudge([tensor], member)
            moved = look()
            nudge([tensor], None)
            if distance(look_with(member, tensor), moved) < distance(before, moved) / 2:
                break
        else:
            raise ModelError(
                f"expected an adapter of tensor {tensor!r} to change the model's answers as the same noise in the "
                "weights does, but it does not: vLLM serves none there; use dense members, or the engine 'torch'"
            )
    if look() != before:
        raise ModelError("expected the same log-probabilities after adapters were taken out, got others")


def distance(one: Table, other: Table) -> float:
    """Largest difference of log-probabilities among the tokens that both have for the first place; inf without any."""
    first, second = dict(one[0]), dict(other[0])
    return max((abs(first[token] - second[token]) for token in first.keys() & second.keys()), default=math.inf)

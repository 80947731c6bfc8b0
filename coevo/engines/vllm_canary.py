"""Does what the model answers depend on the weights that move? One parameter after another, before a run starts.

A served parameter may be a shadow: a layer that computes from a copy made after loading looks alive in every other
respect. So noise is put into one parameter alone and the model's log-probabilities have to change, and to come back to
the bit when it is taken out.
"""

from collections.abc import Callable, Hashable, Mapping, Sequence

from coevo.errors import ModelError
from coevo.interfaces import Member

Nudge = Callable[[Sequence[str], Member | None], None]

CANARY_SIGMA = 0.05
"""Large enough to show in bf16 weights around 1, small enough to stay finite."""


def require_moving(parameters: Mapping[str, Sequence[str]], nudge: Nudge, look: Callable[[], Hashable]) -> None:
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

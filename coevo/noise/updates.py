"""Steps of the weights: Σᵢ coefficientᵢ · εᵢ, summed in fp32 in the order given and rounded once."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from coevo.block import Block
from coevo.interfaces import Update, UpdateRule
from coevo.noise.arrays import elements_of
from coevo.noise.basis import Basis
from coevo.noise.fields import field_of_update, plain
from coevo.noise.kernels import add_directions
from coevo.noise.keys import rounding_key


def apply_update(
    weights: NDArray[Any], block: Block, update: Update, rule: UpdateRule, *, basis: Basis | None = None
) -> None:
    """Add Σᵢ coefficientᵢ · εᵢ to weights in place.

    The sum starts at 0 and runs in fp32 in the order given over the directions whose subspace holds the element, every
    product and sum rounded once; then one fp32 addition to the weights, and one rounding to their type. An element that
    no direction holds, or whose sum is zero, keeps its bits: -0.0 stays -0.0. Guided noise is summed over the
    directions before it is made, see `coevo.noise.guided`.

    Args:
        weights: float32, uint16 (the bits of bfloat16) or float16 of shape (block.rows, block.cols), changed in place.
        block: Where the elements lie in their tensor.
        update: Directions and coefficients; the latter are rounded to fp32 first (recorded ones are exact already).
        rule: For weights of 16 bits "nearest" (ties to even), or for bfloat16 "stochastic": 16 bits of the Philox
            stream `rounding_key(run_key, step)`, in lanes as the noise is, are added below the mantissa that is kept,
            and the rest is cut off. With float32 all rules are the same.
        basis: The basis of guided members.

    Raises:
        ValueError: If array, update or rule are not as described, or the basis is not the update's.
        ModelError: If the basis does not cover the tensor.
    """
    moved = elements_of("weights", weights, block, is_written=True)
    check_rule(rule, weights.dtype)
    field = field_of_update(block, update, moved[1], basis=basis)
    if block.size and update.directions:
        is_random = rule == "stochastic" and weights.dtype == np.uint16
        add_directions(moved, plain(field), (is_random, np.uint64(rounding_key(update.run_key, update.step))))


def check_rule(rule: UpdateRule, dtype: np.dtype[Any]) -> None:
    """Raise ValueError unless a rule is defined for weights of a type (uint16 for bfloat16)."""
    if rule not in ("master", "stochastic", "nearest"):
        raise ValueError(f"an update rule is master, stochastic or nearest, got {rule!r}")
    if rule == "master" and dtype != np.float32:
        raise ValueError(f"the rule master updates float32 weights, got {dtype}; pass the fp32 master")
    if rule == "stochastic" and dtype == np.float16:
        raise ValueError("stochastic rounding is defined for bfloat16 (uint16), got float16; use nearest or master")

"""σ over the generations, and the α that goes with it.

Generations count from 0. All steps of a generation (m1, m2) share its σ.
"""

import math

from coevo.es.settings import ESSettings


def sigma_at(generation: int, generations: int, settings: ESSettings) -> float:
    """Standard deviation of the perturbation in one generation, in weight units.

    Cosine: σ_t = σ_T + (σ₀ − σ_T)·(1 + cos(π·t/(T − 1)))/2, exactly σ₀ first and exactly σ_T last; with a single
    generation σ₀.

    Args:
        generation: t, from 0.
        generations: T, how many generations the run plans.
        settings: Gives σ₀, σ_T and the schedule.

    Raises:
        ValueError: If the generation is not one of the run's.

    References:
        Agentic-ESOpt, cosine schedule without warm-up.
    """
    if not 0 <= generation < generations:
        raise ValueError(f"generation must be in [0, {generations}), got {generation}")
    if settings.schedule == "constant" or generation == 0:
        return settings.sigma
    if generation == generations - 1:
        return settings.sigma_end
    share = (1.0 + math.cos(math.pi * generation / (generations - 1))) / 2.0
    return settings.sigma_end + (settings.sigma - settings.sigma_end) * share


def alpha_at(sigma: float, settings: ESSettings) -> float:
    """Length of the update of a step whose members had this σ: α, or α·σ/σ₀ under the proportional rule."""
    if settings.alpha_rule == "constant":
        return settings.alpha
    return settings.alpha * sigma / settings.sigma

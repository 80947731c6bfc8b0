"""The evolution strategy (Agentic-ESOpt, CoPES): settings, σ schedule, z-scores, ask / tell, and the history of steps.

Numbers only. Noise is made by `coevo.noise`, weights are moved by the engines.
"""

from coevo.es.history import read_history, updates
from coevo.es.record import StepRecord, WeightRecipe
from coevo.es.schedule import alpha_at, sigma_at
from coevo.es.settings import ESSettings
from coevo.es.shaping import z_scores
from coevo.es.strategy import EvolutionStrategy

__all__ = [
    "ESSettings",
    "EvolutionStrategy",
    "StepRecord",
    "WeightRecipe",
    "alpha_at",
    "read_history",
    "sigma_at",
    "updates",
    "z_scores",
]

"""coevo: heuristic programs and the language model that writes them evolve together."""

__version__ = "0.1.0"

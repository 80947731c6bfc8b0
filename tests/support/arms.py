"""The arms of a search: every variant that changes what is asked, learned or prompted."""

ARMS = {
    "dense": {},
    "off": {"es": "off"},
    "noise-only": {"learns": False},
    "antithetic": {"evolution_strategy": {"antithetic": True}},
    "copes": {"evolution_strategy": {"subspaces": 2}},
    "low-rank": {"es": "low-rank"},
    "guard": {"guard": True, "evolution_strategy": {"sigma": 0.03, "schedule": "constant"}},
    "proportional": {"evolution_strategy": {"alpha_rule": "proportional", "sigma_end": 5e-4}},
    "separate": {"evolution_strategy": {"subspaces": 2, "z_scores": "separate"}},
    "tiles": {"evolution_strategy": {"subspaces": 2, "subspace_unit": "tile"}},
    "independent": {"parents": "independent"},
    "common-seeds": {"seeds": "common"},
    "cost": {"reward": "cost"},
    "on-top": {"charge_first": False},
    "constant": {"evolution_strategy": {"schedule": "constant"}},
    "floor": {"evolution_strategy": {"sigma_end": 5e-4}},
    "rank": {"reward": "rank", "copies": "invalid"},
    "sample": {"method": "sample"},
    "sample-off": {"method": "sample", "es": "off"},
    "skill": {"skill_every": 1, "skill": {"max_traces": 6}},
    "statistics": {"skill_every": 1, "skill_model": "statistics"},
}
"""Name -> values of `SearchConfig` beside budget and seed."""

"""How programs evolve: population, operators, renderers."""

"""The test-time loop: search for a heuristic while the model that writes it evolves."""

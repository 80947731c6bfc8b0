"""What a claim rests on: grids of searches, probes on fixed parents, statistics."""

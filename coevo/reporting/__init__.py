"""Pages about runs and grids, made from their events."""

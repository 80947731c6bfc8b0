"""WebArena-Lite for tasks that change its sites: one episode at a time, the sites reset in between."""

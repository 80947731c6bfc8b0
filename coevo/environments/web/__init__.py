"""A real browser: MiniWoB++ pages in headless Chromium, and WebArena-Lite for users who host its sites."""

"""What problem folders may use: tours and drawing. Imports NumPy and nothing heavier."""

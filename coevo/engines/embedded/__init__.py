"""The embedded model: a small Llama that writes heuristics, the grammar it was taught from, and how it is made."""

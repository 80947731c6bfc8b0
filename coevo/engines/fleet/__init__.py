"""Several engines as one: they share the work of a call, and each applies every update itself."""

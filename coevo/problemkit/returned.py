"""What heuristics return, taken for what it should be."""

import numpy as np


def whole_number(value: object, function: str, what: str) -> int:
    """A node id or an index: an integer, a NumPy integer, or an integer array of size 1.

    A float is none, even if whole, and a boolean is none, though Python would count it.

    Args:
        value: What the heuristic returned.
        function: The heuristic's name, for the message.
        what: What it should have returned, such as "node id", for the message.

    Raises:
        TypeError: If it is anything else.
    """
    if isinstance(value, np.ndarray) and value.size == 1:
        value = value.item()
    # A tuple: to build the union of both types would cost more, at every step, than the test itself.
    if isinstance(value, (np.integer, int)) and not isinstance(value, bool):
        return int(value)
    raise TypeError(f"expected {function} to return an integer {what}, got {type(value).__name__} {value!r:.40}")

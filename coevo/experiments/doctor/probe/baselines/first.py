"""The simplest heuristic there is."""


def choose(values: object) -> int:
    """The first place."""
    return 0

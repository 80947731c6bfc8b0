"""Prefer vectors whose groups of three hold many different entries."""


def priority(el, n, w):
    """Return the number of different entries, summed over the groups."""
    score = 0.0
    for start in range(0, n, 3):
        score += len(set(el[start : start + 3]))
    return score

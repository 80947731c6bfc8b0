"""Prefer vectors with as many ones as twos."""


def priority(el, n, w):
    """Return minus the difference between the numbers of ones and twos."""
    return -abs(el.count(1) - el.count(2))

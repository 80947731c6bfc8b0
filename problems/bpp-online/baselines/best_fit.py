"""Best fit: the bin where the least room remains."""


def score(item, bins):
    """Return, for each bin, minus the room that would remain."""
    return item - bins

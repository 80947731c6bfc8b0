"""Greedy by value: the most valuable item that fits, however heavy."""


def select_next_item(remaining_capacity, weights, values):
    """Return the index of the fitting item with the largest value."""
    best_index = None
    best_value = -1.0
    for index in range(len(weights)):
        if weights[index] <= remaining_capacity + 1e-12 and values[index] > best_value:
            best_index, best_value = index, values[index]
    return best_index

"""Ordinary heuristics as people write them, under the real signatures: parents that no grammar made."""

from coevo.content import Argument, Kind, Signature

_NAMES: dict[str, tuple[str, tuple[tuple[str, Kind], ...], Kind]] = {
    "next_node": (
        "select_next_node",
        (
            ("current_node", "node"),
            ("destination_node", "destination"),
            ("unvisited_nodes", "nodes"),
            ("distance_matrix", "matrix"),
        ),
        "node",
    ),
    "next_item": (
        "select_next_item",
        (("remaining_capacity", "number"), ("weights", "weights"), ("values", "values")),
        "index",
    ),
    "priority": ("priority", (("el", "tuple"), ("n", "length"), ("w", "integer")), "number"),
    "square": ("heuristics", (("distance_matrix", "matrix"),), "square"),
    "routing": (
        "heuristics",
        (("distance_matrix", "matrix"), ("coordinates", "points"), ("demands", "demands"), ("capacity", "number")),
        "square",
    ),
    "packing": ("heuristics", (("demand", "demands"), ("capacity", "number")), "square"),
    "online": ("score", (("item", "item"), ("bins", "bins")), "vector"),
}


def _signature(function: str, arguments: tuple[tuple[str, Kind], ...], returns: Kind) -> Signature:
    return Signature(
        function=function,
        arguments=tuple(Argument(name=name, kind=kind, type="", description="") for name, kind in arguments),
        returns=Argument(name="result", kind=returns, type="", description=""),
    )


SIGNATURES: dict[str, Signature] = {family: _signature(*names) for family, names in _NAMES.items()}
"""The signature that problems of each family usually have."""

_BODIES: dict[str, tuple[str, ...]] = {
    "next_node": (
        '''
    """Nearest neighbour."""
    return unvisited_nodes[np.argmin(distance_matrix[current_node, unvisited_nodes])]
''',
        """
    # The nearest node, looking one step ahead.
    best, best_cost = None, float("inf")
    for node in unvisited_nodes:
        others = [other for other in unvisited_nodes if other != node]
        ahead = min(distance_matrix[node][other] for other in others) if others else 0.0
        cost = distance_matrix[current_node][node] + 0.5 * ahead
        if cost < best_cost:
            best, best_cost = node, cost
    return best
""",
        """
    return min(unvisited_nodes, key=lambda node: distance_matrix[current_node, node])
""",
        '''
    """Prefer near nodes that are far from the destination."""
    threshold = 0.7
    c1, c2 = 0.4, 0.3
    scores = {}
    for node in unvisited_nodes:
        average = np.mean([distance_matrix[node][other] for other in unvisited_nodes if other != node] or [0.0])
        home = distance_matrix[destination_node][node]
        scores[node] = c1 * distance_matrix[current_node][node] - c2 * average - 0.1 * home
    return min(scores, key=scores.get)
''',
        """
    distances = distance_matrix[current_node][unvisited_nodes]
    order = np.argsort(distances)
    return int(unvisited_nodes[order[0]])
""",
    ),
    "next_item": (
        '''
    """Greedy by value per weight."""
    ratio = values / weights
    ratio[weights > remaining_capacity] = -np.inf
    return int(np.argmax(ratio))
''',
        """
    best_item = None
    best_ratio = -1.0
    for index in range(len(weights)):
        if weights[index] <= remaining_capacity and values[index] / weights[index] > best_ratio:
            best_ratio = values[index] / weights[index]
            best_item = index
    return best_item
""",
        """
    fits = [i for i in range(len(weights)) if weights[i] <= remaining_capacity]
    return max(fits, key=lambda i: values[i])
""",
        """
    feasible = np.flatnonzero(weights <= remaining_capacity)
    if feasible.size == 0:
        return -1
    return feasible[np.argmin(weights[feasible])]
""",
    ),
    "priority": (
        """
    return 0.0
""",
        '''
    """Reward balanced vectors."""
    score = 0.0
    for position, value in enumerate(el):
        if value == 1:
            score += 1.0 / (position + 1)
        elif value == 2:
            score -= 0.5
    return score
''',
        """
    vector = np.asarray(el)
    return float(np.sum(vector == 2) - np.abs(np.diff(vector)).mean())
""",
        """
    triples = [tuple(el[i : i + 3]) for i in range(0, n, 3)]
    return sum(1.0 for triple in triples if sum(triple) == 3) / w
""",
    ),
    "square": (
        '''
    """The classical visibility."""
    return 1 / (distance_matrix + 1e-10)
''',
        """
    n = len(distance_matrix)
    result = np.zeros((n, n))
    for i in range(n):
        for j in range(n):
            if i != j:
                result[i][j] = 1.0 / distance_matrix[i][j]
    return result
""",
        """
    safe = np.where(distance_matrix > 0, distance_matrix, 1.0)
    heuristic = 1.0 / safe
    np.fill_diagonal(heuristic, 0.0)
    return heuristic
""",
    ),
    "routing": (
        """
    return 1 / (distance_matrix + 1e-10)
""",
        '''
    """Savings of joining two customers."""
    depot = distance_matrix[0]
    savings = depot[:, None] + depot[None, :] - distance_matrix
    return np.maximum(savings, 1e-9)
''',
        """
    n = distance_matrix.shape[0]
    result = np.zeros((n, n))
    for i in range(n):
        for j in range(n):
            if i != j and demands[i] + demands[j] <= capacity:
                result[i, j] = (demands[i] + demands[j]) / capacity / distance_matrix[i, j]
    return result
""",
    ),
    "packing": (
        """
    return np.tile(demand / demand.max(), (len(demand), 1))
""",
        '''
    """Pairs that fill a bin."""
    n = len(demand)
    result = np.zeros((n, n))
    for i in range(n):
        for j in range(n):
            total = demand[i] + demand[j]
            if total <= capacity:
                result[i, j] = total / capacity
    return result
''',
        """
    fill = (demand[:, None] + demand[None, :]) / capacity
    return np.where(fill <= 1, fill, 0.0)
""",
    ),
    "online": (
        '''
    """Best fit."""
    return -(bins - item)
''',
        """
    scores = []
    for capacity in bins:
        scores.append(1.0 / (capacity - item + 1e-6))
    return np.array(scores)
""",
        """
    return -np.arange(len(bins), dtype=float)
""",
        """
    left = bins - item
    return np.where(left == 0, 10.0, -left / bins.max())
""",
    ),
}

BASELINES: dict[str, tuple[str, ...]] = {
    family: tuple(f"import numpy as np\n\n\n{SIGNATURES[family].definition}{body}" for body in bodies)
    for family, bodies in _BODIES.items()
}
"""Complete sources per family."""

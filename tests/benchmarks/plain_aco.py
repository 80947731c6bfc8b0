"""The ant colony written twice more: in plain Python, as one would without a compiler, and in torch, all ants at once.

Both follow the rules of `coevo.problemkit.colony` and get its arguments; they are what it is compared with, in speed by
`aco_speed.py` and in value by tests. The plain version takes its uniforms from the same generator in the same order, so
that it finds the same path. The torch version draws each step of the ants from a `Categorical`, as Agentic-ESOpt's
evaluators do, and agrees in distribution only.
"""

from bisect import bisect_right
from itertools import accumulate, pairwise

import numpy as np

NUM_ANTS = 30
NUM_ITERATIONS = 100
DECAY = 0.9
LEAST_COST = 1e-100


def plain_tour(distances, weights, seed):
    """Cost and path of the shortest tour, by Python lists and loops."""

    def walk(attraction, uniforms):
        unvisited = list(range(len(attraction)))
        place, path = int(uniforms[0] * len(unvisited)), []
        for uniform in [*uniforms[1:], None]:
            here = unvisited[place]
            path.append(here)
            unvisited[place] = unvisited[-1]
            unvisited.pop()
            if unvisited:
                row = attraction[here]
                place = draw([row[node] for node in unvisited], uniform)
        return [*path, path[0]]

    return plain_colony(distances, weights, walk, np.random.default_rng(seed), (len(distances), True))


def plain_routes(distances, weights, demands, capacity, seed):
    """Cost and path of the cheapest routes, by Python lists and loops."""
    needs = demands.tolist()

    def walk(attraction, uniforms):
        unserved, room, path, uniforms = list(range(1, len(attraction))), capacity, [0], iter(uniforms)
        while unserved:
            row = attraction[path[-1]]
            chances = [row[node] if needs[node] <= room else 0.0 for node in unserved]
            place = draw([*chances, row[0] if path[-1] else 0.0], next(uniforms))
            if place == len(unserved):
                room = capacity
                path.append(0)
                continue
            path.append(unserved[place])
            room -= needs[path[-1]]
            unserved[place] = unserved[-1]
            unserved.pop()
        return [*path, 0] if path[-1] else path

    return plain_colony(distances, weights, walk, np.random.default_rng(seed), (2 * len(distances) - 2, False))


def draw(chances, uniform):
    """A place, drawn in proportion to its chance."""
    sums = list(accumulate(chances))
    return bisect_right(sums, uniform * sums[-1])


def plain_colony(distances, weights, walk, random, settings):
    """The iterations of either colony; `settings` are the uniforms per ant and whether edges are marked both ways."""
    num_steps, both_ways = settings
    distances, weights = distances.tolist(), weights.tolist()
    nodes = range(len(distances))
    pheromone = [[1.0] * len(distances) for _ in nodes]
    best, best_path = float("inf"), []
    for _ in range(NUM_ITERATIONS):
        uniforms = random.random((NUM_ANTS, num_steps)).tolist()
        attraction = [[p * w for p, w in zip(*rows, strict=True)] for rows in zip(pheromone, weights, strict=True)]
        paths = [walk(attraction, row) for row in uniforms]
        pheromone = [[p * DECAY for p in row] for row in pheromone]
        for path in paths:
            cost = 0.0
            # Not `sum`, which newer Pythons round differently.
            for a, b in pairwise(path):
                cost += distances[a][b]
            if cost < best:
                best, best_path = cost, path
            for a, b in pairwise(path):
                pheromone[a][b] += 1.0 / max(cost, LEAST_COST)
                if both_ways:
                    pheromone[b][a] += 1.0 / max(cost, LEAST_COST)
    return best, best_path


def torch_tour(distances, weights, seed):
    """Cost and path of the shortest tour, by torch, in float64 on one thread."""
    import torch

    generator = torch.Generator().manual_seed(seed)
    size, ants = len(distances), torch.arange(NUM_ANTS)

    def walk(attraction):
        mask = torch.ones((NUM_ANTS, size), dtype=torch.float64)
        steps = [torch.randint(0, size, (NUM_ANTS,), generator=generator)]
        for _ in range(size - 1):
            mask[ants, steps[-1]] = 0
            steps.append(torch_draw(attraction[steps[-1]] * mask, generator))
        return torch.stack([*steps, steps[0]])

    return torch_colony(distances, weights, walk, both_ways=True)


def torch_routes(distances, weights, demands, capacity, seed):
    """Cost and path of the cheapest routes, by torch, in float64 on one thread."""
    import torch

    generator = torch.Generator().manual_seed(seed)
    size, ants = len(distances), torch.arange(NUM_ANTS)
    demands = torch.from_numpy(demands.copy())

    def walk(attraction):
        unserved = torch.ones((NUM_ANTS, size), dtype=torch.bool)
        unserved[:, 0] = False
        room = torch.full((NUM_ANTS,), capacity)
        steps = [torch.zeros(NUM_ANTS, dtype=torch.int64)]
        while unserved.any() or steps[-1].any():
            mask = unserved & (demands <= room[:, None])
            # An ant that is done has nowhere else to go: it stays at the depot, which costs nothing here.
            mask[:, 0] = (steps[-1] != 0) | ~unserved.any(dim=1)
            steps.append(torch_draw(attraction[steps[-1]] * mask, generator))
            unserved[ants, steps[-1]] = False
            room = torch.where(steps[-1] == 0, capacity, room - demands[steps[-1]])
        return torch.stack(steps)

    return torch_colony(distances, weights, walk, both_ways=False)


def torch_draw(chances, generator):
    """A node for every ant, drawn in proportion to its chance, through a validated `Categorical`."""
    import torch

    distribution = torch.distributions.Categorical(chances)
    return torch.multinomial(distribution.probs, 1, generator=generator).squeeze(1)


def torch_colony(distances, weights, walk, *, both_ways):
    """The iterations of either colony; a deposit is made ant by ant."""
    import torch

    distances, weights = torch.from_numpy(distances.copy()), torch.from_numpy(weights.copy())
    pheromone = torch.ones_like(weights)
    best, best_path = float("inf"), []
    for _ in range(NUM_ITERATIONS):
        paths = walk(pheromone * weights)
        costs = distances[paths[:-1], paths[1:]].sum(dim=0)
        ant = int(costs.argmin())
        if costs[ant] < best:
            best, best_path = float(costs[ant]), paths[:, ant].tolist()
        pheromone = pheromone * DECAY
        for path, cost in zip(paths.T, costs, strict=True):
            moved = path[:-1] != path[1:]
            a, b = path[:-1][moved], path[1:][moved]
            pheromone[a, b] += 1.0 / cost
            if both_ways:
                pheromone[b, a] += 1.0 / cost
    return best, best_path

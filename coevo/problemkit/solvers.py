"""Reference solvers of other packages behind plain functions: arrays in, tours or routes out.

The packages are optional, and are imported only when a solver is called. They compute with integers, so that real
numbers are scaled first: what comes back is a solution, to be priced by the problem's own objective.
"""

import warnings
from itertools import permutations
from typing import Any

import numpy as np
from numpy.typing import NDArray

from coevo.problemkit.extras import import_extra
from coevo.problemkit.tours import tour_length

LARGEST = 10**7
"""Largest distance given to a solver: LKH multiplies by 100, computes with 32 bits and ends the process beyond that."""

STALE_ITERATIONS = 2000
"""Iterations of PyVRP without a shorter solution after which it stops."""

DISTANCE_TO_LOAD = 100
"""Largest distance over capacity, where PyVRP gets to choose its units: its price of an overload is bounded."""

MAX_DECIMALS = 6
"""Decimals that demands and a capacity may have."""


def lkh_tour(distances: NDArray[Any]) -> NDArray[np.int64]:
    """A tour by the Lin-Kernighan-Helsgaun heuristic, optimal as a rule up to several hundred nodes.

    Deterministic. The package elkai contains LKH, whose licence covers academic and non-commercial use only.

    Args:
        distances: Shape (n, n), finite, not negative; it need not be symmetric.

    Returns:
        Node ids in the order of the visits, from node 0; the way back is implied. Shape (n,).

    Raises:
        ExtraMissingError: If elkai is not installed.
    """
    elkai = import_extra("elkai", "lkh", "the solver lkh")
    if len(distances) < 4:
        return _best_of_all(distances)
    tour = elkai.DistanceMatrix(_whole(distances, LARGEST).tolist()).solve_tsp(runs=1)[:-1]
    return _from_zero(tour)


def ortools_tour(distances: NDArray[Any], *, seconds: float) -> NDArray[np.int64]:
    """A tour by guided local search (OR-Tools routing), near the optimum; not deterministic, for it watches the clock.

    Args:
        distances: Shape (n, n), finite, not negative; it need not be symmetric.
        seconds: Wall time that the search takes, all of it.

    Returns:
        Node ids in the order of the visits, from node 0; the way back is implied. Shape (n,).

    Raises:
        ExtraMissingError: If OR-Tools is not installed.
    """
    purpose = "the solver ortools"
    cp = import_extra("ortools.constraint_solver.pywrapcp", "solvers", purpose)
    enums = import_extra("ortools.constraint_solver.routing_enums_pb2", "solvers", purpose)
    if len(distances) < 4:
        return _best_of_all(distances)
    manager = cp.RoutingIndexManager(len(distances), 1, 0)
    routing = cp.RoutingModel(manager)
    matrix = _whole(distances, LARGEST).tolist()
    routing.SetArcCostEvaluatorOfAllVehicles(routing.RegisterTransitMatrix(matrix))
    parameters = cp.DefaultRoutingSearchParameters()
    parameters.first_solution_strategy = enums.FirstSolutionStrategy.PATH_CHEAPEST_ARC
    parameters.local_search_metaheuristic = enums.LocalSearchMetaheuristic.GUIDED_LOCAL_SEARCH
    parameters.time_limit.FromMilliseconds(max(1, round(1000 * seconds)))
    solution = routing.SolveWithParameters(parameters)
    index, tour = routing.Start(0), []
    while not routing.IsEnd(index):
        tour.append(manager.IndexToNode(index))
        index = solution.Value(routing.NextVar(index))
    return _from_zero(tour)


def pyvrp_routes(
    distances: NDArray[Any], demands: NDArray[Any], capacity: float, *, seed: int, seconds: float
) -> list[list[int]]:
    """Routes of a capacitated vehicle routing problem by PyVRP's iterated local search; node 0 is the depot.

    The number of vehicles is not limited. The search ends after 2,000 iterations without a shorter solution, and then
    its result depends on the seed alone; or else when the time is up.

    Args:
        distances: Shape (n, n), finite, not negative.
        demands: Shape (n,), not negative; that of the depot is not read.
        capacity: Of each vehicle, in the unit of the demands; none of these numbers has more than six decimals.
        seed: Of the search, not negative.
        seconds: Longest wall time.

    Returns:
        The customers of each route in the order of the visits, without the depot.

    Raises:
        ExtraMissingError: If PyVRP is not installed.
        ValueError: If a customer demands more than the capacity, or demands and capacity have too many decimals.
    """
    pyvrp = import_extra("pyvrp", "solvers", "the solver pyvrp")
    stop = import_extra("pyvrp.stop", "solvers", "the solver pyvrp")
    customers = len(distances) - 1
    if customers < 1:
        return []
    matrix = _whole(distances, LARGEST)
    *loads, limit = _whole_loads([*np.asarray(demands)[1:].tolist(), capacity], int(matrix.max()) // DISTANCE_TO_LOAD)
    if max(loads) > limit:
        raise ValueError(f"expected no demand above the capacity {capacity}, got {np.max(demands[1:])}")
    data = pyvrp.ProblemData(
        locations=[pyvrp.Location(0, 0) for _ in range(customers + 1)],
        clients=[pyvrp.Client(place, delivery=[load]) for place, load in enumerate(loads, 1)],
        depots=[pyvrp.Depot(0)],
        vehicle_types=[pyvrp.VehicleType(num_available=customers, capacity=[limit])],
        distance_matrices=[matrix],
        duration_matrices=[np.zeros_like(matrix)],
    )
    criterion = stop.MultipleCriteria([stop.NoImprovement(STALE_ITERATIONS), stop.MaxRuntime(seconds)])
    with warnings.catch_warnings():
        # It warns of a search among overloaded routes; whether the result has some is the objective's to find.
        warnings.simplefilter("ignore", UserWarning)
        best = pyvrp.solve(data, criterion, seed=seed, collect_stats=False, display=False).best
    return [[visit.idx + 1 for visit in route.schedule() if visit.is_client()] for route in best.routes()]


def _whole(distances: NDArray[Any], largest: int) -> NDArray[np.int64]:
    """Distances as integers up to `largest`: as they are if they are such integers, else scaled and rounded."""
    matrix = np.array(distances, dtype=np.float64)
    np.fill_diagonal(matrix, 0.0)
    top = float(matrix.max())
    if top > largest or not np.array_equal(matrix, np.rint(matrix)):
        matrix *= largest / top
    return np.rint(matrix).astype(np.int64)


def _whole_loads(loads: list[float], least: int) -> list[int]:
    """Loads as integers, multiplied so that sums compare as before and the last one is not far below `least`."""
    for decimals in range(MAX_DECIMALS + 1):
        scaled = np.array(loads, dtype=np.float64) * 10**decimals
        whole = [int(load) for load in np.rint(scaled)]
        if np.allclose(scaled, whole, rtol=0, atol=1e-6):
            factor = max(1, least // max(1, whole[-1]))
            return [load * factor for load in whole]
    raise ValueError(f"expected demands and capacity with at most {MAX_DECIMALS} decimals")


def _best_of_all(distances: NDArray[Any]) -> NDArray[np.int64]:
    """The shortest of all tours, for so few nodes that the solvers refuse them."""
    if len(distances) == 0:
        return np.zeros(0, dtype=np.int64)
    tours = (np.array([0, *rest], dtype=np.int64) for rest in permutations(range(1, len(distances))))
    return min(tours, key=lambda tour: tour_length(distances, tour))


def _from_zero(tour: list[int]) -> NDArray[np.int64]:
    nodes = np.array(tour, dtype=np.int64)
    return np.roll(nodes, -int(np.argmin(nodes)))

"""Instance and solution files of CVRPLIB."""

from pathlib import Path

import numpy as np

from coevo.errors import Infeasible, InstanceFileError
from coevo.interfaces import Instance
from coevo.problemkit.routes import check_routes, join_routes, routes_length
from coevo.problemkit.solution_files import read_routes
from coevo.problemkit.tsplib import read_tsplib


def read(path: Path) -> list[Instance]:
    """The instance in a CVRPLIB file (`.vrp`), its depot moved to node 0 and the customers' order kept.

    Raises:
        InstanceFileError: If the file cannot be read, or is no CVRP.
    """
    file = read_tsplib(path)
    if file.kind != "CVRP":
        raise InstanceFileError(path, None, f"expected TYPE CVRP, got {file.kind}")
    size = len(file.distances)
    order = np.array([file.depot, *(node for node in range(size) if node != file.depot)])
    data = {"distance_matrix": file.distances[np.ix_(order, order)], "demands": file.demands[order]}
    if file.coordinates is not None:
        data["coordinates"] = file.coordinates[order]
    for array in data.values():
        array.flags.writeable = False
    return [Instance(file.name, 0, {**data, "capacity": file.capacity})]


def read_reference(path: Path) -> list[float | None] | None:
    """The length of the routes in the CVRPLIB solution (`.sol`) beside an instance file; None if there is no such file.

    Raises:
        InstanceFileError: If the routes do not solve the instance, or their length is not the Cost that is stated.
    """
    file = path.with_suffix(".sol")
    if not file.exists():
        return None
    (instance,), solution = read(path), read_routes(file)
    try:
        visits = check_routes(join_routes(solution.routes), instance.data["demands"], instance.data["capacity"])
    except Infeasible as error:
        raise InstanceFileError(file, None, f"expected a solution of {path.name}, got one where {error}") from error
    length = routes_length(instance.data["distance_matrix"], visits)
    if solution.cost is not None and not np.isclose(solution.cost, length, rtol=1e-9, atol=1e-6):
        message = (
            f"expected Cost {length:g}, the length of the routes as {path.name} rounds it, got {solution.cost:g}; "
            "remove or rename the solution file to go without a best known value"
        )
        raise InstanceFileError(file, solution.cost_line, message)
    return [length]

"""Instance and tour files: TSPLIB, and point sets of NumPy."""

from pathlib import Path

from coevo.errors import InstanceFileError
from coevo.interfaces import Instance
from coevo.problemkit.arrays import read_points
from coevo.problemkit.solution_files import read_tour
from coevo.problemkit.tours import euclidean_instance, tour_length
from coevo.problemkit.tsplib import read_tsplib

TOUR_SUFFIXES = (".opt.tour", ".tour")


def read(path: Path) -> list[Instance]:
    """The instances in a file: TSPLIB's (`.tsp`, `.atsp`), one, with its rounded distances; or point sets (`.npy`).

    The points of a `.npy` file have Euclidean distances, not rounded.

    Raises:
        InstanceFileError: If the file cannot be read, or is neither TSP nor ATSP.
    """
    if path.suffix.lower() == ".npy":
        return [
            euclidean_instance(f"{path.stem}-{place}", place, points) for place, points in enumerate(read_points(path))
        ]
    file = read_tsplib(path)
    if file.kind == "CVRP":
        raise InstanceFileError(path, None, "expected TYPE TSP or ATSP, got CVRP, which the problem cvrp reads")
    data = {"distance_matrix": file.distances}
    if file.coordinates is not None:
        data["coordinates"] = file.coordinates
    return [Instance(file.name, 0, data)]


def read_reference(path: Path) -> list[float | None] | None:
    """The length of the tour in the file of the same stem with `.opt.tour` or `.tour`; None if there is no such file.

    Raises:
        InstanceFileError: If that is no tour of the instance.
    """
    file = next((file for suffix in TOUR_SUFFIXES if (file := path.with_suffix(suffix)).exists()), None)
    if file is None or path.suffix.lower() == ".npy":
        return None
    (instance,), tour = read(path), read_tour(file)
    distances = instance.data["distance_matrix"]
    if len(tour) != len(distances):
        raise InstanceFileError(file, None, f"expected a tour of {len(distances)} nodes ({path.name}), got {len(tour)}")
    return [tour_length(distances, tour)]

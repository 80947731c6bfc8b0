"""Instance files: those that the problem tsp reads, as far as an ant colony can use them."""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from coevo.errors import InstanceFileError
from coevo.interfaces import Instance


def read(path: Path, **options: Any) -> list[Instance]:
    """The instances in a file; each one's seed is its place in it. Distances are as in the file, whatever their scale.

    Raises:
        InstanceFileError: If the problem tsp cannot read it, or a distance differs from the one back: on a tour, ants
            mark an edge both ways.
    """
    found = tsp().read(path, **options)
    for instance in found:
        distances = instance.data["distance_matrix"]
        if not np.array_equal(distances, distances.T):
            a, b = np.argwhere(distances != distances.T)[0]
            message = f"expected symmetric distances, got {distances[a, b]:g} from node {a} to {b} of {instance.name}"
            raise InstanceFileError(path, None, f"{message} and {distances[b, a]:g} back (nodes counted from 0)")
    return [replace(instance, seed=place) for place, instance in enumerate(found)]


def read_reference(path: Path, **options: Any) -> Sequence[float | None] | None:
    """Length of a shortest tour of each instance, where the problem tsp finds one; raises what it raises."""
    known: Sequence[float | None] | None = tsp().read_reference(path, **options)
    return known


def tsp() -> Any:
    """The problem tsp, whose files and reference solvers serve here too."""
    # Imported here, because the sandbox holds neither the other problem nor what finds it.
    from coevo.content import find_problem

    return find_problem("tsp").load()

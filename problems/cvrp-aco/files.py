"""Instance files: those that the problem cvrp reads, as far as a heuristic can be given them."""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from coevo.errors import InstanceFileError
from coevo.interfaces import Instance


def read(path: Path, **options: Any) -> list[Instance]:
    """The instances in a file; each one's seed is its place in it. Distances are as in the file, whatever their scale.

    Raises:
        InstanceFileError: If the problem cvrp cannot read it, or there are no coordinates.
    """
    found = cvrp().read(path, **options)
    for instance in found:
        if "coordinates" not in instance.data:
            raise InstanceFileError(path, None, f"expected coordinates of {instance.name} for the heuristic, got none")
    return [replace(instance, seed=place) for place, instance in enumerate(found)]


def read_reference(path: Path, **options: Any) -> Sequence[float | None] | None:
    """Least total length known of each instance, where the problem cvrp finds one; raises what it raises."""
    known: Sequence[float | None] | None = cvrp().read_reference(path, **options)
    return known


def cvrp() -> Any:
    """The problem cvrp, whose files and reference solvers serve here too."""
    # Imported here, because the sandbox holds neither the other problem nor what finds it.
    from coevo.content import find_problem

    return find_problem("cvrp").load()

"""Instance files of TSPLIB 95 (Reinelt 1991) and CVRPLIB: symmetric and asymmetric tours, capacitated routing.

A strict reader: what would change the problem and is not understood, such as fixed edges, several depots or a limited
route length, is refused. Node ids run from 1 in a file and from 0 here.
"""

from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from coevo.errors import InstanceFileError
from coevo.problemkit import tsplib_weights
from coevo.problemkit.text_files import to_number, to_whole
from coevo.problemkit.tsplib_sections import Outline, Section, read_outline

FloatArray = NDArray[np.float64]
IntArray = NDArray[np.int64]

KINDS = ("TSP", "ATSP", "CVRP")

SECTIONS = (
    "NODE_COORD_SECTION", "DISPLAY_DATA_SECTION", "EDGE_WEIGHT_SECTION", "DEMAND_SECTION", "DEPOT_SECTION",
)  # fmt: skip

MAX_NODES = 10_000
"""Largest instance that is read: all distances are kept, 800 MB of them."""

COORDINATES = ("a node id and two coordinates", 2)
DEMAND = ("a node id and a demand", 1)
"""What a line of data says, and how many numbers follow the node id."""


@dataclass(frozen=True, slots=True)
class Tsplib:
    """One instance; every array is read-only.

    Attributes:
        name: Its NAME, or that of the file.
        kind: "TSP", "ATSP" or "CVRP".
        coordinates: As in the file, shape (n, 2), float64; those for display if the distances are explicit; or None.
        distances: Shape (n, n), float64, from row to column, rounded as the format says, with a zero diagonal.
        demands: Shape (n,), int64, 0 at the depot; None unless CVRP.
        capacity: Of each vehicle; None unless CVRP.
        depot: Node id of the depot; 0 unless CVRP.
    """

    name: str
    kind: str
    coordinates: FloatArray | None
    distances: FloatArray
    demands: IntArray | None = None
    capacity: int | None = None
    depot: int = 0


def read_tsplib(file: Path) -> Tsplib:
    """Read an instance.

    Raises:
        InstanceFileError: If the file is malformed, incomplete, contradictory, or of a kind that is not known; with
            the line, where there is one.
    """
    outline = read_outline(file, SECTIONS)
    kind = outline.choice("TYPE", KINDS)
    size = _dimension(outline)
    coordinates = _coordinates(outline, size)
    distances = _distances(outline, kind, coordinates, size)
    for array in (coordinates, distances):
        if array is not None:
            array.flags.writeable = False
    named = outline.headers.get("NAME")
    name = (named.value if named else "") or file.stem
    if kind != "CVRP":
        return Tsplib(name, kind, coordinates, distances)
    return Tsplib(name, kind, coordinates, distances, *_fleet(outline, size))


def _dimension(outline: Outline) -> int:
    header = outline.header("DIMENSION")
    size = to_whole(header.value, outline.file, header.line, "DIMENSION: a number of nodes")
    if not 1 <= size <= MAX_NODES:
        message = f"expected DIMENSION between 1 and {MAX_NODES:,} nodes, got {header.value!r:.60}"
        raise InstanceFileError(outline.file, header.line, message)
    return size


def _coordinates(outline: Outline, size: int) -> FloatArray | None:
    for keyword in ("NODE_COORD_SECTION", "DISPLAY_DATA_SECTION"):
        if keyword in outline.sections:
            return _by_node(outline, outline.sections[keyword], size, COORDINATES)
    return None


def _by_node(outline: Outline, section: Section, size: int, content: tuple[str, int]) -> FloatArray:
    """Numbers of each node, shape (size, k): one line a node, its id first, in any order, each id once."""
    what, width = content
    values = np.zeros((size, width))
    seen: dict[int, int] = {}
    for line, words in section.rows:
        if len(words) != 1 + width:
            raise InstanceFileError(outline.file, line, f"expected {what}, got {' '.join(words)!r:.60}")
        node = _node(words[0], outline, line, size)
        if node in seen:
            message = f"expected node {node + 1} once, got it in line {seen[node]} too"
            raise InstanceFileError(outline.file, line, message)
        seen[node] = line
        values[node] = [to_number(word, outline.file, line, what) for word in words[1:]]
    missing = next((node for node in range(size) if node not in seen), None)
    if missing is not None:
        message = (
            f"expected {what} for each of {size} nodes (DIMENSION), got {len(seen)}; node {missing + 1} is missing"
        )
        raise InstanceFileError(outline.file, section.last_line, message)
    return values


def _node(word: str, outline: Outline, line: int, size: int) -> int:
    """A node id, counted from 0."""
    node = to_whole(word, outline.file, line, "a node id")
    if not 1 <= node <= size:
        message = f"expected a node id from 1 to {size} (DIMENSION), got {word!r:.60}"
        raise InstanceFileError(outline.file, line, message)
    return node - 1


def _distances(outline: Outline, kind: str, coordinates: FloatArray | None, size: int) -> FloatArray:
    rule = outline.choice("EDGE_WEIGHT_TYPE", ("EXPLICIT", *tsplib_weights.DISTANCES))
    if rule == "EXPLICIT":
        distances = _explicit(outline, kind, size)
    else:
        outline.section("NODE_COORD_SECTION", f" for EDGE_WEIGHT_TYPE {rule}")
        assert coordinates is not None
        distances = tsplib_weights.DISTANCES[rule](coordinates)
    # A file fills it with anything, often with a large number; no tour uses it.
    np.fill_diagonal(distances, 0.0)
    return distances


def _explicit(outline: Outline, kind: str, size: int) -> FloatArray:
    layout = outline.choice("EDGE_WEIGHT_FORMAT", tsplib_weights.FORMATS, " for EDGE_WEIGHT_TYPE EXPLICIT")
    section = outline.section("EDGE_WEIGHT_SECTION", " for EDGE_WEIGHT_TYPE EXPLICIT")
    words, expected = list(section.words()), tsplib_weights.num_weights(layout, size)
    weights = np.array([_weight(word, outline, line) for line, word in words[:expected]])
    if len(words) != expected:
        line = words[expected][0] if len(words) > expected else section.last_line
        message = f"expected {expected} weights ({layout} of {size} nodes), got {len(words)}"
        raise InstanceFileError(outline.file, line, message)
    distances = tsplib_weights.matrix(layout, weights, size)
    if kind == "TSP" and len(unequal := np.argwhere(distances != distances.T)):
        row, column = unequal[0]
        message = (
            f"expected a symmetric matrix for TYPE TSP (else say ATSP), got {distances[row, column]:g} from node "
            f"{row + 1} to {column + 1} and {distances[column, row]:g} back"
        )
        raise InstanceFileError(outline.file, words[row * size + column][0], message)
    return distances


def _weight(word: str, outline: Outline, line: int) -> float:
    weight = to_number(word, outline.file, line, "a weight")
    if weight < 0:
        raise InstanceFileError(outline.file, line, f"expected a weight that is not negative, got {word!r:.60}")
    return weight


def _fleet(outline: Outline, size: int) -> tuple[IntArray, int, int]:
    """Demands, capacity and depot of a CVRP, once they fit together."""
    why = " for TYPE CVRP"
    header = outline.header("CAPACITY", why)
    capacity = to_whole(header.value, outline.file, header.line, "CAPACITY: a load")
    section = outline.section("DEMAND_SECTION", why)
    demands = _by_node(outline, section, size, DEMAND)[:, 0]
    depot = _depot(outline, size)
    for line, (node, load) in section.rows:
        demand = to_whole(load, outline.file, line, "a demand")
        is_depot = to_whole(node, outline.file, line, "a node id") == depot + 1
        if is_depot and demand != 0:
            raise InstanceFileError(outline.file, line, f"expected demand 0 at the depot (node {node}), got {load}")
        if not 0 <= demand <= capacity:
            message = f"expected a demand of node {node} between 0 and the CAPACITY {capacity}, got {load}"
            raise InstanceFileError(outline.file, line, message)
    whole = demands.astype(np.int64)
    whole.flags.writeable = False
    return whole, capacity, depot


def _depot(outline: Outline, size: int) -> int:
    """The one node id of the depot section, which -1 ends."""
    section = outline.section("DEPOT_SECTION", " for TYPE CVRP")
    words = list(section.words())
    ends = [place for place, (_, word) in enumerate(words) if word == "-1"]
    depots = [(line, _node(word, outline, line, size)) for line, word in words[: ends[0] if ends else len(words)]]
    if len(depots) != 1:
        line = depots[1][0] if depots else section.last_line
        raise InstanceFileError(outline.file, line, f"expected one depot, got {len(depots)}")
    if ends and len(words) > ends[0] + 1:
        line, word = words[ends[0] + 1]
        raise InstanceFileError(outline.file, line, f"expected nothing after -1 in DEPOT_SECTION, got {word!r:.60}")
    return depots[0][1]

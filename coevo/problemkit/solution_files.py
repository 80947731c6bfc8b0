"""Solution files: tours as TSPLIB 95 writes them (.tour), routes as CVRPLIB writes them (.sol)."""

import re
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from coevo.errors import InstanceFileError
from coevo.problemkit.text_files import read_lines, to_number, to_whole
from coevo.problemkit.tsplib_sections import read_outline


@dataclass(frozen=True, slots=True)
class Routes:
    """A solution of a routing problem.

    Attributes:
        routes: Of each vehicle, the customers in the order of the visits: node ids, the depot being 0.
        cost: The cost that the file states; None if it states none.
        cost_line: The line where it does.
    """

    routes: tuple[tuple[int, ...], ...]
    cost: float | None = None
    cost_line: int | None = None


def read_tour(file: Path) -> NDArray[np.int64]:
    """The tour of a `.tour` file: node ids from 0 in the order of the visits, each of them once, shape (n,).

    Raises:
        InstanceFileError: If the file is malformed or truncated, or the nodes are no permutation of 1 to n.
    """
    outline = read_outline(file, ("TOUR_SECTION",))
    outline.choice("TYPE", ("TOUR",))
    section = outline.section("TOUR_SECTION")
    seen: dict[int, int] = {}
    rest = iter(section.words())
    for line, word in rest:
        if word == "-1":
            break
        _note(to_whole(word, file, line, "a node id"), file, line, seen)
    else:
        raise InstanceFileError(
            file, section.last_line, "expected -1 at the end of the tour, got the end of the section"
        )
    for line, word in rest:
        if word != "-1":
            raise InstanceFileError(file, line, f"expected one tour, got {word!r:.60} after its end")
    size = len(seen)
    if stated := outline.headers.get("DIMENSION"):
        size = to_whole(stated.value, file, stated.line, "DIMENSION: a number of nodes")
    if size != len(seen) or max(seen, default=0) != size:
        message = f"expected a tour of the nodes 1 to {size}, got {len(seen)} up to {max(seen, default=0)}"
        raise InstanceFileError(file, section.last_line, message)
    return np.array(list(seen), dtype=np.int64) - 1


def read_routes(file: Path) -> Routes:
    """The routes of a `.sol` file: a line `Route #1: 5 3 …` for each, and `Cost 784`.

    Whether they serve every customer is not known here; that is for the objective of a problem to check.

    Raises:
        InstanceFileError: If a line is neither, a customer is no node id from 1 or comes twice, or there is no route.
    """
    routes: list[tuple[int, ...]] = []
    seen: dict[int, int] = {}
    cost, cost_line = None, None
    for line, text in enumerate(read_lines(file), 1):
        if route := re.fullmatch(r"\s*Route\s*#?\s*(\d+)\s*:(.*)", text, re.IGNORECASE):
            routes.append(_route(route[2], file, line, seen))
        elif stated := re.fullmatch(r"\s*Cost\s*:?\s+(\S+)\s*", text, re.IGNORECASE):
            if cost is not None:
                raise InstanceFileError(file, line, f"expected one Cost, got another after line {cost_line}")
            cost, cost_line = to_number(stated[1], file, line, "a cost"), line
        elif text.strip():
            message = f"expected 'Route #1: …' or 'Cost …', got {text.strip()!r:.60}"
            raise InstanceFileError(file, line, message)
    if not routes:
        raise InstanceFileError(file, None, "expected lines 'Route #1: …', got none")
    return Routes(tuple(routes), cost, cost_line)


def _route(text: str, file: Path, line: int, seen: dict[int, int]) -> tuple[int, ...]:
    customers = tuple(to_whole(word, file, line, "a customer") for word in text.split())
    for customer in customers:
        _note(customer, file, line, seen)
    return customers


def _note(node: int, file: Path, line: int, seen: dict[int, int]) -> None:
    """Note the line of a visit; each node from 1 has one."""
    if node < 1 or node in seen:
        got = f"{node} again, after line {seen[node]}" if node in seen else str(node)
        raise InstanceFileError(file, line, f"expected each node id from 1 once, got {got}")
    seen[node] = line

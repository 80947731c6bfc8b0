"""Files of 0/1 knapsack instances: NumPy arrays and three text forms, told apart by what they contain.

- NumPy (`.npy`): float or integer array (instances, items, 2), column 0 the weight, column 1 the value. It carries no
  capacity; the caller brings one for all instances.
- "n capacity", then n lines "profit weight": the low-dimensional collection and Pisinger's generator. The latter ends
  with an optimal solution as n times 0 or 1.
- "n", then n lines "id profit weight", then the capacity: Jooken, Leyman and De Causmaecker (EJOR 301, 2022).

A text file holds one instance. Whatever is missing, left over, negative or not a number is refused with its line.
"""

import math
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import NoReturn

import numpy as np
from numpy.typing import NDArray

from coevo.errors import InstanceFileError
from coevo.problemkit.arrays import load_numbers
from coevo.problemkit.text_files import read_lines, to_number, to_whole

FloatArray = NDArray[np.float64]

_NPY_MAGIC = b"\x93NUMPY"


@dataclass(frozen=True, slots=True)
class Knapsack:
    """One instance as its file states it.

    Attributes:
        capacity: Most that the chosen items may weigh; not negative.
        weights: Shape (items,), float64, not negative; an item may weigh more than the capacity.
        values: Shape (items,), float64, not negative.
        best: Value of the optimal solution that the file states, or None where it states none.
    """

    capacity: float
    weights: FloatArray
    values: FloatArray
    best: float | None = None


def read_knapsacks(path: Path, capacity: float | None = None) -> list[Knapsack]:
    """The instances of a file, in the order of the file.

    Args:
        path: The file; its name does not matter.
        capacity: For a NumPy file, which has none of its own; a text file may only be given the one it states.

    Raises:
        InstanceFileError: Naming the file, the line where there is one, what was expected and what came.
    """
    path = Path(path)
    if capacity is not None and not 0 <= capacity < math.inf:
        raise InstanceFileError(path, None, f"expected a capacity that is a number of at least 0, got {capacity}")
    if _is_array(path):
        return _read_array(path, capacity)
    knapsack = _read_text(_Lines(path))
    if capacity not in (None, knapsack.capacity):
        raise InstanceFileError(path, None, f"states the capacity {knapsack.capacity:g}, the option says {capacity:g}")
    return [knapsack]


def _is_array(path: Path) -> bool:
    """Whether the file starts as NumPy's do; one that cannot be opened does not, and reading it as text says why."""
    try:
        with path.open("rb") as file:
            return file.read(len(_NPY_MAGIC)) == _NPY_MAGIC
    except (OSError, ValueError):
        return False


def _read_array(path: Path, capacity: float | None) -> list[Knapsack]:
    if capacity is None:
        raise InstanceFileError(
            path, None, "expected a capacity, because a NumPy file states none; give one: --option capacity=25"
        )
    array = load_numbers(path)
    if array.ndim != 3 or array.shape[2] != 2 or not array.size:
        message = f"expected an array of shape (instances, items, 2), none of them 0, got shape {array.shape}"
        raise InstanceFileError(path, None, message)
    negative = np.argwhere(array < 0)
    if len(negative):
        instance, item, column = negative[0]
        message = (
            f"expected numbers of at least 0, got {array[tuple(negative[0])]} as the {('weight', 'value')[column]}"
        )
        raise InstanceFileError(path, None, f"{message} of item {item} of instance {instance}")
    return [Knapsack(float(capacity), each[:, 0].copy(), each[:, 1].copy()) for each in array]


class _Lines:
    """The lines of a text file that are not blank, one after the other, and errors that name the current one."""

    def __init__(self, path: Path):
        self._path = path
        self._rows = [(number, line.split()) for number, line in enumerate(read_lines(path), 1) if line.strip()]
        self._at = 0

    def __iter__(self) -> Iterator[list[str]]:
        while self._at < len(self._rows):
            self._at += 1
            yield self._rows[self._at - 1][1]

    def take(self, expected: str, *widths: int) -> list[str]:
        """The words of the next line; it has to have one of these numbers of them."""
        words = next(iter(self), None)
        if words is None:
            message = f"expected {expected} after it, got the end of the file"
            raise InstanceFileError(self._path, self._rows[-1][0], message)
        if len(words) not in widths:
            self.refuse(expected, " ".join(words))
        return words

    def refuse(self, expected: str, got: str) -> NoReturn:
        """Refuse the current line."""
        raise InstanceFileError(self._path, self._rows[self._at - 1][0], f"expected {expected}, got {got!r:.60}")

    def number(self, word: str, what: str) -> float:
        """A number of at least 0."""
        value = to_number(word, self._path, self._rows[self._at - 1][0], what)
        if value < 0:
            self.refuse(f"{what} of at least 0", word)
        return value

    def whole(self, word: str, what: str) -> int:
        """A whole number of at least 0."""
        self.number(word, what)
        return to_whole(word, self._path, self._rows[self._at - 1][0], what)


def _read_text(lines: _Lines) -> Knapsack:
    head = lines.take("'n capacity', or 'n'", 1, 2)
    count = lines.whole(head[0], "the number of items")
    return _read_numbered(lines, count) if len(head) == 1 else _read_pairs(lines, count, head[1])


def _read_pairs(lines: _Lines, count: int, capacity_word: str) -> Knapsack:
    """After "n capacity": "profit weight" n times, and maybe a solution."""
    capacity = lines.number(capacity_word, "the capacity")
    weights, values = [], []
    for item in range(count):
        profit, weight = lines.take(f"'profit weight' of item {item + 1} of {count}", 2)
        values.append(lines.number(profit, "a profit"))
        weights.append(lines.number(weight, "a weight"))
    return Knapsack(capacity, np.array(weights), np.array(values), _read_best(lines, capacity, weights, values))


def _read_best(lines: _Lines, capacity: float, weights: list[float], values: list[float]) -> float | None:
    """Value of the solution at the end of the file, checked; None if nothing is there."""
    flags: list[str] = []
    for words in lines:
        flags += words
        if len(flags) > len(values) or not set(words) <= {"0", "1"}:
            lines.refuse(f"the end of the file or a solution of {len(values)} times 0 or 1", " ".join(words))
    if not flags:
        return None
    if len(flags) < len(values):
        lines.refuse(f"a solution of {len(values)} times 0 or 1", f"{len(flags)} of them")
    chosen = [item for item, flag in enumerate(flags) if flag == "1"]
    if (total := math.fsum(weights[item] for item in chosen)) > capacity:
        lines.refuse(f"a solution that weighs at most {capacity:g}", f"one that weighs {total:g}")
    return math.fsum(values[item] for item in chosen)


def _read_numbered(lines: _Lines, count: int) -> Knapsack:
    """After "n": "id profit weight" n times, ids ascending by one from 0 or 1, and the capacity."""
    weights, values, first = [], [], 0
    for item in range(count):
        identity, profit, weight = lines.take(f"'id profit weight' of item {item + 1} of {count}", 3)
        number = lines.whole(identity, "the id of an item")
        first = number if item == 0 and number == 1 else first
        if number != first + item:
            lines.refuse(f"the item with id {first + item}", identity)
        values.append(lines.number(profit, "a profit"))
        weights.append(lines.number(weight, "a weight"))
    capacity = lines.number(lines.take("the capacity", 1)[0], "the capacity")
    for words in lines:
        lines.refuse("the end of the file", " ".join(words))
    return Knapsack(capacity, np.array(weights), np.array(values))

"""Bin-packing instances in text: OR-Library, BPPLIB and cutting stock, told apart by the shape of their first lines.

- OR-Library: number of problems, then for each an identifier, `capacity items best`, and the sizes, one a line.
- BPPLIB: number of items, capacity, the sizes, one a line.
- Cutting stock (BPPLIB): number of sizes, capacity, then `size demand` lines.

Sizes become integers. OR-Library's have decimals in binpack5 to binpack8: all numbers of such an instance are scaled by
the power of ten that makes them whole, and no further. Blank lines and spaces mean nothing.
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from decimal import Decimal
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from coevo.errors import InstanceFileError

LARGEST = 2**31 - 1
"""Largest capacity, after scaling: total sizes then stay exact integers, and single ones exact floats."""

MOST_ITEMS = 10**6
"""Most items of one instance; what a cutting-stock file demands could be any number."""

_WHOLE = re.compile(r"[0-9]{1,18}")
_NUMBER = re.compile(r"[0-9]{1,18}(\.[0-9]{1,9})?")


@dataclass(frozen=True, slots=True)
class PackingRecord:
    """One instance as a file states it.

    Attributes:
        name: Unique within the file.
        sizes: Of the items, in the file's order, int64, shape (n,), at least one, each from 1 to the capacity.
        capacity: Of every bin, in the unit of the sizes.
        best: Fewest bins that the file says are known to do, or None if it says nothing.
    """

    name: str
    sizes: NDArray[np.int64]
    capacity: int
    best: int | None = None


@dataclass(frozen=True, slots=True)
class _Value:
    """A number of the file and the line where it stands."""

    line: int
    value: Decimal


class _Lines:
    """The lines of a file that are not blank, taken one by one."""

    def __init__(self, file: Path, lines: Sequence[str]):
        self.file = file
        self.rows = [(number, fields) for number, row in enumerate(lines, 1) if (fields := row.split())]
        self._place = 0

    def error(self, line: int | None, message: str) -> InstanceFileError:
        """An error about a line."""
        return InstanceFileError(self.file, line, message)

    def take(self, count: int, what: str) -> tuple[int, list[str]]:
        """Number and fields of the next line, which must have so many."""
        if self._place == len(self.rows):
            last = self.rows[-1][0] if self.rows else 0
            raise self.error(last + 1, f"expected {what}, got the end of the file")
        line, fields = self.rows[self._place]
        self._place += 1
        if len(fields) != count:
            raise self.error(line, f"expected {what}, got {' '.join(fields)!r:.60}")
        return line, fields

    def end(self) -> None:
        """Refuse whatever follows."""
        if self._place < len(self.rows):
            line, fields = self.rows[self._place]
            raise self.error(line, f"expected the end of the file, got {' '.join(fields)!r:.60}")

    def whole(self, line: int, text: str, what: str) -> int:
        """A field as a whole number, at least 1."""
        if not _WHOLE.fullmatch(text) or int(text) == 0:
            raise self.error(line, f"expected {what} as a whole number above 0, got {text!r:.40}")
        return int(text)

    def number(self, line: int, text: str, what: str) -> _Value:
        """A field as a number above 0, decimals allowed."""
        if not _NUMBER.fullmatch(text) or Decimal(text) == 0:
            raise self.error(line, f"expected {what} as a number above 0, got {text!r:.40}")
        return _Value(line, Decimal(text))


def parse_packing_text(file: Path, text: Sequence[str]) -> list[PackingRecord]:
    """The instances in the lines of a file.

    Args:
        file: Where they come from: for messages, and for the name of an instance that has none.
        text: OR-Library, BPPLIB or cutting stock, line by line.

    Raises:
        InstanceFileError: With the line that is not as expected.
    """
    lines = _Lines(file, text)
    second, third = ([fields for _, fields in lines.rows[1:3]] + [[], []])[:2]
    if (second and not _NUMBER.fullmatch(second[0])) or len(third) == 3:
        records = list(_or_library(lines))
    else:
        records = [_cutting_stock(lines) if len(third) == 2 else _bpplib(lines)]
    lines.end()
    return records


def _or_library(lines: _Lines) -> Iterator[PackingRecord]:
    line, (count,) = lines.take(1, "the number of problems")
    seen = set()
    for _ in range(lines.whole(line, count, "the number of problems")):
        line, (name,) = lines.take(1, "the identifier of a problem")
        if name in seen:
            raise lines.error(line, f"expected another identifier for each problem, got {name!r:.40} again")
        seen.add(name)
        line, (capacity, items, best) = lines.take(3, f"'capacity items best' of {name:.40}")
        num_items = lines.whole(line, items, "the number of items")
        fewest = lines.whole(line, best, "the best known number of bins")
        values = [lines.number(line, capacity, "the capacity"), *_sizes(lines, num_items)]
        yield _record(lines, name, _integers(values), [each.line for each in values], fewest)


def _sizes(lines: _Lines, count: int) -> Iterator[_Value]:
    for item in range(count):
        line, (size,) = lines.take(1, f"the size of item {item + 1} of {count}")
        yield lines.number(line, size, "a size")


def _integers(values: Sequence[_Value]) -> list[int]:
    """The values times the least power of ten that makes all of them whole."""
    decimals = max(-int(each.value.normalize().as_tuple().exponent) for each in values)
    return [int(each.value.scaleb(max(0, decimals))) for each in values]


def _bpplib(lines: _Lines) -> PackingRecord:
    line, (count,) = lines.take(1, "the number of items")
    num_items = lines.whole(line, count, "the number of items")
    line, (capacity,) = lines.take(1, "the capacity")
    numbers, places = [lines.whole(line, capacity, "the capacity")], [line]
    for item in range(num_items):
        line, (size,) = lines.take(1, f"the size of item {item + 1} of {num_items}")
        numbers.append(lines.whole(line, size, "a size"))
        places.append(line)
    return _record(lines, lines.file.stem, numbers, places)


def _cutting_stock(lines: _Lines) -> PackingRecord:
    line, (count,) = lines.take(1, "the number of sizes")
    num_sizes = lines.whole(line, count, "the number of sizes")
    line, (capacity,) = lines.take(1, "the capacity")
    numbers, places = [lines.whole(line, capacity, "the capacity")], [line]
    for place in range(num_sizes):
        line, (size, demand) = lines.take(2, f"'size demand', line {place + 1} of {num_sizes}")
        times = lines.whole(line, demand, "a demand")
        if len(places) - 1 + times > MOST_ITEMS:
            raise lines.error(line, f"expected at most {MOST_ITEMS} items, got more")
        numbers += [lines.whole(line, size, "a size")] * times
        places += [line] * times
    return _record(lines, lines.file.stem, numbers, places)


def _record(
    lines: _Lines, name: str, numbers: Sequence[int], places: Sequence[int], best: int | None = None
) -> PackingRecord:
    """A record of a capacity and then sizes, given with their lines."""
    capacity, *sizes = numbers
    if capacity > LARGEST:
        raise lines.error(places[0], f"expected a capacity of at most {LARGEST} once it is whole, got {capacity}")
    for size, line in zip(sizes, places[1:], strict=True):
        if size > capacity:
            raise lines.error(line, f"expected no item larger than a bin, got a size of {size} for capacity {capacity}")
    return PackingRecord(name, np.array(sizes, dtype=np.int64), capacity, best)

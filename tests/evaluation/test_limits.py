import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from coevo.content import Limits
from coevo.evaluation.limits import limits_for, split_into_parts, suggested_limit, time_factor
from coevo.interfaces import Instance


def _instances(count: int, floats: int) -> list[Instance]:
    return [Instance(str(number), number, {"x": np.zeros(floats)}) for number in range(count)]


@given(st.integers(1, 50), st.integers(0, 50), st.integers(1, 50), st.integers(0, 50))
def test_the_factor_is_number_times_mean_size_and_at_least_one(n: int, a: int, m: int, b: int) -> None:
    """More or larger instances get proportionally more time, fewer never get less than the search split."""
    expected = m * b / (n * a) if a else m / n
    assert time_factor(_instances(n, a), _instances(m, b)) == pytest.approx(max(1.0, expected))


def test_the_search_split_gets_the_limit_of_the_problem() -> None:
    """CPU seconds as they are, five times as many on the clock, memory in bytes."""
    search = _instances(4, 10)
    limits = limits_for(Limits(cpu_s=2, memory_mb=3), search=search, instances=search)
    assert (limits.cpu_s, limits.wall_s, limits.memory_bytes) == (2, 10, 3 * 2**20)


@given(st.integers(1, 3000), st.none() | st.integers(1, 400))
def test_parts_cover_every_instance_once_and_are_small_enough(count: int, at_once: int | None) -> None:
    """In order, none empty; whole up to 256 and cut to at most 64, or to what the problem says."""
    whole, size = (256, 64) if at_once is None else (at_once, at_once)
    parts = split_into_parts(count, at_once)
    assert [number for start, stop in parts for number in range(start, stop)] == list(range(count))
    assert all(start < stop for start, stop in parts)
    assert len(parts) == 1 if count <= whole else all(stop - start <= size for start, stop in parts)


@given(st.floats(0.0, 1e4))
def test_a_suggested_limit_is_a_round_number_about_thirty_times_the_need(cpu_s):
    """1, 2 or 5 times a power of ten; two seconds at least."""
    limit = suggested_limit(cpu_s)
    assert limit >= 2.0
    assert f"{limit:e}"[0] in "125"
    assert f"{limit:e}"[1:].startswith(".000000e")
    if cpu_s > 0.1:
        assert 15 <= limit / cpu_s <= 60

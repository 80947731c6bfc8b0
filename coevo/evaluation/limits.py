"""How much one candidate may use on a set of instances."""

import itertools
import math
from collections.abc import Sequence

from coevo.content import Limits as ProblemLimits
from coevo.interfaces import Instance
from coevo.sandbox.confine import Limits
from coevo.sandbox.warm_up import instance_bytes

WALL_GUARD = 5.0
"""Seconds on the clock per CPU second allowed: the CPU limit decides, this only catches what sleeps or waits."""
WALL_FLOOR_S = 10.0
"""Least time on the clock: under a short CPU limit, a busy machine's delays must not decide."""

SMALLEST_LIMIT_S = 2.0
"""Below it, what the machine does besides decides who is too slow."""
SUGGESTED_FACTOR = 30

_WHOLE, _PART = 256, 64
"""Most instances that stay together, and the size of parts otherwise: enough work to outweigh starting a process."""


def time_factor(search: Sequence[Instance], instances: Sequence[Instance]) -> float:
    """How many times the search split's CPU limit a set of instances gets: its data relative to search's, at least 1.

    Number of instances × mean data size is total data size, so the factor is a ratio of bytes (of counts, should the
    search split hold no data). A heuristic that is called per node and looks at all nodes takes time like n², as a
    distance matrix takes space; instances given by coordinates alone have their limit grow more slowly than that.

    Args:
        search: Instances of the search split, at least one.
        instances: The set in question.
    """
    total = sum(map(instance_bytes, instances))
    base = sum(map(instance_bytes, search))
    ratio = total / base if base else len(instances) / len(search)
    return max(1.0, ratio)


def limits_for(limits: ProblemLimits, *, search: Sequence[Instance], instances: Sequence[Instance]) -> Limits:
    """What a candidate may use on `instances`, given the problem's limits for its search split."""
    cpu_s = limits.cpu_s * time_factor(search, instances)
    return Limits(
        cpu_s=cpu_s,
        wall_s=max(WALL_FLOOR_S, WALL_GUARD * cpu_s),
        memory_bytes=limits.memory_mb << 20,
        max_result_bytes=limits.result_mb << 20,
    )


def split_into_parts(count: int, at_once: int | None = None) -> list[tuple[int, int]]:
    """Ranges (start, stop) that cover `count` instances: one if they are not too many, else parts of about equal size.

    Depends on the count and the problem alone, never on the number of workers, so that limits and verdicts do not
    either.

    Args:
        count: How many instances there are.
        at_once: Most instances in one part, if the problem has such a limit.
    """
    threshold, size = (_WHOLE, _PART) if at_once is None else (at_once, at_once)
    if count <= threshold:
        return [(0, count)]
    parts = math.ceil(count / size)
    edges = [count * part // parts for part in range(parts + 1)]
    return list(itertools.pairwise(edges))


def suggested_limit(cpu_s: float) -> float:
    """A problem's limit, in CPU seconds: some thirty times what the slowest baseline takes, two seconds at the least.

    Args:
        cpu_s: CPU seconds of the slowest baseline on the search split.

    Returns:
        1, 2 or 5 times a power of ten.
    """
    wanted = max(SUGGESTED_FACTOR * cpu_s, SMALLEST_LIMIT_S)
    power = 10.0 ** math.floor(math.log10(wanted))
    return float(min((step * power for step in (1, 2, 5, 10)), key=lambda value: abs(math.log10(value / wanted))))

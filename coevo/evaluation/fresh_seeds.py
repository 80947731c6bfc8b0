"""Fresh seeds: the same instances, other luck.

The objective of a randomised problem, such as an ant colony's best tour, depends on the instance's seed. A heuristic
that was chosen because of its value under one seed is partly chosen for luck; what it is worth shows under others.
`test50#2` names the instances of `test50`, each with the second fresh seed that follows from its own.
"""

import hashlib
from collections.abc import Sequence
from dataclasses import replace

from coevo.interfaces import Instance

_MARK = "#"
_BITS = 63


def fresh(split: str, draw: int) -> str:
    """Name of a split under fresh seeds; draws count from 1."""
    return f"{split}{_MARK}{draw}"


def parse_split(name: str) -> tuple[str, int]:
    """A split's own name, and the number of the draw: 0 for its own seeds."""
    split, mark, draw = name.rpartition(_MARK)
    return (split, int(draw)) if mark and draw.isdecimal() else (name, 0)


def reseeded(instances: Sequence[Instance], draw: int) -> list[Instance]:
    """The same instances with seeds that follow from their own and the draw; draw 0 changes nothing."""
    return [each if draw == 0 else replace(each, seed=_fresh_seed(each.seed, draw)) for each in instances]


def _fresh_seed(seed: int, draw: int) -> int:
    digest = hashlib.blake2b(f"fresh seed {draw} of {seed}".encode(), digest_size=8).digest()
    return int.from_bytes(digest, "little") % (1 << _BITS)

"""Who tries what in a step: the direction, the sign and the subspace of every member.

Directions are dealt to subspaces like cards, round-robin, so that the sizes differ by one direction at most; both
halves of an antithetic pair share their direction, and with it their subspace.
"""

from dataclasses import dataclass

FEWEST = 2
"""Members that a step needs, and each of its subspaces: rewards are compared."""


@dataclass(frozen=True, slots=True)
class Place:
    """What one member tries: `sign` times a `direction`, on a `subspace`."""

    direction: int
    sign: int
    subspace: int


def deal(count: int, *, subspaces: int, antithetic: bool) -> list[Place]:
    """The places of a step's members, in member order.

    Args:
        count: Number of members.
        subspaces: K; with 1 every member moves all weights.
        antithetic: Whether members 2j and 2j + 1 take direction j with both signs.

    Raises:
        ValueError: If `fault` finds one.
    """
    if (reason := fault(count, subspaces=subspaces, antithetic=antithetic)) is not None:
        raise ValueError(reason)
    signs = (1, -1) if antithetic else (1,)
    directions = range(count // len(signs))
    return [Place(direction, sign, direction % subspaces) for direction in directions for sign in signs]


def fault(count: int, *, subspaces: int, antithetic: bool) -> str | None:
    """Why a step of `count` members is not possible, in one line that ends with the number; None if it is."""
    if count < FEWEST:
        return f"a step needs at least {FEWEST} members to compare, got {count}"
    if antithetic and count % 2:
        return f"antithetic members come in pairs: expected an even number, got {count}"
    if count < FEWEST * subspaces:
        return (
            f"each of {subspaces} subspaces needs {FEWEST} members: expected {FEWEST * subspaces} or more, got {count}"
        )
    return None


def smallest_share(count: int, *, subspaces: int, antithetic: bool) -> int:
    """Members of the subspace that gets the fewest; N_k where K divides the directions."""
    size = 2 if antithetic else 1
    return size * (count // size // subspaces)

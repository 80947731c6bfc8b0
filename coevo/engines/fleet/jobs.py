"""What engines of a fleet take, one after the other: requests of a call that had better be answered together.

Jobs are a pure function of the requests and of the fleet's size. Which engine is free when decides who does a job and
never what is in it, so that also an engine whose answers depend on what shares a batch answers the same each time.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from coevo.interfaces import Member, Request

BATCH = 32
"""Rows below which an engine's process loses more by a smaller batch than a fleet gains by balance."""


@dataclass
class Job:
    """Requests that one engine is given at a time; those that are answered leave it.

    Attributes:
        requests: By id, what is to be answered.
        errors: What engines have failed with over it.
    """

    requests: dict[str, Request]
    errors: set[str] = field(default_factory=set)


def split_into_jobs(requests: Sequence[Request], engines: int, slots: int) -> list[Job]:
    """Cut the requests of a call into jobs, in the order in which they are taken.

    Changing weights costs, so a dense member's requests stay together; so do a low-rank member's, of which engines
    hold few at a time. The base's can be cut anywhere.

    Args:
        requests: Of one call.
        engines: How many there are in the fleet, working or not.
        slots: Models that one engine serves at a time, each in a process of its own.
    """
    dense: dict[Member, list[Request]] = {}
    shared: dict[Member | None, list[Request]] = {}
    for request in requests:
        if request.member is not None and request.member.rank == 0:
            dense.setdefault(request.member, []).append(request)
        else:
            shared.setdefault(request.member, []).append(request)
    jobs = [*_of_dense(list(dense.values()), engines, slots), *_of_shared(shared, engines, slots)]
    return [Job({request.id: request for request in job}) for job in jobs]


def _of_dense(groups: Sequence[list[Request]], engines: int, slots: int) -> Iterator[list[Request]]:
    """The members of each job.

    Where they are no more than the slots of all engines, they are spread evenly. Else a job with one slot is one
    member, and the first free engine takes the next. With more slots a job has a member for every slot; and since it
    lasts as long as its slowest slot, the first jobs have several for each, of which none waits, and only the last are
    short, which keeps the engines together.
    """
    parts = min(engines, len(groups))
    if len(groups) <= engines * slots:
        sizes = [len(groups) * (part + 1) // parts - len(groups) * part // parts for part in range(parts)]
    else:
        sizes = _shrinking(len(groups), engines, slots)
    at = 0
    for size in sizes:
        yield [request for group in groups[at : at + size] for request in group]
        at += size


def _shrinking(left: int, engines: int, slots: int) -> list[int]:
    sizes = []
    while left > 0:
        sizes.append(min(left, max(slots, left // (2 * engines)) if slots > 1 else 1))
        left -= sizes[-1]
    return sizes


def _of_shared(by_member: dict[Member | None, list[Request]], engines: int, slots: int) -> Iterator[list[Request]]:
    """Contiguous pieces of what is served beside the base, of about the same number of requests.

    There is one for each engine, and two where batches stay full: a fast engine then takes some of a slow one's.
    """
    units = [[request] for request in by_member.get(None, [])]
    units += [requests for member, requests in by_member.items() if member is not None]
    total = sum(len(unit) for unit in units)
    pieces = max(engines, min(2 * engines, total // (BATCH * slots)))
    filled: dict[int, list[Request]] = {}
    before = 0
    for unit in units:
        filled.setdefault(before * pieces // total, []).extend(unit)
        before += len(unit)
    yield from filled.values()

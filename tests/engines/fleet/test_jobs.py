"""How the requests of a call are cut into jobs."""

from collections import Counter

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from coevo.engines.fleet.jobs import BATCH, split_into_jobs
from coevo.interfaces import Member, Request

OWNERS = [None, *(Member(7, 0, n, 1, 0.1) for n in range(9)), *(Member(7, 0, n, -1, 0.1, rank=1) for n in range(3))]


def requests_of(owners, texts=None):
    """One request for each owner, in order."""
    return [Request(f"r{n}", texts[n] if texts else "x", n, owner) for n, owner in enumerate(owners)]


def ids(jobs):
    """The requests of every job."""
    return [list(job.requests) for job in jobs]


@settings(max_examples=50)
@given(
    st.lists(st.tuples(st.sampled_from(OWNERS), st.integers(0, 9)), max_size=80), st.integers(1, 9), st.integers(1, 6)
)
def test_every_request_is_in_one_job_and_members_stay_together(asked, engines, slots):
    """Nothing is lost or doubled, no job is empty, none mixes dense members with the rest; what is split is little.

    Low-rank members are never split. The jobs that have less than a dense member are no more than the engines, and of
    members that are split there are fewer than engines.
    """
    requests = requests_of([owner for owner, _ in asked], ["x" * length for _, length in asked])
    jobs = split_into_jobs(requests, engines, slots)
    assert sorted(n for job in ids(jobs) for n in job) == sorted(request.id for request in requests)
    assert all(job.requests for job in jobs)
    pieces = Counter(member for job in jobs for member in {r.member for r in job.requests.values()} - {None})
    split = {member: count for member, count in pieces.items() if count > 1}
    assert all(member.rank == 0 for member in split)
    assert len(split) < engines
    assert sum(split.values()) <= engines
    for job in jobs:
        assert len({r.member is not None and r.member.rank == 0 for r in job.requests.values()}) == 1
    assert ids(split_into_jobs(requests, engines, slots)) == ids(jobs)


@pytest.mark.parametrize(
    ("members", "engines", "slots", "sizes"),
    [
        (4, 3, 2, [1, 1, 2]),
        (5, 2, 8, [2, 3]),
        (1, 4, 4, [1, 1]),
        (4, 2, 1, [1] * 4),
        (5, 2, 1, [1] * 6),
        (9, 2, 2, [2, 2, 2, 2, 1]),
        (40, 2, 2, [10, 7, 5, 4, 3, 2, 2, 2, 2, 2, 1]),
    ],
)
def test_jobs_have_members_for_every_slot(members, engines, slots, sizes):
    """Few members are spread over the engines; of many, the first jobs are long and the last have one for each slot.

    Every member has two requests here, so that one alone can be cut in two.
    """
    requests = requests_of([Member(7, 0, n, 1, 0.1) for n in range(members)] * 2)
    jobs = split_into_jobs(requests, engines, slots)
    assert [len({request.member for request in job.requests.values()}) for job in jobs] == sizes


def test_with_one_slot_a_job_is_one_member():
    """Then whoever is free takes the next member."""
    requests = requests_of([Member(7, 0, n % 4, 1, 0.1) for n in range(8)])
    assert ids(split_into_jobs(requests, 2, 1)) == [["r0", "r4"], ["r1", "r5"], ["r2", "r6"], ["r3", "r7"]]


@pytest.mark.parametrize(
    ("members", "engines", "jobs"),
    [
        (2, 4, ["0 2", "4 6", "1 3", "5 7"]),
        (3, 4, ["0 3 6", "1 4 7", "2", "5"]),
        (3, 2, ["0 3 6", "1 4 7", "2", "5"]),
        (1, 9, ["0", "1", "2", "3", "4", "5", "6", "7"]),
    ],
)
def test_engines_that_would_be_idle_take_a_part_of_a_member(members, engines, jobs):
    """Eight requests: members too few for all engines, or the last ones, are cut into contiguous pieces."""
    requests = requests_of([Member(7, 0, n % members, 1, 0.1) for n in range(8)])
    assert ids(split_into_jobs(requests, engines, 1)) == [[f"r{n}" for n in job.split()] for job in jobs]


def test_members_with_long_prompts_are_served_first():
    """Their answers are likely to be long too, and what is begun last should be short; of equals the first is first."""
    requests = requests_of([Member(7, 0, n, 1, 0.1) for n in range(4)], ["xx", "x", "xxxx", "xx"])
    assert ids(split_into_jobs(requests, 2, 1)) == [["r2"], ["r0"], ["r3"], ["r1"]]


def test_the_base_is_cut_for_every_engine_and_no_smaller_than_a_batch():
    """A few requests give one piece for each engine; many give two, and never more."""
    sizes = [
        [len(job) for job in ids(split_into_jobs(requests_of([None] * n), 2, 2))]
        for n in (1, 5, 4 * BATCH, 8 * BATCH, 999)
    ]
    assert sizes == [[1], [3, 2], [64, 64], [64] * 4, [250, 250, 250, 249]]

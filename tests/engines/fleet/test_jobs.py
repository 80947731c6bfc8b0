"""How the requests of a call are cut into jobs."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from coevo.engines.fleet.jobs import BATCH, split_into_jobs
from coevo.interfaces import Member, Request

OWNERS = [None, *(Member(7, 0, n, 1, 0.1) for n in range(9)), *(Member(7, 0, n, -1, 0.1, rank=1) for n in range(3))]


def requests_of(owners):
    """One request for each owner, in order."""
    return [Request(f"r{n}", "x", n, owner) for n, owner in enumerate(owners)]


def ids(jobs):
    """The requests of every job."""
    return [list(job.requests) for job in jobs]


@settings(max_examples=50)
@given(st.lists(st.sampled_from(OWNERS), max_size=80), st.integers(1, 6), st.integers(1, 6))
def test_every_request_is_in_one_job_and_members_stay_together(owners, engines, slots):
    """Nothing is lost or doubled, no job is empty, no member is split, and none mixes dense members with the rest."""
    requests = requests_of(owners)
    jobs = split_into_jobs(requests, engines, slots)
    assert sorted(n for job in ids(jobs) for n in job) == sorted(request.id for request in requests)
    assert all(job.requests for job in jobs)
    for owner in set(owners) - {None}:
        assert sum(any(r.member == owner for r in job.requests.values()) for job in jobs) == 1
    for job in jobs:
        assert len({r.member is not None and r.member.rank == 0 for r in job.requests.values()}) == 1
    assert ids(split_into_jobs(requests, engines, slots)) == ids(jobs)


@pytest.mark.parametrize(
    ("members", "engines", "slots", "sizes"),
    [
        (4, 3, 2, [1, 1, 2]),
        (5, 2, 8, [2, 3]),
        (1, 4, 4, [1]),
        (5, 2, 1, [1] * 5),
        (9, 2, 2, [2, 2, 2, 2, 1]),
        (40, 2, 2, [10, 7, 5, 4, 3, 2, 2, 2, 2, 2, 1]),
    ],
)
def test_jobs_have_members_for_every_slot(members, engines, slots, sizes):
    """Few members are spread over the engines; of many, the first jobs are long and the last have one for each slot."""
    requests = requests_of([Member(7, 0, n, 1, 0.1) for n in range(members)] * 2)
    jobs = split_into_jobs(requests, engines, slots)
    assert [len({request.member for request in job.requests.values()}) for job in jobs] == sizes


def test_with_one_slot_a_job_is_one_member():
    """Then whoever is free takes the next member."""
    requests = requests_of([Member(7, 0, n % 3, 1, 0.1) for n in range(6)])
    assert ids(split_into_jobs(requests, 2, 1)) == [["r0", "r3"], ["r1", "r4"], ["r2", "r5"]]


def test_the_base_is_cut_for_every_engine_and_no_smaller_than_a_batch():
    """A few requests give one piece for each engine; many give two, and never more."""
    sizes = [
        [len(job) for job in ids(split_into_jobs(requests_of([None] * n), 2, 2))]
        for n in (1, 5, 4 * BATCH, 8 * BATCH, 999)
    ]
    assert sizes == [[1], [3, 2], [64, 64], [64] * 4, [250, 250, 250, 249]]

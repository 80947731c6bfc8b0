"""The scheduler in a virtual world, under schedules of all kinds: what is answered and recorded depends on none."""

import itertools
import random
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from step_bounds import Step, bound_s, list_schedule_s, optimum_s, work_s
from virtual_primitives import virtual_world
from virtual_search import MODULES, Drawn, Pace, Recorded, Simulation, Times
from virtual_world import DeadlockError

from coevo.engines.fleet.engine import FleetEngine
from coevo.engines.fleet.faults import EngineLost
from coevo.engines.fleet.seat import RESTARTS
from coevo.interfaces import Update
from coevo.records.event_log import read_events

FLEET = MODULES[:3]
PACE = Pace(switch_s=0.5, read_s=0.1, step_s=0.02, row_s=0.001, commit_s=2.0)
OPERATORS = ("i1", "e1", "e2", "m1", "m2")
TIMES = tuple(
    Recorded(operator, parents, 5 + (parents * 7 + n * 13) % 60, None if n % 6 == 5 else 0.25 * (1 + n % 7))
    for operator, parents, n in itertools.product(OPERATORS, (10, 30, 50), range(12))
)


@settings(max_examples=40)
@given(
    seed=st.integers(0, 2**32),
    traces=st.booleans(),
    deaths=st.lists(st.lists(st.integers(0, 6), max_size=RESTARTS), min_size=1, max_size=5),
    count=st.integers(0, 30),
    members=st.integers(0, 5),
)
def test_every_request_is_answered_once_under_any_schedule(seed, traces, deaths, count, members, places, asked):
    """Engines that die after any number of answers, at any pace, in any order: answers and weights are one engine's."""
    chance, here, requests = random.Random(seed), places(len(deaths)), asked(count, members=members)
    alone = places(1)[0].open()
    with virtual_world(*FLEET, seed=seed, traces=traces) as world:
        for place, after in zip(here, deaths, strict=True):
            place.failures = iter([(each, EngineLost("gone")) for each in after])
            place.before = lambda request: world.sleep(chance.choice((0.0, 0.1, 5.0)))
        with FleetEngine([place.open for place in here], slots=1 + seed % 3) as fleet:
            for step in range(2):
                found = list(fleet.generate(requests))
                assert sorted(each.request_id for each in found) == sorted(request.id for request in requests)
                assert {each.request_id: each.text for each in found} == {
                    each.request_id: each.text for each in alone.generate(requests)
                }
                update = Update(77, step, (0,), (0.5,))
                assert fleet.commit(update) == alone.commit(update)
    assert all(fake.is_closed for place in here for fake in place.opened)


@settings(max_examples=25)
@given(seed=st.integers(0, 2**32), taken=st.integers(0, 12), engines=st.integers(1, 4))
def test_a_dropped_call_never_holds_the_next(seed, taken, engines, places, asked):
    """Abandoned after any answer, under any schedule, the next call is answered whole and the fleet closes."""
    here = places(engines)
    with virtual_world(*FLEET, seed=seed, traces=True) as world:
        for number, place in enumerate(here):
            place.before = lambda request, number=number: world.sleep(0.1 * (number + 1))
        with FleetEngine([place.open for place in here]) as fleet:
            dropped = fleet.generate(asked(12))
            for _ in range(taken):
                next(dropped)
            if seed % 2:
                dropped.close()
            assert len(list(fleet.generate(asked(7)))) == 7


def test_an_engine_that_never_answers_is_told_as_a_deadlock(places, asked):
    """The tests above would not hang where the scheduler loses an answer: they would say who waits for what."""
    here = places(1)
    with virtual_world(*FLEET) as world:
        hanging = FLEET[0].threading.Event()
        here[0].before = lambda request: hanging.wait()
        fleet = FleetEngine([here[0].open])
        with pytest.raises(DeadlockError, match="coevo-engine for an event"):
            next(fleet.generate(asked(3)))
        assert world.now == 0.0
        hanging.set()
        fleet.close()


class Mortal:
    """An engine that is lost now and then, by the number of its place and of its call."""

    def __init__(self, place, made):
        self._place, self._made, self._calls = place, made, itertools.count()
        self.commit, self.fingerprint, self.close = made.commit, made.fingerprint, made.close

    def generate(self, requests):
        """As the engine it stands for, unless it is lost on the way: one opened anew does a call at least."""
        dies = next(self._calls) % 3 == 1 + self._place % 2
        for number, answer in enumerate(self._made.generate(requests)):
            if dies and number == self._place % 2:
                raise EngineLost(f"place {self._place}")
            yield answer
        if dies:
            raise EngineLost("after the last answer")


def simulated(tmp_path, problem, engines, judges, **options):
    """The story of a search without its clock, the virtual time at its end, and engines opened anew."""
    values = {
        "problem": str(problem), "splits": ("search",), "budget": 44, "population": 6, "batch": 4, "seed": 3,
        "engines": engines, "workers": judges, "evolution_strategy": {"members": 5, "children": 2},
    }  # fmt: skip
    ends = []
    simulation = Simulation(values, Times(TIMES), PACE, **options)
    result = simulation.run(tmp_path, lambda world, event: ends.append(world.now))
    events = read_events(Path(result.run) / "events.jsonl")
    return (
        [{key: value for key, value in event.items() if key != "clock"} for event in events],
        ends[-1],
        sum(seat.restarts for seat in simulation.fleet.meter),
    )


@pytest.fixture(scope="module")
def alone(tmp_path_factory, tiny_problem):
    """The story with one engine and one judge, and its time."""
    return simulated(tmp_path_factory.mktemp("alone"), tiny_problem, 1, 1)


@pytest.mark.parametrize(
    ("engines", "judges", "seed"), [(1, 1, 1), (2, 3, 2), (3, 1, 3), (7, 40, 4), (16, 16, 5), (33, 2, 6)]
)
def test_a_search_tells_the_same_story_under_any_schedule(engines, judges, seed, alone, tmp_path, tiny_problem):
    """With so many engines, some of them dying, and judges, events are those of one of each."""
    story, _, restarts = simulated(
        tmp_path, tiny_problem, engines, judges, seed=seed, traces=seed % 2 == 0,
        wraps=lambda world, place, made: Mortal(place, made),
    )  # fmt: skip
    assert story == alone[0]
    assert restarts > 0
    assert sum(event["kind"] == "step" for event in story) >= 2


def test_a_schedule_without_a_seed_is_repeated_to_the_second(tmp_path, tiny_problem):
    """The virtual time of a search is a number, not a measurement; more engines make it shorter."""
    times = [simulated(tmp_path / str(n), tiny_problem, n, 4)[1] for n in (1, 4, 4)]
    assert times[0] > times[1] == times[2]


def steps():
    """Small steps: members with some completions each."""
    rows = st.builds(Drawn, st.integers(1, 60), st.none() | st.floats(0.01, 5))
    owners = st.lists(st.lists(rows, min_size=1, max_size=1).map(tuple), min_size=1, max_size=7).map(tuple)
    return st.builds(Step, owners, st.just(True))


@given(steps(), st.integers(1, 4), st.integers(1, 4))
def test_no_order_beats_the_bound(step, engines, judges):
    """Of members with one completion each, in every order that is tried, greedily; the bound is not trivial either."""
    pairs = [(PACE.switch_s + PACE.ends([row.tokens])[-1], row.evaluation_s or 0.0) for row in step.rows]
    bound = bound_s(step, PACE, engines, judges)
    orders = itertools.islice(itertools.permutations(pairs), 200)
    best = min(list_schedule_s(order, engines, judges) for order in orders)
    assert best >= bound * (1 - 1e-9)
    assert bound >= work_s(step, PACE) / engines * (1 - 1e-9)
    assert bound >= max(map(sum, pairs)) * (1 - 1e-9)


def test_a_solver_lies_between_the_bound_and_what_is_greedy():
    """Five members on two engines by hand: 4 + 4 and 3 + 3 + 2 in 8; greedily in this order it takes 9."""
    pytest.importorskip("ortools")
    pairs = [(3.0, 0.0), (3.0, 0.0), (2.0, 0.0), (4.0, 0.0), (4.0, 0.0)]
    found, proven = optimum_s(pairs, 2, limit_s=30)
    assert found == pytest.approx(proven, rel=1e-3)
    assert found == pytest.approx(8.0, rel=1e-3)
    assert list_schedule_s(pairs, 2, 1) == 9.0


def test_a_batch_writes_a_token_of_every_row_at_a_time():
    """Rows of 1 and 3 tokens by hand: both pay for the first token, one for the others."""
    assert Pace(9.0, 1.0, 2.0, 0.5, 9.0).ends([3, 1]) == [1.0 + 3.0, 1.0 + 3.0 + 2 * 2.5]

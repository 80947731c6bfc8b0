"""Laws of several engines as one, with engines that fail when they are told to."""

import threading

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from coevo.engines.fleet.engine import FleetEngine
from coevo.engines.fleet.faults import EngineDisagreement, EngineLost
from coevo.engines.fleet.seat import RESTARTS
from coevo.engines.scripted import ScriptedEngine
from coevo.errors import ConfigError, ModelError
from coevo.interfaces import Engine, Member, Request, Update


def answers(engine, requests):
    """Text by request id; each request exactly once."""
    found = list(engine.generate(requests))
    assert sorted(answer.request_id for answer in found) == sorted(request.id for request in requests)
    return {answer.request_id: answer.text for answer in found}


def reached(updates):
    """The fingerprint after updates."""
    alone = ScriptedEngine(["x"])
    for update in updates:
        alone.commit(update)
    return alone.fingerprint()


@pytest.mark.parametrize("count", [1, 2, 3])
def test_the_number_of_engines_does_not_matter(count, fleet_of, places, asked, updates):
    """Answers and fingerprints are those of one engine, before and after every update."""
    fleet, alone = fleet_of(places(count), slots=2), places(1)[0].open()
    assert isinstance(fleet, Engine)
    requests = asked(23)
    for update in updates:
        assert fleet.fingerprint() == alone.fingerprint()
        assert answers(fleet, requests) == answers(alone, requests)
        assert fleet.commit(update) == alone.commit(update)


@settings(max_examples=40)
@given(
    data=st.data(),
    deaths=st.lists(st.lists(st.integers(0, 6), max_size=RESTARTS), min_size=1, max_size=4),
)
def test_whatever_dies_every_request_is_answered_once(data, deaths, places, asked):
    """Engines lost after any number of answers, and in any commit, leave answers that one sound engine would give.

    A place loses `RESTARTS` engines at most, so that none is given up.
    """
    here = places(len(deaths))
    for number, place in enumerate(here):
        in_commit = data.draw(st.integers(0, RESTARTS - len(deaths[number])))
        place.failures = iter([(after, EngineLost(f"{number}, {after}")) for after in deaths[number]])
        place.commit_failures = iter([EngineLost(f"{number}")] * in_commit)
    updates = [Update(77, step, (0,), (0.5,)) for step in range(2)]
    requests = asked(data.draw(st.integers(0, 30)), members=data.draw(st.integers(0, 5)))
    alone = places(1)[0].open()
    with FleetEngine([place.open for place in here], slots=data.draw(st.integers(1, 3))) as fleet:
        for update in updates:
            assert answers(fleet, requests) == answers(alone, requests)
            assert fleet.commit(update) == alone.commit(update)
        assert fleet.fingerprint() == alone.fingerprint()
        assert not any(seat.is_out for seat in fleet.meter)
    assert all(fake.is_closed for place in here for fake in place.opened)


def test_answers_that_were_given_are_not_asked_again(fleet_of, places, asked):
    """What a lost engine has answered leaves its job: only the rest is asked of another one."""
    here = places(1)
    here[0].failures = iter([(2, EngineLost("gone"))])
    answers(fleet_of(here), asked(5, members=0))
    assert here[0].calls == [["r0", "r1", "r2", "r3", "r4"], ["r2", "r3", "r4"]]


def test_an_engine_that_dies_for_good_is_left_out(fleet_of, places, asked, updates, until, caplog):
    """After so many restarts in a row the others go on without it, now and later; it is said once."""
    here = places(2)
    here[0].failures = iter(lambda: (0, EngineLost("no device")), None)
    fleet = fleet_of(here)
    here[1].before = lambda request: until(lambda: fleet.meter[0].is_out)
    assert len(answers(fleet, asked(40, members=9))) == 40
    assert len(answers(fleet, asked(40, members=9))) == 40
    assert fleet.commit(updates[0]) == reached(updates[:1])
    meter = fleet.meter
    assert (meter[0].is_out, meter[0].restarts, meter[0].jobs, meter[0].requests) == (True, RESTARTS, 0, 0)
    assert (meter[1].is_out, meter[1].restarts, meter[1].requests) == (False, 0, 80)
    assert meter[1].jobs == len(here[1].calls)
    assert caplog.text.count("engine 0 is given up (no device)") == 1


def test_when_none_is_left_the_error_is_raised(fleet_of, places, asked):
    """The last error ends the call, and every later call says that nothing is left."""
    here = places(2)
    for place in here:
        place.failures = iter(lambda: (0, EngineLost("no device")), None)
    fleet = fleet_of(here)
    with pytest.raises(EngineLost, match="no device"):
        list(fleet.generate(asked(9)))
    with pytest.raises(ModelError, match="all have been given up"):
        list(fleet.generate(asked(9)))


def test_a_place_that_finishes_jobs_may_fail_often(fleet_of, places, asked):
    """Restarts are counted in a row: a machine that loses an engine now and then is not given up."""
    here = places(1)
    failures = [(0, EngineLost("now")), (None, None)] * (RESTARTS + 2)
    here[0].failures = iter(failures)
    fleet = fleet_of(here)
    for _ in range(RESTARTS + 2):
        answers(fleet, asked(5, members=0))
    assert (fleet.meter[0].is_out, fleet.meter[0].restarts) == (False, RESTARTS + 2)


def test_the_same_error_of_two_engines_is_final(fleet_of, places, asked):
    """Requests that no engine takes are asked twice, and not for ever."""
    here = places(3)

    def poison(request):
        if request.id == "r1":
            raise ModelError("the prompt cannot be read")

    for place in here:
        place.before = poison
    with pytest.raises(ModelError, match="cannot be read"):
        list(fleet_of(here).generate(asked(4, members=0)))
    assert sum("r1" in call for place in here for call in place.calls) == 2


def test_what_is_wrong_with_a_request_is_raised_at_once(fleet_of, places, asked):
    """No engine is opened anew for it, and all are usable afterwards."""
    here = places(2)

    def refuse(request):
        if request.id == "r3":
            raise ConfigError("no such penalty")

    for place in here:
        place.before = refuse
    fleet = fleet_of(here)
    with pytest.raises(ConfigError, match="no such penalty"):
        list(fleet.generate(asked(8)))
    assert len(answers(fleet, asked(3))) == 3
    assert [len(place.opened) for place in here] == [1, 1]


def test_requests_left_out_are_an_error(asked):
    """An engine that ends without an answer to every request is not believed; twice, the call ends."""
    with (
        FleetEngine([Silent, Silent]) as fleet,
        pytest.raises(ModelError, match="an answer to every request, got none to r0"),
    ):
        list(fleet.generate(asked(1)))


class Silent(ScriptedEngine):
    """Answers nothing."""

    def __init__(self):
        super().__init__(["yes"])

    def generate(self, requests):
        """Nothing."""
        return iter(())


def test_ids_used_twice_are_refused(fleet_of, places, asked):
    """Two requests under one id could not be told apart."""
    with pytest.raises(ValueError, match="id of its own"):
        list(fleet_of(places(2)).generate(asked(1) * 2))


def test_whoever_is_free_takes_the_next_job(fleet_of, places, asked, until):
    """While one engine is held at its first member, the other does all the rest, the last member in two pieces."""
    here = places(2)
    requests = [request for request in asked(24, members=11) if request.member]  # 11 members with two requests each
    done, held = [], []

    def hold(request):
        held.append(request.id)
        until(lambda: len(done) == 20)

    def tick(request):
        until(lambda: held)
        done.append(request.id)

    here[0].before, here[1].before = hold, tick
    fleet = fleet_of(here)
    assert len(answers(fleet, requests)) == 22
    assert [(seat.jobs, seat.requests) for seat in fleet.meter] == [(1, 2), (11, 20)]


def test_an_abandoned_generation_leaves_every_engine_usable(fleet_of, places, asked, updates, until):
    """Dropped after any answer, the next calls are answered whole, and the dropped one says what became of it."""
    here = places(3)
    fleet = fleet_of(here)
    for given_up in range(8):
        dropped = fleet.generate(asked(30))
        for _ in range(given_up):
            next(dropped)
        if given_up % 2:
            dropped.close()
        assert len(answers(fleet, asked(7))) == 7
    for place in here:
        place.before = lambda request: request.id != "r29" or until(lambda: fleet._call.is_over)
    left = fleet.generate(asked(30))
    next(left)
    fleet.commit(updates[0])
    with pytest.raises(RuntimeError, match="abandoned"):
        list(left)
    assert fleet.fingerprint() == reached(updates[:1])
    assert [len(place.opened) for place in here] == [1, 1, 1]


def test_closing_in_the_middle_ends_engines_at_work(fleet_of, places, asked, until):
    """An engine that would answer for ever is closed under the hands of its thread, which ends; twice is once."""
    here, working = places(2), threading.Event()

    def hang(request):
        working.set()
        until(here[0].closed.is_set)
        raise EngineLost("closed")

    here[0].before, here[1].before = hang, lambda request: until(working.is_set)
    fleet = fleet_of(here)
    call = fleet.generate(asked(8))
    next(call)
    fleet.close()
    fleet.close()
    assert [len(place.opened) for place in here] == [1, 1]


def test_a_first_failure_is_raised_at_once(fleet_of, places, asked):
    """A model that cannot be served shows before anything is asked, and is not tried again and again."""
    here = places(3)
    here[1].open_failures = iter([ModelError("no such folder")])
    with pytest.raises(ModelError, match="no such folder"):
        fleet_of(here)
    assert all(fake.is_closed for place in here for fake in place.opened)
    opened = []

    class Unready(ScriptedEngine):
        def fingerprint(self):
            raise ModelError("cannot be loaded")

    fleet = FleetEngine([lambda: opened.append(Unready(["x"])) or opened[-1]] * 2)
    with fleet, pytest.raises(ModelError, match="cannot be loaded"):
        list(fleet.generate(asked(2)))
    assert len(opened) == 2


def test_a_commit_that_fails_is_made_up_for_by_replaying(fleet_of, places, asked, updates):
    """An engine lost over an update is opened anew and has it once, like the others."""
    here = places(3)
    here[1].commit_failures = iter([None, ConnectionError("gone")])
    here[2].commit_failures = iter([None, None, EOFError("gone")])
    fleet = fleet_of(here)
    assert [fleet.commit(update) for update in updates] == [reached(updates[:n]) for n in (1, 2, 3)]
    assert [seat.restarts for seat in fleet.meter] == [0, 1, 1]


def test_a_commit_that_no_engine_survives_is_raised(fleet_of, places, updates):
    """With the error of the last engines."""
    here = places(2)
    for place in here:
        place.commit_failures = iter(lambda: EngineLost("out of memory"), None)
    with pytest.raises(EngineLost, match="out of memory"):
        fleet_of(here).commit(updates[0])


@pytest.mark.parametrize("count", [2, 3, 5])
def test_a_disagreement_ends_the_run_in_one_line(count, fleet_of, places, updates):
    """The line names who says what, and the way out."""
    here = places(count)
    here[1].forgets = iter([False, True])
    fleet = fleet_of(here)
    fleet.commit(updates[0])
    with pytest.raises(EngineDisagreement) as caught:
        fleet.commit(updates[1])
    assert isinstance(caught.value, ModelError)
    message = str(caught.value)
    assert "\n" not in message
    assert f"{reached(updates[:2]):016x} on {', '.join(str(n) for n in range(count) if n != 1)}" in message
    assert f"{reached(updates[:1]):016x} on 1" in message
    assert "--heal" in message


@pytest.mark.parametrize("count", [2, 3, 5])
def test_an_engine_that_forgets_is_healed(count, fleet_of, places, asked, updates):
    """It replays what was committed and agrees; of two, where neither is known to be right, both do."""
    here, alone = places(count), places(1)[0].open()
    here[1].forgets = iter([False, True])
    fleet = fleet_of(here, heals=True)
    for update in updates:
        assert fleet.commit(update) == alone.commit(update)
        assert answers(fleet, asked(20)) == answers(alone, asked(20))
    assert [seat.restarts for seat in fleet.meter] == ([1, 1] if count == 2 else [0, 1, *[0] * (count - 2)])


def test_an_engine_that_cannot_be_healed_is_left_out(fleet_of, places, asked, updates):
    """One that arrives at other weights however often it replays is given up; the others go on."""
    here = places(3)
    here[2].forgets = iter(lambda: True, None)
    fleet = fleet_of(here, heals=True)
    assert fleet.commit(updates[0]) == reached(updates[:1])
    assert [seat.is_out for seat in fleet.meter] == [False, False, True]
    assert len(answers(fleet, asked(12))) == 12


def test_engines_with_different_models_are_refused_before_they_are_asked(asked):
    """They disagree before the first update."""
    other = ScriptedEngine(["x"])
    other.commit(Update(1, 0, (0,), (1.0,)))
    fleet = FleetEngine([lambda: ScriptedEngine(["x"]), lambda: other])
    with fleet, pytest.raises(EngineDisagreement, match="after 0 updates"):
        list(fleet.generate(asked(3)))


def test_weights_that_change_by_themselves_are_noticed(fleet_of, places, updates):
    """A fingerprint that moves without an update is an error, also where all engines have it; or it is healed."""
    for heals in (False, True):
        here = places(2)
        fleet = fleet_of(here, heals=heals)
        fleet.commit(updates[0])
        for place in here:
            place.opened[-1].commit(updates[2])
        if heals:
            assert fleet.fingerprint() == reached(updates[:1])
        else:
            with pytest.raises(EngineDisagreement, match=f"expected {reached(updates[:1]):016x}"):
                fleet.fingerprint()


def test_an_engine_opened_anew_must_arrive_where_the_others_are(fleet_of, places, asked, updates, until):
    """In the middle of a call as well: the call ends with it, or it is opened once more."""
    for heals in (False, True):
        here = places(2)
        here[0].failures = iter([(0, EngineLost("gone"))])
        here[0].forgets = iter([False, True])
        fleet = fleet_of(here, heals=heals)
        fleet.commit(updates[0])
        if heals:
            here[1].before = lambda request, place=here[0]: until(place.closed.is_set)
            assert len(answers(fleet, asked(20))) == 20
            assert fleet.fingerprint() == reached(updates[:1])
            assert fleet.meter[0].restarts == 2
        else:
            here[1].before = lambda request, fleet=fleet: until(lambda: fleet._call.is_over)
            with pytest.raises(EngineDisagreement, match="engine 0, opened anew"):
                list(fleet.generate(asked(20)))


def test_an_export_is_written_by_whoever_can(fleet_of, places, updates, tmp_path):
    """The first that can writes; if none can, the error is raised."""
    here = places(2)
    here[0].cannot_write = ModelError("disk full")
    fleet = fleet_of(here)
    fleet.commit(updates[0])
    fleet.export(tmp_path / "out")
    assert f"{fleet.fingerprint()}" in (tmp_path / "out" / "scripted.json").read_text()
    here[1].cannot_write = ModelError("disk full")
    with pytest.raises(ModelError, match="disk full"):
        fleet.export(tmp_path / "more")


def test_a_fleet_of_none_is_refused():
    """At least one engine has to answer, and at least one model at a time."""
    with pytest.raises(ValueError, match="expected an engine"):
        FleetEngine([])
    with pytest.raises(ValueError, match="expected an engine"):
        FleetEngine([lambda: ScriptedEngine(["x"])], slots=0)


def test_low_rank_members_share_jobs_with_the_base(fleet_of, places):
    """They are served in one batch, so a few requests are one job for each engine."""
    here = places(2)
    members = [None, *(Member(7, 0, n, 1, 0.1, rank=1) for n in range(3))]
    requests = [Request(f"r{n}", "x", n, members[n % 4]) for n in range(8)]
    fleet = fleet_of(here)
    assert len(answers(fleet, requests)) == 8
    assert sum(seat.jobs for seat in fleet.meter) == 2

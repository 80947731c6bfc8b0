"""Engines that actors hold, without a cluster: the messages and what is made of them."""

import json
import threading
import time
from itertools import count

import pytest

from coevo.cluster.actor import ActorSpec
from coevo.cluster.faults import ActorLost, NoRoom, pack_error, raise_packed
from coevo.cluster.roster import Roster
from coevo.engines.fleet.engine import FleetEngine
from coevo.engines.fleet.faults import EngineLost
from coevo.engines.fleet.remote import RemoteEngine, RemoteFleet
from coevo.engines.fleet.servant import CHUNK, EngineServant
from coevo.engines.scripted import ScriptedEngine
from coevo.errors import ConfigError, ModelError, RunError
from coevo.interfaces import Engine, Member, Partition, Request, Sampling, Update

SPEC = ActorSpec("an engine", "nowhere:nothing")
UPDATE = Update(2**64 - 1, 3, (0, 1), (0.1, -0.25), Partition(2, "tile"), (0, 1), 1, 2**63)


class Near:
    """Stands for a cluster: its actors are here, and what travels goes through JSON all the same."""

    def __init__(self, open_engine, identity=None):
        self._open_engine = open_engine
        self._identity = identity or {"model": "same"}
        self._numbers = count()
        self.actors = []
        self.is_over = False

    def actor(self, spec):
        """Another actor."""
        self.actors.append(NearActor(EngineServant(self._open_engine, lambda: self._identity), next(self._numbers)))
        return self.actors[-1]


class NearActor:
    """An actor in this process; `dies_at` is the number of messages after which it is gone."""

    def __init__(self, servant, number):
        self._servant = servant
        self._asked = count()
        self.host = f"host {number}"
        self.dies_at = None
        self.is_closed = False

    def open(self):
        """Nothing to wait for."""

    def ask(self, header, payload=b"", *, names_host=False):
        """As `coevo.cluster.connection.Actor.ask`."""
        if self.is_closed or next(self._asked) == self.dies_at:
            raise ActorLost("its node is gone")
        try:
            answer, content = self._servant.answer(json.loads(json.dumps(header)), payload)
        except Exception as error:
            answer, content = pack_error(error), b""
        answer = json.loads(json.dumps(answer))
        raise_packed(answer, f"on {self.host}: " if names_host else "")
        return answer, content

    def begin_close(self):
        """Ends it."""
        if not self.is_closed:
            self._servant.answer({"do": "close"}, b"")
        self.is_closed = True

    def close(self):
        """Ends it."""
        self.begin_close()


def remote(open_engine=lambda: ScriptedEngine(["one", "two", "three"])):
    """An engine behind an actor."""
    return RemoteEngine(Near(open_engine).actor(SPEC), Roster("an engine", {}))


def test_it_answers_commits_and_exports_as_the_engine_does(asked, tmp_path):
    """Every field of a request and of an update arrives, also those of 64 bits."""
    seen = []
    far, near = (
        remote(lambda: ScriptedEngine(lambda request: seen.append(request) or request.text)),
        ScriptedEngine(lambda request: request.text),
    )
    assert isinstance(far, Engine)
    odd = Member(2**64 - 1, 5, 1, -1, 0.1, Partition(3), 2, 4, 2**63 + 1)
    requests = [*asked(7), Request("odd", "ü\n", 2**64 - 1, odd, Sampling(0.3, stop=("a", "b")))]
    assert list(far.generate(requests)) == list(near.generate(requests))
    assert seen == requests
    assert far.commit(UPDATE) == near.commit(UPDATE) == far.fingerprint()
    far.export(tmp_path / "far")
    near.export(tmp_path / "near")
    assert [(f.name, f.read_bytes()) for f in (tmp_path / "far").iterdir()] == [
        (f.name, f.read_bytes()) for f in (tmp_path / "near").iterdir()
    ]
    far.close()
    far.close()


def test_large_files_are_fetched_in_pieces(tmp_path):
    """Byte for byte, in folders as well."""
    content = bytes(range(251)) * (2 * CHUNK // 251 + 1)

    class Writing(ScriptedEngine):
        def export(self, folder):
            (folder / "deep").mkdir()
            (folder / "deep" / "weights").write_bytes(content)
            (folder / "empty").write_bytes(b"")

    remote(lambda: Writing(["x"])).export(tmp_path / "out")
    assert (tmp_path / "out" / "deep" / "weights").read_bytes() == content
    assert (tmp_path / "out" / "empty").read_bytes() == b""


def test_an_abandoned_call_stops_at_its_next_answer(asked):
    """And the next one is answered whole."""
    asked_for, go_on = [], threading.Event()

    def script(request):
        asked_for.append(request.id)
        if len(asked_for) == 2:
            go_on.wait(60)
        return "yes"

    engine = remote(lambda: ScriptedEngine(script))
    dropped = engine.generate(asked(50))
    next(dropped)
    dropped.close()
    threading.Timer(0.1, go_on.set).start()
    assert len(list(engine.generate(asked(3)))) == 3
    assert len(asked_for) == 2 + 3


def test_what_came_before_an_error_is_given(asked):
    """Then the error is raised, as what it was and without the place: the same one elsewhere has to look the same."""

    def script(request):
        if request.id == "r3":
            raise ModelError("too long")
        return "yes"

    found, engine = [], remote(lambda: ScriptedEngine(script))
    with pytest.raises(ModelError, match=r"^too long$") as caught:
        found.extend(engine.generate(asked(5)))
    assert not isinstance(caught.value, EngineLost)
    assert [completion.request_id for completion in found] == ["r0", "r1", "r2"]


def test_an_error_of_opening_names_the_place():
    """A model that is not on that node; its actor is closed."""

    def fail():
        raise ModelError("no such model")

    near = Near(fail)
    with pytest.raises(ModelError, match="on host 0: no such model"):
        RemoteEngine(near.actor(SPEC), Roster("an engine", {}))
    assert near.actors[0].is_closed


@pytest.mark.parametrize("dies_at", range(1, 9))
def test_a_fleet_survives_an_actor_that_dies_at_any_message(dies_at, asked):
    """Another one is opened and replays the updates; every request is answered once."""
    near = Near(lambda: ScriptedEngine(lambda request: f"{request.text}, {request.seed}"))
    requests, alone = asked(6, members=0), ScriptedEngine(lambda request: f"{request.text}, {request.seed}")

    def opened():
        engine = RemoteEngine(near.actor(SPEC), Roster("an engine", {}))
        if len(near.actors) == 1:
            near.actors[0].dies_at = dies_at
        return engine

    with FleetEngine([opened]) as fleet:
        for step in range(2):
            update = Update(7, step, (0,), (0.5,))
            assert {a.request_id: a.text for a in fleet.generate(requests)} == {
                a.request_id: a.text for a in alone.generate(requests)
            }
            assert fleet.commit(update) == alone.commit(update)
        assert fleet.fingerprint() == alone.fingerprint()
    assert all(actor.is_closed for actor in near.actors)


def test_engines_that_differ_are_refused():
    """One line, which names both places and both versions."""
    roster = Roster("an engine", {"model": "abc"})
    roster.admit({"model": "abc", "torch": "2.9"}, "east")
    roster.admit({"model": "abc", "torch": "2.9"}, "west")
    with pytest.raises(ModelError, match=r"torch 2\.9 on east and 2\.8 on south") as caught:
        roster.admit({"model": "abc", "torch": "2.8"}, "south")
    assert "\n" not in str(caught.value)
    with pytest.raises(ModelError, match="model abc on this machine and def on north"):
        roster.admit({"model": "def", "torch": "2.9"}, "north")


@pytest.mark.parametrize("error", [ConfigError("a"), ModelError("b"), NoRoom("c"), ActorLost("d"), EngineLost("e")])
def test_errors_cross_as_what_they_are(error):
    """With their message; a kind that is made of more than that crosses as the kind above it."""
    with pytest.raises(type(error).__mro__[1] if isinstance(error, EngineLost) else type(error), match=str(error)):
        raise_packed(json.loads(json.dumps(pack_error(error))))


@pytest.mark.parametrize("error", [ConnectionResetError("reset"), BrokenPipeError("pipe"), EOFError("end")])
def test_a_broken_pipe_crosses_as_an_engine_that_failed(error):
    """As on one machine, where such an engine is opened anew."""
    with pytest.raises(ModelError, match=type(error).__name__):
        raise_packed(pack_error(error))


def test_an_unknown_fault_is_one_line():
    """Whatever it says."""
    with pytest.raises(RuntimeError) as caught:
        raise_packed(pack_error(KeyError("a\nb\n" * 1000)))
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("name", ["/etc/passwd", "../outside", "deep/../../outside"])
def test_files_of_an_export_stay_in_its_folder(name, tmp_path):
    """Whatever a node calls them."""
    near = Near(lambda: ScriptedEngine(["x"]))
    engine = RemoteEngine(near.actor(SPEC), Roster("an engine", {}))
    near.actors[0].ask = lambda header, *_, **__: ({"files": [[name, 1]]}, b"x")
    with pytest.raises(ModelError, match="below the export's folder"):
        engine.export(tmp_path / "out")


def test_a_fleet_does_not_wait_for_an_engine_that_waits_for_room(asked):
    """It is closed under it."""
    near = Near(lambda: ScriptedEngine(lambda request: request.text))
    waits = threading.Event()

    def actor(spec):
        made = Near.actor(near, spec)
        if len(near.actors) > 1:  # the one in the place of the one that died
            made.open = lambda: waits.set() or until_closed(made)
        else:
            made.dies_at = 2
        return made

    def until_closed(made):
        for _ in range(6000):
            if made.is_closed:
                raise ActorLost("closed before it was opened")
            time.sleep(0.01)
        raise AssertionError("never closed")

    near.actor, near.close = actor, lambda: None
    fleet = RemoteFleet(near, SPEC, 1, here={}, slots=1, heals=False)
    caught = []

    def generate():
        try:
            list(fleet.generate(asked(3)))
        except BaseException as error:
            caught.append(error)

    thread = threading.Thread(target=generate)
    thread.start()
    assert waits.wait(60)
    fleet.close()
    thread.join(60)
    assert not thread.is_alive()
    assert caught


def test_a_fault_of_ours_crosses_as_such():
    """It is no error of the user's."""
    with pytest.raises(RuntimeError, match="KeyError: 'x'"):
        raise_packed(pack_error(KeyError("x")))
    raise_packed({"fine": 1})


def test_without_its_cluster_a_fleet_opens_no_engine(asked, caplog):
    """The connection ends under a call: that is the error, after an attempt of one engine or of each."""
    near = Near(lambda: ScriptedEngine(["one", "two", "three"]))
    near.close = lambda: None
    fleet = RemoteFleet(near, SPEC, 2, here={}, slots=1, heals=False)
    try:
        assert len(list(fleet.generate(asked(3)))) == 3
        near.is_over = True
        for actor in near.actors:
            actor.is_closed = True
        with pytest.raises(RunError, match="then resume the run"):
            list(fleet.generate(asked(3)))
    finally:
        fleet.close()
    assert len(near.actors) == 2
    assert 1 <= caplog.text.count("opened anew") <= 2

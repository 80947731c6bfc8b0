"""Episodes at play: limits, faults, what the engine is asked, and that nobody waits for another's tool."""

import threading
import time

import pytest

from coevo.errors import EnvironmentFault, RunError
from coevo.interfaces import Completion, Message, Step, Task
from coevo.tuning.episodes import Assignment
from coevo.tuning.playing import Rollouts
from coevo.tuning.prompting import Prompter


class Echo:
    """An engine that answers with a rising number, `tokens` tokens long, or with what `script` says."""

    def __init__(self, tokens=2, script=None):
        self.waves = []
        self._tokens, self._script = tokens, script

    def generate(self, requests):
        """Answer in reverse order, which no caller may mind."""
        self.waves.append(requests)
        for request in reversed(requests):
            yield self._script(request) if self._script else Completion(request.id, "go", "stop", self._tokens)


class Room:
    """An environment that runs functions: `on_step` says what each step answers."""

    def __init__(self, on_step, on_reset=lambda task: [Message("user", task.name)]):
        self._on_step, self._on_reset = on_step, on_reset
        self.closed = 0

    def reset(self, task, seed):
        """Begin."""
        self.task, self.turn = task, 0
        return self._on_reset(task)

    def step(self, text):
        """Answer."""
        self.turn += 1
        return self._on_step(self, text)

    def close(self):
        """Count."""
        self.closed += 1


def assignments(count):
    """As many tasks: t0, t1 and so on."""
    return [Assignment(f"a{n}", Task(f"t{n}", {}), n, n, is_kept=True) for n in range(count)]


@pytest.fixture
def play(rules):
    """Plays assignments in rooms; yields the episodes by id, the rooms that were opened and the rollouts."""
    opened = []

    def run(engine, make_room, count=1, **limits):
        def make():
            opened.append(make_room())
            return opened[-1]

        rollouts = Rollouts(engine, make, rules(**limits), Prompter("chat"))
        opened.append(rollouts)
        found = {episode.id: episode for episode in rollouts.play(assignments(count))}
        rooms = [room for room in opened if isinstance(room, Room)]
        return found, rooms

    yield run
    for thing in opened:
        if isinstance(thing, Rollouts):
            thing.close()


def wait_until(holds):
    """For what threads do in their own time."""
    end = time.monotonic() + 60
    while not holds():
        assert time.monotonic() < end, "waited a minute in vain"
        time.sleep(0.01)


def done(reward=1.0):
    """The end of an episode."""
    return Step(reward=reward, done=True)


def again(reward=0.0):
    """A turn in the middle."""
    return Step((Message("user", "more"),), reward)


def test_rewards_of_all_turns_add_up(play):
    """The score is their sum, turns and tokens are counted, and the conversation is kept."""
    steps = {1: again(0.25), 2: again(0.25), 3: done(0.5)}
    found, _ = play(Echo(tokens=3), lambda: Room(lambda room, _: steps[room.turn]))
    episode = found["a0"]
    assert (episode.score, episode.turns, episode.tokens, episode.ended) == (1.0, 3, 9, "done")
    assert [turn.heard for turn in episode.transcript] == ["more", "more", ""]
    assert episode.opening == "t0"


def test_a_conversation_grows_or_is_renewed(play):
    """Growing, the engine sees every message so far; renewed, only the last ones."""
    for renews, expected in ((False, 5), (True, 1)):
        engine = Echo()
        play(engine, lambda: Room(lambda room, _: done() if room.turn == 3 else again()), renews=renews)
        assert len(engine.waves[-1][0].messages) == expected


@pytest.mark.parametrize(
    ("limits", "ended", "turns", "tokens"),
    [
        ({"turns": 4}, "turns", 4, 8),
        ({"turns": 9, "total_tokens": 5}, "tokens", 3, 6),
        ({"turns": 9, "total_tokens": 6}, "tokens", 3, 6),
    ],
)
def test_limits_cut_an_episode_and_keep_its_score(limits, ended, turns, tokens, play):
    """What was earned so far counts."""
    found, _ = play(Echo(), lambda: Room(lambda room, _: again(0.1)), **limits)
    episode = found["a0"]
    assert (episode.ended, episode.turns, episode.tokens) == (ended, turns, tokens)
    assert episode.score == pytest.approx(0.1 * turns)


def test_the_last_answer_is_asked_no_longer_than_what_is_left(play):
    """Of 7 tokens in all, at 2 a turn, the fourth answer may have one."""
    engine = Echo()
    play(engine, lambda: Room(lambda room, _: again()), turns=4, total_tokens=7, turn_tokens=8)
    assert [wave[0].sampling.max_tokens for wave in engine.waves] == [7, 5, 3, 1]


def test_a_conversation_beyond_the_context_ends_its_episode(play):
    """An answer that was cut before its first token is none; the environment does not hear of it."""
    found, _ = play(Echo(script=lambda r: Completion(r.id, "", "length", 0)), lambda: Room(lambda room, _: done()))
    assert (found["a0"].ended, found["a0"].turns, found["a0"].score) == ("context", 0, 0.0)


def test_an_environment_is_used_again_after_an_episode(play):
    """No more are opened than may be open at a time."""
    found, rooms = play(Echo(), lambda: Room(lambda room, _: done()), count=12, at_once=3)
    assert len(found) == 12
    assert len(rooms) <= 3


@pytest.mark.parametrize("error", [EnvironmentFault("gone"), KeyError("bug"), OSError("disk")])
def test_a_fault_is_tried_again_and_then_given_up(error, play):
    """Whatever an environment raises says nothing of the agent; the broken one is closed and not used again."""

    def fail(room, _):
        raise error

    found, rooms = play(Echo(), lambda: Room(fail), retries=2)
    assert (found["a0"].score, found["a0"].ended) == (None, "fault")
    assert type(error).__name__ in found["a0"].detail
    assert [room.closed for room in rooms] == [1, 1, 1]


def test_a_fault_that_passes_leaves_no_trace(play):
    """The second attempt has the seeds of the first, and its score counts."""
    failures = iter([True, False])
    engine = Echo()

    def step(room, _):
        if next(failures, False):
            raise EnvironmentFault("once")
        return done(0.75)

    found, _ = play(engine, lambda: Room(step), retries=1)
    assert (found["a0"].score, found["a0"].ended, found["a0"].turns) == (0.75, "done", 1)
    assert len({wave[0].seed for wave in engine.waves}) == 1


def test_a_tool_that_hangs_ends_one_episode_only(play):
    """It is a fault after its time; the others have been played meanwhile."""
    release = threading.Event()

    def step(room, _):
        if room.task.name == "t1":
            release.wait(30)
        return done()

    found, _ = play(Echo(), lambda: Room(step), count=4, step_s=5.0)
    release.set()
    assert {name: episode.ended for name, episode in found.items()} == {
        "a0": "done", "a1": "fault", "a2": "done", "a3": "done",
    }  # fmt: skip
    assert "5 s" in found["a1"].detail


def test_the_engine_answers_others_while_one_waits(play):
    """An episode with a slow tool is overtaken by many turns of one with a quick tool."""
    gate = threading.Event()

    def step(room, _):
        if room.task.name == "t0":
            assert gate.wait(20)
            return done()
        if room.turn == 8:
            gate.set()
        return done() if room.turn == 9 else again()

    found, _ = play(Echo(), lambda: Room(step), count=2)
    assert (found["a0"].ended, found["a1"].turns) == ("done", 9)


def test_tools_sleep_side_by_side(play):
    """32 tools have to be at work at once before any of them comes back: nothing is played one by one."""
    gate = threading.Barrier(32)

    def step(room, _):
        if room.turn == 1:
            gate.wait(timeout=60)
        return done() if room.turn == 3 else again()

    found, _ = play(Echo(), lambda: Room(step), count=32, at_once=32, step_s=90.0)
    assert [episode.ended for episode in found.values()] == ["done"] * 32


def test_closing_in_the_middle_closes_every_environment(rules):
    """A run that is interrupted leaves no browser behind."""
    rooms = []

    def make():
        rooms.append(Room(lambda room, _: again()))
        return rooms[-1]

    def stop(request):
        raise KeyboardInterrupt

    rollouts = Rollouts(Echo(script=stop), make, rules(), Prompter("plain"))
    with pytest.raises(KeyboardInterrupt):
        list(rollouts.play(assignments(3)))
    rollouts.close()
    rollouts.close()
    assert rooms
    wait_until(lambda: all(room.closed for room in rooms))


def test_what_the_prompter_refuses_leaves_no_environment_behind(rules):
    """It is a fault of every attempt alike, so there is one; what was opened for it is closed."""
    rooms = []

    def make():
        rooms.append(Room(lambda room, _: again()))
        return rooms[-1]

    class Refusing(Prompter):
        def prompt(self, messages):
            raise ValueError("no board in it")

    rollouts = Rollouts(Echo(), make, rules(), Refusing("chat"))
    found = list(rollouts.play(assignments(3)))
    rollouts.close()
    assert [episode.ended for episode in found] == ["fault"] * 3
    assert "no board" in found[0].detail
    assert [room.closed for room in rooms] == [1] * 3


def test_tokens_of_an_attempt_that_was_given_up_are_counted_apart(play):
    """Two answers of two tokens before the surroundings fail, then an episode of one answer."""
    failures = [EnvironmentFault("gone")]

    def step(room, _):
        if room.turn == 2 and failures:
            raise failures.pop()
        return done() if not failures else again()

    found, _ = play(Echo(tokens=2), lambda: Room(step), retries=1)
    assert (found["a0"].tokens, found["a0"].lost) == (2, 4)
    assert found["a0"].facts()["lost"] == 4


@pytest.mark.parametrize(
    ("said", "match"),
    [
        (None, "expected a coevo.interfaces.Step"),
        (Step(reward=float("nan"), done=True), "finite number"),
        (Step(reward="1", done=True), "finite number"),
        (Step(done=True, info={"found": {1}}), "plain JSON"),
        (Step(("more",)), "expected a coevo.interfaces.Message"),
        (Step(()), "expected messages"),
    ],
)
def test_a_broken_contract_is_said_and_not_scored(play, said, match):
    """Whatever `step` returns that it must not is one line with the task and the turn."""
    with pytest.raises(RunError, match=f"task t0, turn 2: .*{match}"):
        play(Echo(), lambda: Room(lambda room, _: again() if room.turn == 1 else said))


def test_a_broken_opening_is_said(play):
    """Likewise what `reset` returns."""
    with pytest.raises(RunError, match="task t0, reset: expected messages"):
        play(Echo(), lambda: Room(lambda room, _: done(), on_reset=lambda task: "go"))


def test_environments_that_hang_or_exit_at_the_end_do_not_hold_a_run(rules, monkeypatch):
    """One that will not close is left behind, one that would end the process does not."""
    monkeypatch.setattr("coevo.tuning.playing.CLOSING_S", 0.5)
    release = threading.Event()

    class Stubborn(Room):
        def close(self):
            self.closed += 1
            if self.task.name == "t0":
                release.wait(60)
            raise SystemExit(7)

    rooms = []

    def make():
        rooms.append(Stubborn(lambda room, _: done()))
        return rooms[-1]

    rollouts = Rollouts(Echo(), make, rules(), Prompter("chat"))
    assert len(list(rollouts.play(assignments(2)))) == 2
    rollouts.close()
    release.set()
    assert [room.closed for room in rooms] == [1] * len(rooms)


def test_rewards_whose_sum_is_no_number_are_said(play):
    """Each is finite, and their sum is not."""
    with pytest.raises(RunError, match="finite score of task t0"):
        play(Echo(), lambda: Room(lambda room, _: again(1e308)))


@pytest.mark.parametrize("info", [None, [1, 2], "text"])
def test_info_is_a_mapping(play, info):
    """Anything else has no place in a trace."""
    with pytest.raises(RunError, match="expected a dict as info"):
        play(Echo(), lambda: Room(lambda room, _: Step(done=True, info=info)))

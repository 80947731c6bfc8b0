"""Calls in threads: answered together, in time, and never waited for beyond it."""

import threading
import time

from coevo.tuning.hands import Hands, answer_in_time


def test_calls_run_at_the_same_time():
    """As many as there are hands: all of them have to have begun before any can end."""
    hands, gate = Hands(5, 30.0), threading.Barrier(5)
    tickets = {hands.call(lambda: gate.wait(timeout=20) >= 0) for _ in range(5)}
    answers = list(hands.answers(wait_s=None, grace_s=20.0))
    assert {answer.ticket for answer in answers} == tickets
    assert all(answer.value is True and answer.error is None for answer in answers)
    assert hands.in_flight == 0
    hands.close()


def test_what_a_call_raises_is_its_answer():
    """Even what is no ordinary exception."""
    hands = Hands(1, 30.0)

    def fail():
        raise SystemExit("no")

    hands.call(fail)
    [answer] = hands.answers(wait_s=None)
    assert isinstance(answer.error, SystemExit)
    hands.close()


def test_a_call_that_hangs_is_given_up_and_another_hand_takes_over():
    """Its answer is a TimeoutError; what it says later is not heard."""
    hands, release, said = Hands(1, 2.0), threading.Event(), threading.Event()

    def hang():
        release.wait(60)
        said.set()

    late = hands.call(hang)
    [answer] = hands.answers(wait_s=None)
    assert (answer.ticket, type(answer.error)) == (late, TimeoutError)
    quick = hands.call(lambda: "here")
    [answer] = hands.answers(wait_s=None)
    assert (answer.ticket, answer.value) == (quick, "here")
    release.set()
    assert said.wait(60)
    assert list(hands.answers(wait_s=0.2)) == []
    hands.close()


def test_waiting_ends_when_it_should():
    """Nothing is there yet: no answer, and the call is still in flight."""
    hands, release = Hands(1, 30.0), threading.Event()
    hands.call(lambda: release.wait(20))
    assert list(hands.answers(wait_s=0.05)) == []
    assert hands.in_flight == 1
    release.set()
    assert [answer.value for answer in hands.answers(wait_s=None)] == [True]
    hands.close()


def test_closed_hands_end():
    """No thread of theirs is left."""
    hands = Hands(3, 30.0)
    for _ in range(3):
        hands.call(lambda: None)
    list(hands.answers(wait_s=None, grace_s=5.0))
    hands.close()
    hands.close()
    deadline = time.monotonic() + 10
    while any(t.name.startswith("coevo-hand") for t in threading.enumerate()) and time.monotonic() < deadline:
        time.sleep(0.01)
    assert not [thread for thread in threading.enumerate() if thread.name.startswith("coevo-hand")]


def test_a_single_call_is_answered_in_time_or_not():
    """Its value, what it raised, or that it took too long."""
    assert answer_in_time(lambda: 7, 60.0).value == 7
    assert isinstance(answer_in_time(lambda: {}["x"], 60.0).error, KeyError)
    release = threading.Event()
    assert isinstance(answer_in_time(lambda: release.wait(60), 0.1).error, TimeoutError)
    release.set()

"""Waiting with a word, without a cluster."""

import threading
from concurrent.futures import Future

from coevo.cluster.patience import Once, answers, awaited


def test_a_reminder_never_holds_up_the_answer():
    """What comes while the reminder's own question is open ends the wait for both."""
    future, question, asked = Future(), Future(), threading.Event()
    said = []

    def remind(waiting):
        asked.set()
        said.append(answers(question, waiting, 60.0))

    threading.Thread(target=lambda: (asked.wait(60), future.set_result("done"))).start()
    assert awaited(future, 0.01, remind) == "done"
    assert said == [None]


def test_a_question_is_answered_in_time_or_not():
    """Whether it is, where what it is about has not come."""
    answered, silent = Future(), Future()
    answered.set_result("here")
    assert answers(answered, Future(), 60.0) is True
    assert answers(silent, Future(), 0.01) is False


def test_each_thing_is_said_once(caplog):
    """With the figures of the first time; another thing is said, too."""
    once = Once()
    for about, line in (("room", "3 of 4 free"), ("room", "2 of 4 free"), ("silence", "nobody answers")):
        once.warn(about, line)
    assert [record.message for record in caplog.records] == ["3 of 4 free", "nobody answers"]

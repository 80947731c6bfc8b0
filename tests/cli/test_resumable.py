"""A job that is stopped says how to go on with it, whether by an interrupt or by SIGTERM."""

import os
import signal
import threading
from pathlib import Path

import pytest
import typer

from coevo.cli.resumable import resumable
from coevo.records.event_log import Follower


def stopped_by(number):
    """A job that gets a signal and closes its run, as every job does."""
    with resumable():
        try:
            os.kill(os.getpid(), number)
            threading.Event().wait(60)
        except KeyboardInterrupt:
            raise KeyboardInterrupt("runs/tsp") from None


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_both_signals_end_a_job_alike(number, capsys):
    """With exit code 130 and the command that goes on; afterwards signals do what they did."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler), signal.getsignal(signal.SIGTERM)
    try:
        with pytest.raises(typer.Exit) as left:
            stopped_by(number)
        assert left.value.exit_code == 130
        assert capsys.readouterr().err == "coevo: interrupted; go on with: coevo resume runs/tsp\n"
        assert signal.getsignal(signal.SIGTERM) == before[1]
    finally:
        signal.signal(signal.SIGINT, before[0])


def test_a_job_in_another_thread_leaves_signals_alone():
    """They are the main thread's to handle."""
    seen = []

    def job():
        with resumable():
            seen.append(signal.getsignal(signal.SIGTERM))

    before = signal.getsignal(signal.SIGTERM)
    thread = threading.Thread(target=job)
    thread.start()
    thread.join(60)
    assert seen == [before]


@pytest.fixture
def interruptible():
    """Interrupts raise in this thread, whatever the test's surroundings do with them."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


def test_a_second_interrupt_while_a_run_is_closed_is_told_the_same(interruptible, capsys):
    """What closes the run is cut short and its message is lost; the line is said all the same."""

    def job():
        with resumable() as whereabouts:
            whereabouts.told_by(lambda event: None).begin(Path("runs/my tsp/events.jsonl"), ())
            try:
                os.kill(os.getpid(), signal.SIGINT)
                threading.Event().wait(60)
            finally:
                os.kill(os.getpid(), signal.SIGINT)
                threading.Event().wait(60)

    with pytest.raises(typer.Exit) as left:
        job()
    assert left.value.exit_code == 130
    assert capsys.readouterr().err == "coevo: interrupted; go on with: coevo resume 'runs/my tsp'\n"


def test_an_interrupt_while_the_line_is_said_does_not_cut_it(interruptible, monkeypatch):
    """The line is whole; then signals do what they did."""
    said = []

    def echo(text, err):
        os.kill(os.getpid(), signal.SIGINT)
        said.append(text)

    monkeypatch.setattr("coevo.cli.resumable.typer.echo", echo)
    with pytest.raises(typer.Exit), resumable():
        raise KeyboardInterrupt("runs/tsp")
    assert said == ["coevo: interrupted; go on with: coevo resume runs/tsp"]
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler


def test_nothing_is_to_be_gone_on_with_before_the_log_is_open(interruptible, capsys):
    """No run, no line."""
    with pytest.raises(typer.Exit), resumable():
        raise KeyboardInterrupt
    assert capsys.readouterr().err == ""


def test_events_reach_the_listener():
    """The listener that learns where the run is passes on what it is told."""
    seen = []
    with resumable() as whereabouts:
        listener = whereabouts.told_by(seen.append)
        assert isinstance(listener, Follower)
        listener({"kind": "started"})
        listener.end()
    assert seen == [{"kind": "started"}]

"""A job that is stopped says how to go on with it, whether by an interrupt or by SIGTERM."""

import os
import signal
import threading

import pytest
import typer

from coevo.cli.resumable import resumable


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

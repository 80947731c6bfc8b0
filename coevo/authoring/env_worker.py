"""The process in which an environment's own code is checked: it answers the name of a check with its finding.

    python -m coevo.authoring.env_worker FOLDER OPTIONS

OPTIONS is a JSON object with every option. Speaks frames (`coevo.sandbox.wire`) on standard input and output:
{"check": name} -> {"status", "text"}. Each check runs in a thread, as rollouts call environments from threads: what
works in the main thread alone, such as signals, fails here as it would there.
"""

import faulthandler
import json
import os
import sys
import threading
import warnings
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import asdict
from pathlib import Path

from coevo.authoring import env_checks_episodes, env_checks_repeating, env_checks_tasks
from coevo.authoring.env_playing import where
from coevo.authoring.env_subject import EnvironmentSubject
from coevo.authoring.findings import Check, Finding, failed
from coevo.environments.contract import BrokenContractError
from coevo.environments.loading import read_environment
from coevo.errors import CoevoError
from coevo.evaluation.verdict import printable_line
from coevo.sandbox.confine import die_with_parent
from coevo.sandbox.wire import Channel, ChannelClosedError

CHECKS: tuple[Check[EnvironmentSubject], ...] = (
    *env_checks_tasks.CHECKS,
    *env_checks_episodes.CHECKS,
    *env_checks_repeating.CHECKS,
)
"""The checks that run the environment's code, in order."""
GRACE_S = 5.0
"""On top of what a call may take, before the process is ended: a call that comes back late is told better."""


def run(check: Check[EnvironmentSubject], subject: EnvironmentSubject) -> Finding:
    """The check's finding; an exception of the environment's is a failure on one line."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            found = check.run(subject)
    except (CoevoError, BrokenContractError) as error:
        found = failed(str(error))
    except (Exception, SystemExit) as error:
        found = failed(f"{type(error).__name__}: {error}{where(error, subject.folder.path)}")
    return Finding(found.status, printable_line(found.text))


class Watchdog:
    """Ends this process when a call does not come back, even one that never lets another thread run.

    What was called goes to standard error first, as the process's last words.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._num_calls = 0
        self._nothing = os.open(os.devnull, os.O_WRONLY)

    @contextmanager
    def __call__(self, what: str, limit_s: float) -> Iterator[None]:
        """Guard one call, from any thread; while there are several, the last to begin sets the time."""
        os.write(2, f"{printable_line(what)}: did not come back within {limit_s:g} s\n".encode())
        with self._lock:
            self._num_calls += 1
            faulthandler.dump_traceback_later(limit_s + GRACE_S, exit=True, file=self._nothing)
        try:
            yield
        finally:
            with self._lock:
                self._num_calls -= 1
                if not self._num_calls:
                    faulthandler.cancel_dump_traceback_later()


def main() -> None:
    """Answer until the input ends."""
    die_with_parent()
    # The protocol moves to descriptors of its own, so that a stray print of an environment cannot garble it.
    channel = Channel(os.dup(0), os.dup(1))
    os.dup2(2, 1)
    subject = EnvironmentSubject(read_environment(Path(sys.argv[1])), json.loads(sys.argv[2]), Watchdog())
    checks = {check.name: check for check in CHECKS}
    with ThreadPoolExecutor(1) as thread:
        try:
            while True:
                request, _ = channel.receive()
                channel.send(asdict(thread.submit(run, checks[request["check"]], subject).result()))
        except ChannelClosedError:
            pass


if __name__ == "__main__":
    main()

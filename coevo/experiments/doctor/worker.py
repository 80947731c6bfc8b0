"""The process in which checks are run: it answers the name of a check with its finding.

    python -m coevo.experiments.doctor.worker WISH

Speaks frames (`coevo.sandbox.wire`) on standard input and output: {"check": name} -> a finding. WISH is JSON. Whatever
a check raises is a finding, and who asks has a deadline.
"""

import os
import signal
import sys
import warnings
from collections.abc import Mapping
from dataclasses import asdict

from coevo.engines.endpoint.address import KEY_VARIABLES
from coevo.errors import CoevoError, one_line
from coevo.evaluation.verdict import printable_line
from coevo.experiments.doctor.asked import Wish, resolve
from coevo.experiments.doctor.checks import CHECKS, Check
from coevo.experiments.doctor.finding import Finding, failed, refused
from coevo.experiments.doctor.subject import Subject
from coevo.sandbox.confine import die_with_parent
from coevo.sandbox.wire import Channel, ChannelClosedError

_REPORT = "this is a fault of the check or of what it looked at; report it if it stays"


def run(check: Check, subject: Subject, environ: Mapping[str, str] = os.environ) -> Finding:
    """A check's finding; an exception is a failure on one line. No line holds a key from the environment."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            found = check.run(subject)
    except CoevoError as error:
        found = refused(check.name, error, "see what it names")
    except (Exception, SystemExit) as error:
        found = failed(check.name, f"the check broke: {type(error).__name__}: {error}", _REPORT)
    return Finding(check.name, found.state, _plain(found.found, environ), _plain(found.advice, environ))


def _plain(text: str, environ: Mapping[str, str]) -> str:
    for variable in KEY_VARIABLES:
        if key := environ.get(variable, "").strip():
            text = text.replace(key, f"[{variable}]")
    return printable_line(one_line(text))


def main() -> None:
    """Answer until the input ends."""
    die_with_parent()
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    # The protocol moves to descriptors of its own, so that a stray print cannot garble it.
    channel = Channel(os.dup(0), os.dup(1))
    os.dup2(2, 1)
    subject = Subject(resolve(Wish.model_validate_json(sys.argv[1])))
    checks = {check.name: check for check in CHECKS}
    try:
        while True:
            request, _ = channel.receive()
            channel.send(asdict(run(checks[request["check"]], subject)))
    except ChannelClosedError:
        pass
    finally:
        subject.close()


if __name__ == "__main__":
    main()

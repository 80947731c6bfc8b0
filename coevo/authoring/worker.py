"""The process in which a problem's own code is checked: it answers the name of a check with its finding.

    python -m coevo.authoring.worker FOLDER DEADLINE_S

Speaks frames (`coevo.sandbox.wire`) on standard input and output: {"check": name} -> {"status", "text"}. The code is
trusted, but it is being written: whatever it raises is a finding, and who asks has a deadline.
"""

import os
import resource
import sys
import warnings
from dataclasses import asdict
from pathlib import Path

import numpy as np

from coevo.authoring import checks_extras, checks_instances, checks_solutions
from coevo.authoring.findings import Check, Finding, failed
from coevo.authoring.subject import Subject
from coevo.content import read_problem
from coevo.errors import ContentError
from coevo.evaluation.verdict import printable_line
from coevo.sandbox.confine import die_with_parent
from coevo.sandbox.wire import Channel, ChannelClosedError

_MAX_BYTES = 8 << 30
"""Address space: code that makes instances without end meets it before the machine's memory is gone."""

CHECKS: tuple[Check[Subject], ...] = (
    *checks_instances.CHECKS,
    *checks_solutions.CHECKS,
    *checks_extras.CHECKS,
)
"""The checks that run the problem's code, in order."""


def run(check: Check[Subject], subject: Subject) -> Finding:
    """The check's finding; an exception of the problem's is a failure on one line."""
    try:
        with warnings.catch_warnings(), np.errstate(all="ignore"):
            warnings.simplefilter("ignore")
            found = check.run(subject)
    except ContentError as error:
        found = failed(str(error))
    except (Exception, SystemExit) as error:
        found = failed(f"{type(error).__name__}: {error}{_where(error, subject.folder.path)}")
    return Finding(found.status, printable_line(found.text))


def _where(error: BaseException, folder: Path) -> str:
    """The innermost line of the folder's own code that an exception came through."""
    place, frame = "", error.__traceback__
    while frame is not None:
        file = Path(frame.tb_frame.f_code.co_filename)
        if file.parent == folder:
            place = f" ({file.name}, line {frame.tb_lineno})"
        frame = frame.tb_next
    return place


def main() -> None:
    """Answer until the input ends."""
    die_with_parent()
    resource.setrlimit(resource.RLIMIT_AS, (_MAX_BYTES, _MAX_BYTES))
    # The protocol moves to descriptors of its own, so that a stray print of a problem cannot garble it.
    channel = Channel(os.dup(0), os.dup(1))
    os.dup2(2, 1)
    subject = Subject(read_problem(Path(sys.argv[1])), float(sys.argv[2]))
    checks = {check.name: check for check in CHECKS}
    try:
        while True:
            request, _ = channel.receive()
            channel.send(asdict(run(checks[request["check"]], subject)))
    except ChannelClosedError:
        pass


if __name__ == "__main__":
    main()

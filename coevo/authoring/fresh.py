"""A question to a problem in a process of its own, started with other settings: is the answer the same there?

python -m coevo.authoring.fresh FOLDER digest              one digest per split, as JSON
python -m coevo.authoring.fresh FOLDER solve SPLIT PLACE   objective and bytes of the first baseline's solution
"""

import json
import os
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

from coevo.authoring.subject import Subject, digest
from coevo.content import read_problem
from coevo.sandbox.confine import die_with_parent

ANOTHER_HASH_SEED = "7"


class NotFinishedError(Exception):
    """The process failed; the text says what it said last."""


class TooSlowError(NotFinishedError):
    """It was still at it when the time was over."""


def ask_fresh(folder: Path, *question: str, deadline_s: float, settings: Mapping[str, str] | None = None) -> str:
    """The answer of a fresh process with another hash seed and further environment variables.

    Raises:
        NotFinishedError: If it gives none, `TooSlowError` if not in time.
    """
    environment = {**os.environ, "PYTHONHASHSEED": ANOTHER_HASH_SEED, **(settings or {})}
    command = [sys.executable, "-P", "-m", "coevo.authoring.fresh", str(folder), *question]
    try:
        done = subprocess.run(
            command, stdin=subprocess.DEVNULL, capture_output=True, text=True, env=environment, timeout=deadline_s
        )
    except subprocess.TimeoutExpired:
        raise TooSlowError(f"no answer after {deadline_s:g} s") from None
    if done.returncode:
        raise NotFinishedError((done.stderr.strip().splitlines() or [f"exit code {done.returncode}"])[-1])
    return done.stdout


def solved(subject: Subject, split: str, place: int) -> str:
    """Objective and solution of the first baseline on one instance, exact to the bit, as JSON."""
    instance = subject.splits[split][place]
    solution = subject.solve(next(iter(subject.heuristics.values())), instance)
    value = float(subject.problem.objective(instance, solution))
    return json.dumps([value.hex(), solution.dtype.str, solution.shape, solution.tobytes().hex()])


def main() -> None:
    """Answer the question of the command line."""
    die_with_parent()
    answer_fd = os.dup(1)
    # What the problem prints must not get between.
    os.dup2(2, 1)
    subject = Subject(read_problem(Path(sys.argv[1])), deadline_s=0.0)
    if sys.argv[2] == "digest":
        answer = json.dumps({split: digest(given) for split, given in subject.splits.items()})
    else:
        answer = solved(subject, sys.argv[3], int(sys.argv[4]))
    with os.fdopen(answer_fd, "w") as out:
        out.write(answer)


if __name__ == "__main__":
    main()

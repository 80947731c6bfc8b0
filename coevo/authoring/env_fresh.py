"""The tasks and two episodes of an environment in a process of its own, with another hash seed: the same?

    python -m coevo.authoring.env_fresh FOLDER OPTIONS

Writes an `Answered` to standard output, as JSON.
"""

import hashlib
import json
import os
import subprocess
import sys
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from coevo.authoring.env_playing import Story, Told
from coevo.authoring.env_subject import EnvironmentSubject, content
from coevo.authoring.fresh import ANOTHER_HASH_SEED
from coevo.environments.contract import BrokenContractError
from coevo.environments.loading import read_environment
from coevo.sandbox.confine import die_with_parent

DEADLINE_S = 600.0
"""Wall time of that process."""


@dataclass(frozen=True)
class Answered:
    """SHA-256 of the tasks of each split, names and data, and the plays of `EnvironmentSubject.pair`."""

    tasks: dict[str, str]
    stories: list[Story]


def answered(subject: EnvironmentSubject) -> Answered:
    """What this process says."""
    texts = {split: [f"{task.name}\0{content(task)}" for task in found] for split, found in subject.splits.items()}
    digests = {split: hashlib.sha256("\0".join(lines).encode()).hexdigest() for split, lines in texts.items()}
    return Answered(digests, [subject.alone(play) for play in subject.pair])


def ask_fresh(subject: EnvironmentSubject) -> Answered:
    """What another process says.

    Raises:
        BrokenContractError: If it says nothing.
    """
    module = "coevo.authoring.env_fresh"
    command = [sys.executable, "-P", "-m", module, str(subject.folder.path), json.dumps(dict(subject.options))]
    environment = {**os.environ, "PYTHONHASHSEED": ANOTHER_HASH_SEED}
    try:
        done = subprocess.run(
            command, stdin=subprocess.DEVNULL, capture_output=True, text=True, env=environment, timeout=DEADLINE_S
        )
    except subprocess.TimeoutExpired:
        raise BrokenContractError(f"in another process: no answer after {DEADLINE_S:g} s") from None
    if done.returncode:
        last = (done.stderr.strip().splitlines() or [f"exit code {done.returncode}"])[-1]
        raise BrokenContractError(f"in another process: {last}")
    return _read(json.loads(done.stdout))


def _read(said: dict[str, Any]) -> Answered:
    stories = [tuple(_told(**told) for told in story) for story in said["stories"]]
    return Answered(said["tasks"], stories)


def _told(messages: list[tuple[str, str]], **rest: Any) -> Told:
    return Told(tuple((role, text) for role, text in messages), **rest)


def main() -> None:
    """Answer."""
    die_with_parent()
    answer_fd = os.dup(1)
    # What the environment prints must not get between.
    os.dup2(2, 1)
    said = answered(EnvironmentSubject(read_environment(Path(sys.argv[1])), json.loads(sys.argv[2])))
    with os.fdopen(answer_fd, "w") as out:
        json.dump(asdict(said), out)


if __name__ == "__main__":
    main()

"""A model of one weight and an environment that wants a number: every part of tuning around them is the real one."""

import hashlib
import struct
from pathlib import Path

import numpy as np

from coevo.interfaces import Completion, Message, Step, Task

ENVIRONMENT = """
schema_version = 1
name = "aim"
title = "Say a number near the target, {turns} times"
conversation = "grows"
at_best = 0.9
source = "tests"
licence = "CC0-1.0"
[splits]
train = "learn"
val = "choose"
test = "report"
[limits]
turns = 6
turn_tokens = 8
step_s = {step_s}
at_once = 16
[[options]]
name = "turns"
type = "integer"
default = 2
description = "answers of an episode"
[[options]]
name = "fault"
type = "text"
default = ""
description = "name of a task whose surroundings fail"
"""

CODE = """
import time

from coevo.errors import EnvironmentFault
from coevo.interfaces import Message, Step, Task


def tasks(split, *, turns, fault):
    return [Task(f"{split}-{n}", {"target": 1.0 + n / 10}) for n in range(6)]


def open(*, turns, fault):
    return Aim(turns, fault)


class Aim:
    def __init__(self, turns, fault):
        self._turns, self._fault, self._left = turns, fault, 0

    def reset(self, task, seed):
        if task.name == self._fault:
            raise EnvironmentFault("the range is closed")
        self._task, self._left, self._sum = task, self._turns, 0.0
        return [Message("system", "Say a number."), Message("user", f"task {task.name}")]

    def step(self, text):
        if self._task.name == f"slow {self._fault}":
            time.sleep(60)
        self._left -= 1
        try:
            self._sum += max(0.0, 1 - abs(float(text) - self._task.data["target"]))
        except ValueError:
            pass
        done = self._left == 0
        reward = self._sum / self._turns if done else 0.0
        return Step([Message("user", "again")], reward, done, info={"left": self._left})

    def close(self):
        self._left = 0
"""


def write_environment(folder: Path, *, step_s: float = 20.0) -> Path:
    """The environment as a folder of a user's."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "environment.toml").write_text(ENVIRONMENT.format(turns="turns", step_s=step_s))
    (folder / "environment.py").write_text(CODE)
    return folder


LESSON = "ADD worked: Say a somewhat larger number than seems right at first."
"""What the model answers when it is asked what an episode teaches."""


class OneWeight:
    """An engine whose model says its weight. `limit` makes it die after so many answers, as a killed run would."""

    def __init__(self, limit: int | None = None) -> None:
        self.weight = 0.0
        self.requests = []
        self.updates = []
        self._limit = limit

    def generate(self, requests):
        """Say the weight of each request's member, and a little noise of its seed at a temperature above 0."""
        for request in requests:
            if self._limit is not None and len(self.requests) >= self._limit:
                raise KeyboardInterrupt
            self.requests.append(request)
            if ".skill." in request.id:
                yield Completion(request.id, LESSON, "stop", 9)
                continue
            member = request.member
            moved = (
                0.0
                if member is None
                else member.sign * member.sigma * noise(member.run_key, member.step, member.direction)
            )
            jitter = request.sampling.temperature * 1e-3 * (request.seed % 1000) / 1000
            yield Completion(request.id, f"{self.weight + moved + jitter:.9f}", "stop", 3)

    def commit(self, update):
        """Move the weight."""
        self.updates.append(update)
        for direction, coefficient in zip(update.directions, update.coefficients, strict=True):
            self.weight += coefficient * noise(update.run_key, update.step, direction)
        return self.fingerprint()

    def fingerprint(self):
        """A hash of the weight."""
        return int.from_bytes(hashlib.blake2b(struct.pack("<d", self.weight), digest_size=8).digest(), "little")

    def export(self, folder):
        """Nothing asks for it."""
        raise NotImplementedError

    def close(self):
        """Note that it was closed."""
        self.is_closed = True


def noise(run_key, step, direction):
    """One standard normal number of a name."""
    return float(np.random.default_rng([run_key % 2**63, step, direction]).standard_normal())


__all__ = ["Message", "OneWeight", "Step", "Task", "noise", "write_environment"]

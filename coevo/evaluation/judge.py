"""A judge: a trusted process that owns one sandbox, sends candidates in and prices what comes out.

Speaks frames (`coevo.sandbox.wire`) with the pool on standard input and output:

    {"op": "start", "problem", "spec", "bwrap", "numba_cache",
     "splits", "instances"} + arrays of extra splits                    -> {"notice": text} …, {"ready": true}
    {"op": "evaluate", "split", "part": [start, stop] | null} + source  -> {"evaluation"} | {"count"}

`{"count"}` answers a split too long for one judge: the pool asks again part by part. What the user has to see
comes back as {"error": "sandbox" | "content", "message"}. A judge ignores Ctrl-C, which is the main process' to
handle, and ends, with its sandbox, when the main process does.
"""

import fcntl
import logging
import os
import signal
import sys
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any, NoReturn

import numpy as np

from coevo.candidate import Evaluation
from coevo.content import ProblemFolder, ProblemSpec
from coevo.errors import CoevoError, ContentError, SandboxError
from coevo.evaluation.compiled import CompiledMark
from coevo.evaluation.fresh_seeds import parse_split, reseeded
from coevo.evaluation.limits import limits_for, split_into_parts
from coevo.evaluation.verdict import Part, judge, printable_line
from coevo.interfaces import Instance
from coevo.sandbox.confine import Limits, die_with_parent
from coevo.sandbox.launcher import Launch, Sandbox, SandboxDiedError
from coevo.sandbox.mounts import Content
from coevo.sandbox.warm_up import instance_bytes, solve_smallest
from coevo.sandbox.wire import Channel, ChannelClosedError, OwnerGoneError, unpack_instances

logger = logging.getLogger(__name__)

_ATTEMPTS = 2


class Judge:
    """Pristine instances on this side, one sandbox on the other.

    Args:
        folder: The problem.
        start: The pool's first message.
        extra: Instances of splits that the problem does not know, by name.
        channel: The pool's pipe; when it hangs up, every wait ends.

    Raises:
        ContentError: If the problem cannot be imported or has no search instances.
        SandboxError: If the sandbox cannot start.
    """

    def __init__(
        self, folder: ProblemFolder, start: dict[str, Any], extra: dict[str, list[Instance]], channel: Channel
    ):
        self._folder = folder
        self._problem = folder.load()
        self._splits = extra
        self._pool = channel
        self._search = self.instances("search")
        cache = Path(start["numba_cache"]) if start["numba_cache"] else None
        baseline = next(iter(folder.baselines().values()))
        uses_numba = "numba" in sys.modules
        if uses_numba and cache is not None:
            self._fill_numba_cache(cache, baseline)
        self._launch = Launch(
            Content(folder.path, cache if uses_numba else None),
            # The module itself: `Problem` is the Protocol that it satisfies.
            module=vars(self._problem)["__name__"],
            function=folder.spec.heuristic.function,
            uses_numba=uses_numba,
            warm_up=baseline,
            bwrap=start["bwrap"],
        )
        self._loaded: tuple[str, int, int] | None = None
        self._sandbox: Sandbox | None = None
        try:
            self._prepare("search", *self._parts(self._search)[0])
        except SandboxDiedError as error:
            raise SandboxError(f"expected the sandbox to take the search instances, but {error}") from error

    def instances(self, split: str) -> list[Instance]:
        """The pristine instances of a split, under fresh seeds if its name says so; at least one.

        Raises:
            ContentError: If the problem fails to make them, or there are none.
        """
        name, draw = parse_split(split)
        if draw and split not in self._splits:
            self._splits[split] = reseeded(self.instances(name), draw)
        if split not in self._splits:
            try:
                self._splits[split] = [checked_instance(each) for each in self._problem.instances(split)]
            except Exception as error:
                raise ContentError(
                    f"expected the instances of split {split!r} from {self._folder.path}, "
                    f"but its problem.py says {type(error).__name__}: {printable_line(str(error))}"
                ) from error
        if not self._splits[split]:
            raise ContentError(f"expected at least one instance in split {split!r} of {self._folder.path}, got none")
        return self._splits[split]

    def evaluate(self, code: str, split: str, part: Sequence[int] | None) -> dict[str, Any]:
        """The answer to one request, as the module's docstring gives it."""
        instances = self.instances(split)
        if part is None and len(self._parts(instances)) > 1:
            return {"count": len(instances)}
        start, stop = part or (0, len(instances))
        return {"evaluation": asdict(self._evaluate(code, split, start, stop))}

    def _evaluate(self, code: str, split: str, start: int, stop: int) -> Evaluation:
        part = Part(self._splits[split][start:stop], start, len(self._splits[split]))
        reason = ""
        for _ in range(_ATTEMPTS):
            try:
                outcome = self._prepare(split, start, stop).run(code)
            except SandboxDiedError as error:
                reason = str(error)
                self.stop()
            else:
                return judge(self._problem, part, outcome, self._limits(part.instances))
        return Evaluation("crash", printable_line(f"the sandbox died {_ATTEMPTS} times under this candidate: {reason}"))

    def _prepare(self, split: str, start: int, stop: int) -> Sandbox:
        """The sandbox, started if need be, with these instances loaded."""
        if self._sandbox is None:
            self._sandbox = Sandbox(self._launch, watch_fd=self._pool.read_fd)
        if self._loaded != (split, start, stop):
            instances = self._splits[split][start:stop]
            self._sandbox.load(instances, self._limits(instances))
            self._loaded = (split, start, stop)
        return self._sandbox

    def _parts(self, instances: Sequence[Instance]) -> list[tuple[int, int]]:
        return split_into_parts(len(instances), self._folder.spec.limits.at_once)

    def _limits(self, instances: Sequence[Instance]) -> Limits:
        return limits_for(self._folder.spec.limits, search=self._search, instances=instances)

    def _fill_numba_cache(self, cache: Path, baseline: str) -> None:
        """Compile the problem's code into the shared cache; the first judge does, the others wait and read."""
        mark = CompiledMark(cache)
        with (cache / "lock").open("w") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            if not mark.is_set():
                name = self._folder.spec.name
                self._pool.send({"notice": f"compiling the evaluators of {name} for this machine, once"})
            try:
                instance = min(self._search, key=instance_bytes)
                heuristic = self._folder.spec.heuristic.function
                solution = solve_smallest(self._problem, heuristic, baseline, [instance])
                self._problem.objective(instance, solution)
            except Exception as error:
                logger.warning(
                    "warming up with a baseline failed: %s", printable_line(f"{type(error).__name__}: {error}")
                )
            else:
                mark.set()

    def stop(self) -> None:
        """End the sandbox; the next evaluation starts another."""
        sandbox, self._sandbox, self._loaded = self._sandbox, None, None
        if sandbox is not None:
            sandbox.stop()


def answer(court: Judge, header: dict[str, Any], source: bytes) -> dict[str, Any]:
    """The reply to one request; what the user has to see becomes an error reply."""
    try:
        return court.evaluate(source.decode(errors="surrogatepass"), header["split"], header["part"])
    except CoevoError as error:
        return error_reply(error)


def checked_instance(value: object) -> Instance:
    """An instance that can be sent into a sandbox.

    Raises:
        TypeError: If it is not an `Instance`, or holds anything but numbers and numeric arrays.
    """
    if not isinstance(value, Instance):
        raise TypeError(f"expected an Instance, got {type(value).__name__}")
    for name, item in value.data.items():
        is_numeric = item.dtype.kind in "biuf" if isinstance(item, np.ndarray) else isinstance(item, int | float)
        if not is_numeric:
            raise TypeError(f"expected numbers or numeric arrays in instance {value.name}, got {name} = {item!r:.40}")
    return value


def error_reply(error: CoevoError) -> dict[str, Any]:
    """An error as a header; `pool` raises it again."""
    return {"error": "sandbox" if isinstance(error, SandboxError) else "content", "message": str(error)}


def open_court(channel: Channel) -> Judge | None:
    """Read the first message and get ready; None, after an error reply, if that fails."""
    start, payload = channel.receive()
    extra: dict[str, list[Instance]] = {name: [] for name in start["splits"]}
    owners = [name for name, count in start["splits"].items() for _ in range(count)]
    for name, instance in zip(owners, unpack_instances(start, payload), strict=True):
        extra[name].append(instance)
    folder = ProblemFolder(Path(start["problem"]), ProblemSpec.model_validate(start["spec"]), description="")
    try:
        court = Judge(folder, start, extra, channel)
    except CoevoError as error:
        channel.send(error_reply(error))
        return None
    channel.send({"ready": True})
    return court


def main() -> None:
    """Serve one pool until it closes the pipe, ends, or sends SIGTERM."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    die_with_parent(signal.SIGTERM)
    logging.basicConfig(level=logging.WARNING)
    # The protocol moves to descriptors of its own, so that a stray print of a problem cannot garble it.
    channel = Channel(os.dup(0), os.dup(1))
    os.dup2(2, 1)
    court: Judge | None = None

    def leave(*_: object) -> NoReturn:
        if court is not None:
            court.stop()
        os._exit(0)

    signal.signal(signal.SIGTERM, leave)
    try:
        court = open_court(channel)
        while court is not None:
            header, source = channel.receive()
            channel.send(answer(court, header, bytes(source)))
    except (ChannelClosedError, OwnerGoneError):
        pass
    leave()


if __name__ == "__main__":
    main()

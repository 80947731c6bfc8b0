"""The warm server: process 1 of the sandbox. It keeps a confined process ready in which the next candidate will run.

    server ── fork ── supervisor ── fork ── candidate's process

Server and supervisor speak frames (`wire`) on standard input and output:

    {"op": "start", "file", "module", "function",
     "warm_up", "uses_numba", "unsafe"}                      -> {"ready": true} | {"failed": text}
    {"op": "load"}, then limits and instances as a frame     -> {"loaded": count, "warning": text}
    {"op": "run"} + source                                   -> {"exit_code", "cpu_s", "stopped"} + output

Both are single-threaded, so that fork is safe, and end when the input does. A supervisor serves one candidate: it
forks and confines the process ahead of time, waits for a "run", and ends after the answer. The server waits for it and
reads "load" frames alone: it never holds a candidate's source or result, so that none of it can reach the next.
"""

import gc
import importlib.util
import logging
import os
import random
import sys
import warnings
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any, cast

import numpy as np
import numpy.random

from coevo.errors import SandboxError
from coevo.interfaces import Instance, Problem
from coevo.sandbox import child, seccomp
from coevo.sandbox.confine import Limits, address_space_bytes, confine, die_with_parent, make_unreadable
from coevo.sandbox.supervisor import end, supervise
from coevo.sandbox.warm_up import freeze_numba_cache, solve_smallest
from coevo.sandbox.wire import Channel, ChannelClosedError, unpack_instances, write_all

logger = logging.getLogger(__name__)

_LOAD, _FAILED = 3, 70
"""Exit codes of a supervisor, besides 0."""
_NO_LIMITS = Limits(cpu_s=1, wall_s=1, memory_bytes=1 << 28, max_result_bytes=0)
"""Until instances are loaded, and for trying out whether a process can be confined."""


class Server:
    """Holds the problem and one set of instances; every job runs in a copy of this process.

    Only one set is held at a time: a candidate under evaluation on one split finds no other split in its memory.
    """

    def __init__(self, channel: Channel, start: dict[str, Any]):
        self._channel = channel
        self._function: str = start["function"]
        self._warm_up: str | None = start["warm_up"] if start["uses_numba"] else None
        if start["uses_numba"]:
            freeze_numba_cache()
        self._problem = load_problem(Path(start["file"]), start["module"])
        self._filter = usable_filter(is_needed=not start["unsafe"])
        self._instances: list[Instance] = []
        self._limits = _NO_LIMITS
        self._base_bytes = address_space_bytes()
        self._pid = os.getpid()

    def serve(self) -> None:
        """Answer jobs until the input ends."""
        while True:
            code = fork_and_wait(self._supervise)
            if code == _LOAD:
                self._load(*self._channel.receive())
            elif code != 0:
                raise ChannelClosedError(f"a supervisor ended with code {code}")

    def _load(self, header: dict[str, Any], payload: bytearray) -> None:
        self._limits = Limits(**header["limits"])
        self._instances = unpack_instances(header, payload)
        warning = self._compile_ahead()
        # Whatever is alive now is shared with every candidate: keep the collector from touching, hence copying, it.
        gc.collect()
        gc.freeze()
        self._base_bytes = address_space_bytes()
        self._channel.send({"loaded": len(self._instances), "warning": warning})

    def _compile_ahead(self) -> str:
        """Run a baseline (trusted) once, so that what Numba compiles lazily is compiled before the first fork."""
        if self._warm_up is None or not self._instances:
            return ""
        baseline, self._warm_up = self._warm_up, None
        try:
            solve_smallest(self._problem, self._function, baseline, self._instances)
        except Exception as error:
            return f"warming up with a baseline failed: {type(error).__name__}: {error}"
        return ""

    def _supervise(self) -> int:
        """One supervisor's life; its exit code says whether a candidate was run or a "load" is next in the pipe."""
        die_with_parent()
        if os.getppid() != self._pid:
            # The server ended before its end could be noticed: an orphan must not answer in its place.
            return _FAILED
        source_pipe, result_pipe = os.pipe(), os.pipe()
        pid = os.fork()
        if pid == 0:
            os.close(source_pipe[1])
            run_and_leave(lambda: self._be_candidate(source_pipe[0], result_pipe[1]))
        os.close(source_pipe[0])
        os.close(result_pipe[1])
        # An exception from here on ends the server too, and with it, in either mode, the waiting process.
        header, size = self._channel.receive_header()
        if header["op"] == "load":
            end(pid)
            return _LOAD
        write_all(source_pipe[1], self._channel.read(size))
        os.close(source_pipe[1])
        outcome = supervise(pid, result_pipe[0], limits=self._limits, owner_fd=self._channel.read_fd)
        header = {"exit_code": outcome.exit_code, "cpu_s": outcome.cpu_s, "stopped": outcome.stopped}
        self._channel.send(header, outcome.output[: self._limits.max_result_bytes])
        return 0

    def _be_candidate(self, *pipes: int) -> None:
        confine((pipes[0], pipes[1]), limits=self._limits, base_bytes=self._base_bytes, program=self._filter)
        child.run(child.Job(self._problem, self._function, self._instances))


def load_problem(file: Path, module_name: str) -> Problem:
    """Import `problem.py` under the name it has outside, because Numba's cached code looks it up by that name."""
    locations = [str(file.parent)]
    spec = importlib.util.spec_from_file_location(module_name, file, submodule_search_locations=locations)
    if spec is None or spec.loader is None:
        raise SandboxError(f"expected the problem's code at {file} inside the sandbox, found none")
    module = sys.modules[module_name] = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return cast(Problem, module)


def usable_filter(*, is_needed: bool) -> bytes | None:
    """The seccomp filter, after a trial of everything a candidate's process does to itself.

    Raises:
        SandboxError: If it is needed and this machine or kernel refuses.
    """
    try:
        program = seccomp.build_filter()
    except SandboxError:
        if is_needed:
            raise
        return None
    for trial in (program, None):
        if fork_and_wait(partial(_try_confining, trial)) == 0:
            return trial
        if is_needed:
            break
    raise SandboxError(
        "expected to confine a process (rlimits, seccomp filter), the kernel refused; pass --unsafe-no-sandbox to run "
        "candidates without a filter"
    )


def _try_confining(program: bytes | None) -> None:
    confine(os.pipe(), limits=_NO_LIMITS, base_bytes=address_space_bytes(), program=program)


def fork_and_wait(work: Callable[[], int | None]) -> int:
    """Run `work` in a copy of this process; the exit code it returned (None: 0), or minus the signal that ended it."""
    pid = os.fork()
    if pid == 0:
        run_and_leave(work)
    return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])


def run_and_leave(work: Callable[[], int | None]) -> None:
    """Run `work` and end this process at once: no handler and no destructor runs, no frame above is returned to."""
    code = _FAILED
    try:
        code = work() or 0
    finally:
        os._exit(code)


def main() -> None:
    """Serve one judge until it closes the pipe."""
    make_unreadable()
    # The protocol moves to descriptors of its own, so that a stray print of trusted code cannot garble it.
    channel = Channel(os.dup(0), os.dup(1))
    null = os.open(os.devnull, os.O_RDWR)
    os.dup2(null, 0)
    os.dup2(null, 1)
    warnings.simplefilter("ignore")
    np.seterr(all="ignore")
    random.seed(0)
    numpy.random.seed(0)  # noqa: NPY002 - creates the global generator before the fork
    try:
        start, _ = channel.receive()
        try:
            server = Server(channel, start)
        except Exception as error:
            channel.send({"failed": f"{type(error).__name__}: {error}"})
            return
        channel.send({"ready": True})
        server.serve()
    except ChannelClosedError as error:
        logger.debug("leaving: %s", error)


if __name__ == "__main__":
    main()

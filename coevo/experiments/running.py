"""Runs cells side by side, each as a process of its own; stops them all when this process is interrupted."""

import contextlib
import json
import selectors
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, Any

from coevo.errors import RunError
from coevo.experiments.cell_folder import CAPPED, CellFolder, skill_completions
from coevo.experiments.cells import Cell
from coevo.learning.paying import CAP_STATUSES

STOP_S = 60.0
"""How long an interrupted cell may take to close its run before it is killed."""


@dataclass(frozen=True, slots=True)
class Progress:
    """News of one cell. `state` is "running" with completions asked so far, "done", "capped", "failed" or "kept"."""

    cell: Cell
    state: str
    asked: int = 0
    detail: str = ""


Report = Callable[[Progress], None]


@dataclass
class _Running:
    """A cell and its process."""

    folder: CellFolder
    process: subprocess.Popen[bytes]
    log: IO[bytes]
    rest: bytes = b""
    said: dict[str, Any] = field(default_factory=dict)

    @property
    def output(self) -> IO[bytes]:
        assert self.process.stdout is not None
        return self.process.stdout


class CellRunner:
    """Runs the cells of a grid.

    Args:
        out: The grid's output folder.
        jobs: Most cells at a time.
        report: Told what becomes of every cell.
    """

    def __init__(self, out: Path, jobs: int, report: Report):
        self._out = out
        self._jobs = jobs
        self._report = report
        self._selector = selectors.DefaultSelector()
        self._running: dict[str, _Running] = {}

    def run(self, cells: Sequence[Cell], redo: frozenset[str] = frozenset()) -> None:
        """Run cells that are not done; a failing one does not stop the others.

        Args:
            cells: In the order in which they should start.
            redo: Names of cells to run anew although they may be done.

        Raises:
            KeyboardInterrupt: After every running cell has closed its run.
        """
        waiting = list(cells)
        try:
            while waiting or self._running:
                while len(self._running) < self._jobs and (cell := self._next(waiting)) is not None:
                    waiting.remove(cell)
                    self._begin(cell, anew=cell.name in redo)
                self._listen()
        except BaseException:
            self._stop()
            raise

    def _next(self, waiting: Sequence[Cell]) -> Cell | None:
        """The first cell whose budget does not depend on one that has still to run."""
        ahead = {cell.name for cell in waiting} | set(self._running)
        return next((cell for cell in waiting if cell.measured_by not in ahead), None)

    def _begin(self, cell: Cell, *, anew: bool) -> None:
        folder = CellFolder(self._out, cell)
        try:
            if cell.matches:
                completions = skill_completions(self._out, cell)
                if completions == 0:
                    self._report(Progress(cell, "kept", detail=f"the same as {cell.arm.partition('@')[0]}"))
                    return
                folder = CellFolder(self._out, cell.raised(completions))
                anew = anew or folder.is_stale()
            if not anew:
                folder.check_config(folder.cell.config)
                if (state := folder.state()) == "done" or (state == "capped" and not folder.raises_cap()):
                    self._report(Progress(cell, "kept", detail=CAPPED if state == "capped" else ""))
                    return
            self._running[cell.name] = self._start(folder, None if anew else folder.run())
        except (RunError, OSError) as error:
            detail = folder.failure() if isinstance(error, NotADirectoryError | FileExistsError) else ""
            folder.fail(str(error))
            self._report(Progress(cell, "failed", detail=detail or str(error)))

    def _start(self, folder: CellFolder, run: Path | None) -> _Running:
        folder.path.mkdir(parents=True, exist_ok=True)
        folder.clear()
        config = folder.cell.config.model_dump(mode="json")
        again = {"run": str(run), "allowance": config["allowance"]}
        task = again if run else {"config": config, "runs_dir": str(folder.path)}
        log = folder.log.open("wb")
        process = subprocess.Popen(
            [sys.executable, "-m", "coevo.experiments.worker"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=log,
            # Ctrl-C in a terminal reaches this process alone, which then asks the cells to stop.
            start_new_session=True,
        )
        assert process.stdin is not None
        with contextlib.suppress(BrokenPipeError):  # a process that is gone already says why in its log
            process.stdin.write(json.dumps(task).encode() + b"\n")
            process.stdin.flush()
        running = _Running(folder, process, log)
        self._selector.register(running.output, selectors.EVENT_READ, running)
        self._report(Progress(folder.cell, "running"))
        return running

    def _listen(self) -> None:
        if not self._running:
            return
        for key, _ in self._selector.select():
            running: _Running = key.data
            chunk = running.output.read1(65536)  # type: ignore[attr-defined]
            if not chunk:
                self._end(running)
                continue
            *lines, running.rest = (running.rest + chunk).split(b"\n")
            for line in lines:
                running.said |= json.loads(line)
            self._report(Progress(running.folder.cell, "running", running.said.get("asked", 0)))

    def _end(self, running: _Running) -> None:
        code = self._reap(running)
        cell, said = running.folder.cell, running.said
        if code == 0 and "status" in said:
            status = said["status"]
            is_capped = status in CAP_STATUSES
            detail = CAPPED if is_capped else "" if status == "done" else status
            self._report(Progress(cell, "capped" if is_capped else "done", said.get("asked", 0), detail))
            return
        error = said.get("error") or f"the process ended with {code}: {_last_line(running.folder.log)}"
        running.folder.fail(error)
        self._report(Progress(cell, "failed", said.get("asked", 0), error))

    def _reap(self, running: _Running) -> int:
        self._selector.unregister(running.output)
        code = running.process.wait()
        for stream in (running.process.stdin, running.output, running.log):
            if stream is not None:
                stream.close()
        del self._running[running.folder.cell.name]
        return code

    def _stop(self) -> None:
        """Ask every cell to close its run, wait, and kill those that do not."""
        for running in self._running.values():
            if running.process.stdin is not None:
                running.process.stdin.close()
        deadline = time.monotonic() + STOP_S
        for running in list(self._running.values()):
            try:
                running.process.wait(max(0.0, deadline - time.monotonic()))
            except subprocess.TimeoutExpired:
                running.process.kill()
            self._reap(running)


def _last_line(log: Path) -> str:
    lines = log.read_text(errors="replace").strip().splitlines()
    return lines[-1] if lines else "it said nothing"

"""The process around a browser: when the browser ends, nothing of it is left, neither a process nor its folder.

Run as a script: `keeper.py FOLDER PROGRAM ARGUMENT...`. It adopts what the browser leaves behind (a subreaper, so that
no zombie waits for a process 1 that does not collect), hands its own standard input and output on as the descriptors 3
and 4 that Chromium's debugging pipe uses, and removes the folder at the end. Since the browser ends when that pipe
closes, all this holds too where the program that started it was killed. A termination signal ends the browser at once.

It imports the standard library alone: it starts beside every browser.
"""

import ctypes
import os
import shutil
import signal
import subprocess
import sys
from pathlib import Path
from types import FrameType

PR_SET_CHILD_SUBREAPER = 36
"""Linux, `prctl(2)`."""


def main(folder: Path, command: list[str]) -> int:
    """Run the command until it ends, then clear up; its exit status."""
    ctypes.CDLL(None).prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
    _hand_on_the_pipe()
    try:
        browser = subprocess.Popen(command, pass_fds=(3, 4))
    except OSError as error:
        print(f"cannot start {command[0]}: {error.strerror}", file=sys.stderr)  # noqa: T201 - read by the parent
        shutil.rmtree(folder, ignore_errors=True)
        return 1

    def end(_signal: int, _frame: FrameType | None) -> None:
        browser.kill()

    signal.signal(signal.SIGTERM, end)
    # Whoever reads the other end learns of the browser's death only if no copy of the pipe stays open.
    os.close(3)
    os.close(4)
    status = browser.wait()
    _collect_the_rest()
    shutil.rmtree(folder, ignore_errors=True)
    return status if status >= 0 else 128 - status


def _hand_on_the_pipe() -> None:
    os.dup2(0, 3)
    os.dup2(1, 4)
    nothing = os.open(os.devnull, os.O_RDONLY)
    os.dup2(nothing, 0)
    os.dup2(2, 1)
    if nothing > 4:
        os.close(nothing)


def _collect_the_rest() -> None:
    """End and reap what the browser has left, as it is adopted, until there is nothing."""
    while True:
        for child in _children():
            os.kill(child, signal.SIGKILL)
        try:
            os.wait()
        except ChildProcessError:
            return


def _children() -> list[int]:
    found = []
    for stat in Path("/proc").glob("[0-9]*/stat"):
        try:
            # The name in parentheses may hold spaces; the parent is the second field behind it.
            parent = int(stat.read_text().rpartition(")")[2].split()[1])
        except (OSError, UnicodeDecodeError):
            continue
        if parent == os.getpid():
            found.append(int(stat.parent.name))
    return found


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1]), sys.argv[2:]))

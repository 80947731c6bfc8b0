"""The process of one cell: `python -m coevo.experiments.worker`.

The first line of standard input is the task, a JSON object; while the search runs, standard input stays open, and its
end asks the search to stop and close its run, as Ctrl-C would. So no cell outlives the bench, however that ends.
Standard output carries one JSON object per line: {"asked": completions} as the search goes on, then {"status": …} or
{"error": …}. What a problem's own code prints goes to standard error.
"""

import json
import os
import signal
import sys
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

from coevo.errors import CoevoError

Say = Callable[..., None]

INTERRUPTED = 130


def main() -> None:
    """Serve one task and exit: 0 done, 2 if an input cannot be used, 130 if it was asked to stop."""
    signal.signal(signal.SIGINT, signal.default_int_handler)
    channel = os.fdopen(os.dup(1), "w", buffering=1)
    os.dup2(2, 1)

    def say(**facts: Any) -> None:
        channel.write(json.dumps(facts) + "\n")

    task = json.loads(_first_line())
    threading.Thread(target=_stop_at_the_end, daemon=True).start()
    sys.exit(serve(task, say))


def serve(task: dict[str, Any], say: Say) -> int:
    """Run the search of a task, new or resumed.

    Args:
        task: `config` and `runs_dir` of a new search, or the `run` to go on with and its `allowance` from now on.
        say: Called with progress and the outcome.
    """
    from coevo.searching.api import resume_search, run_search
    from coevo.searching.config import make_config

    asked = [0]

    def listen(event: Any) -> None:
        if event["kind"] == "asked":
            asked[0] += len(event["requests"])
            say(asked=asked[0])

    try:
        if task.get("run"):
            result = resume_search(Path(task["run"]), allowance=task["allowance"], listeners=(listen,))
        else:
            result = run_search(make_config(task["config"]), runs_dir=Path(task["runs_dir"]), listeners=(listen,))
    except KeyboardInterrupt:
        return INTERRUPTED
    except CoevoError as error:
        say(error=str(error))
        return 2
    say(status=result.status)
    return 0


def _first_line() -> bytes:
    """The task, read byte by byte: what follows must stay in the pipe."""
    line = bytearray()
    while (byte := os.read(0, 1)) not in (b"", b"\n"):
        line += byte
    return bytes(line)


def _stop_at_the_end() -> None:
    while os.read(0, 1):
        pass
    os.kill(os.getpid(), signal.SIGINT)


if __name__ == "__main__":
    main()

"""One headless Chromium, driven over its debugging pipe (the Chrome DevTools Protocol).

A pipe and not WebDriver, for what it leaves out: no driver program of a matching version, no port, and a browser that
ends by itself when its pipe closes, even where this process is killed. It also lets pages run on virtual time, which
no WebDriver offers. The pages see no network: every host name is mapped to nothing.

Chromium's own sandbox is on, except for the superuser, for whom Chromium refuses to run with it.
"""

import contextlib
import json
import os
import select
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections import deque
from pathlib import Path
from typing import IO, Any

from coevo.errors import ConfigError, EnvironmentFault, escaped

PROGRAM = "chromium"
INSTALL = "apt-get install -y --no-install-recommends chromium"
ANSWER_S = 30.0
"""Longest wait for one answer of the browser; its first one includes its start."""
END_S = 5.0

_FLAGS = (
    "--headless",
    "--remote-debugging-pipe",
    "--host-resolver-rules=MAP * ~NOTFOUND",
    "--disable-gpu",
    "--disable-dev-shm-usage",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-crash-reporter",
    "--disable-default-apps",
    "--disable-extensions",
    "--disable-sync",
    "--block-new-web-contents",
    "--hide-scrollbars",
    "--metrics-recording-only",
    "--mute-audio",
    "--no-first-run",
    "--no-startup-window",
    "--no-service-autorun",
    "--password-store=basic",
    "--window-size=800,600",
)


class Browser:
    """A running Chromium; not for two threads at a time.

    Args:
        program: Name or path of Chromium.

    Raises:
        ConfigError: If there is no such program.
        EnvironmentFault: If it does not start.
    """

    def __init__(self, program: str = PROGRAM):
        found = shutil.which(program)
        if found is None:
            raise ConfigError(f"expected the program {program} on the PATH, it is not there; run: {INSTALL}")
        folder = Path(tempfile.mkdtemp(prefix="coevo-web-"))
        self.folder = folder
        """Where the profile lies; gone after `close`."""
        self.events: deque[dict[str, Any]] = deque(maxlen=1000)
        """What the browser has told unasked, oldest first; whoever reads an event removes it."""
        self._last_id = 0
        self._read = bytearray()
        self._complaints: IO[bytes] = tempfile.TemporaryFile()  # noqa: SIM115 - closed by `close`
        self._keeper = _start(folder, found, self._complaints)
        try:
            self.call("Browser.getVersion")
        except BaseException:
            self.close()
            raise

    @property
    def is_alive(self) -> bool:
        """Whether it can be asked anything."""
        return self._keeper.poll() is None and not self._pipe_in.closed

    @property
    def pid(self) -> int:
        """Process id of the keeper, which is also the id of the browser's process group."""
        return self._keeper.pid

    def call(self, method: str, session: str = "", **params: Any) -> dict[str, Any]:
        """The result of one command of the protocol.

        Args:
            method: E.g. `Page.navigate`.
            session: Of the tab that is meant; empty for the browser.
            **params: As the protocol names them.

        Raises:
            EnvironmentFault: If the browser is gone, does not answer in time or refuses the command.
        """
        self._last_id = wanted = self._send(method, session, params)
        deadline = time.monotonic() + ANSWER_S
        while True:
            message = self._next_message(method, deadline)
            if message.get("id") == wanted:
                if "error" in message:
                    raise EnvironmentFault(f"the browser refused {method}: {_one_line(message['error']['message'])}")
                return dict(message.get("result", {}))
            if "method" in message:
                self.events.append(message)
                self._answer_dialog(message)

    def wait_for(self, event: str, session: str, timeout_s: float) -> dict[str, Any]:
        """The parameters of the next event of this name in a tab, one that has come already included.

        Raises:
            EnvironmentFault: If it does not come in time.
        """
        deadline = time.monotonic() + timeout_s
        while True:
            for message in [m for m in self.events if m.get("sessionId") == session]:
                if message["method"] == event:
                    self.events.remove(message)
                    return dict(message.get("params", {}))
            message = self._next_message(event, deadline)
            if "method" in message:
                self.events.append(message)
                self._answer_dialog(message)

    def close(self) -> None:
        """End the browser and remove its folder; safe to call twice."""
        # A closed pipe is how the browser is told to end.
        _close(self._pipe_in)
        try:
            self._keeper.wait(END_S)
        except subprocess.TimeoutExpired:
            self._end_by_force()
        if self._keeper.returncode < 0:
            # The keeper was killed and could not clear up: what is left of its group ends here.
            _end_group(self._keeper.pid)
        self._pipe_out.close()
        self._complaints.close()
        shutil.rmtree(self.folder, ignore_errors=True)

    @property
    def _pipe_in(self) -> IO[bytes]:
        assert self._keeper.stdin is not None
        return self._keeper.stdin

    @property
    def _pipe_out(self) -> IO[bytes]:
        assert self._keeper.stdout is not None
        return self._keeper.stdout

    def _end_by_force(self) -> None:
        self._keeper.terminate()
        try:
            self._keeper.wait(END_S)
        except subprocess.TimeoutExpired:
            self._keeper.kill()
            self._keeper.wait()

    def _send(self, method: str, session: str, params: dict[str, Any]) -> int:
        message: dict[str, Any] = {"id": self._last_id + 1, "method": method, "params": params}
        if session:
            message["sessionId"] = session
        try:
            self._pipe_in.write(json.dumps(message).encode() + b"\0")
            self._pipe_in.flush()
        except (OSError, ValueError):
            raise EnvironmentFault(f"the browser is gone, before {method}{self._complaint()}") from None
        return self._last_id + 1

    def _next_message(self, waiting_for: str, deadline: float) -> dict[str, Any]:
        while b"\0" not in self._read:
            left = deadline - time.monotonic()
            if left <= 0 or not select.select([self._pipe_out], [], [], left)[0]:
                raise EnvironmentFault(f"the browser did not answer in time: waited for {waiting_for}")
            chunk = os.read(self._pipe_out.fileno(), 1 << 16)
            if not chunk:
                raise EnvironmentFault(f"the browser is gone: waited for {waiting_for}{self._complaint()}")
            self._read += chunk
        text, _, self._read = self._read.partition(b"\0")
        message: dict[str, Any] = json.loads(text)
        if message.get("method") == "Inspector.targetCrashed":
            raise EnvironmentFault(f"the page crashed: waited for {waiting_for}")
        return message

    def _answer_dialog(self, message: dict[str, Any]) -> None:
        """Accept an alert or a question at once: as long as it is open, the page answers nothing else."""
        if message["method"] == "Page.javascriptDialogOpening":
            params = {"accept": True, "promptText": message["params"].get("defaultPrompt", "")}
            self._last_id = self._send("Page.handleJavaScriptDialog", message["sessionId"], params)

    def _complaint(self) -> str:
        """The last line that Chromium wrote to its standard error, for a message."""
        if self._complaints.closed:
            return ""
        self._complaints.seek(0)
        lines = self._complaints.read().decode(errors="replace").split("\n")
        last = next((line for line in reversed(lines) if line.strip()), "")
        return f"; it said: {_one_line(last)}" if last else ""


def flags(folder: Path, is_superuser: bool) -> list[str]:
    """What Chromium is started with."""
    return [*_FLAGS, f"--user-data-dir={folder}", *(["--no-sandbox"] if is_superuser else [])]


def _start(folder: Path, program: str, complaints: IO[bytes]) -> subprocess.Popen[bytes]:
    keeper = Path(__file__).with_name("keeper.py")
    return subprocess.Popen(
        [sys.executable, "-I", "-S", str(keeper), str(folder), program, *flags(folder, os.geteuid() == 0)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=complaints,
        start_new_session=True,
        env=_surroundings(folder),
    )


def _surroundings(folder: Path) -> dict[str, str]:
    """Environment variables of the browser: none of the user's but what it needs to run, and no folder of theirs."""
    own = {name: str(folder) for name in ("HOME", "TMPDIR", "XDG_CONFIG_HOME", "XDG_CACHE_HOME", "XDG_RUNTIME_DIR")}
    kept = {name: os.environ[name] for name in ("PATH", "LANG", "LD_LIBRARY_PATH") if name in os.environ}
    return {**kept, **own, "TZ": "UTC", "DBUS_SESSION_BUS_ADDRESS": "disabled:"}


def _end_group(group: int) -> None:
    """Kill a process group, and wait until nobody is left in it who could write to the folder."""
    deadline = time.monotonic() + END_S
    with contextlib.suppress(ProcessLookupError):
        while time.monotonic() < deadline:
            os.killpg(group, signal.SIGKILL)
            time.sleep(0.02)


def _close(pipe: IO[bytes]) -> None:
    # What was still to be sent cannot be where the reader is gone.
    with contextlib.suppress(OSError):
        pipe.close()


def _one_line(text: str) -> str:
    return escaped(text.strip())[:300]

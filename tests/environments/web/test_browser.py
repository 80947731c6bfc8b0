"""The browser's life: what it is told, and that nothing of it is left."""

import http.server
import json
import os
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest

from coevo.environments.web.browser import Browser, flags
from coevo.environments.web.page import Page
from coevo.errors import ConfigError, EnvironmentFault

OPENS_ONE = """
import json, sys, time
from coevo.environments.web.browser import Browser
from coevo.environments.web.page import Page
opened = Browser()
Page(opened)
print(json.dumps([opened.pid, str(opened.folder)]), flush=True)
time.sleep(600)
"""


def gone(path: Path, timeout_s: float = 30.0) -> bool:
    """Whether a path vanishes within a while."""
    deadline = time.monotonic() + timeout_s
    while path.exists() and time.monotonic() < deadline:
        time.sleep(0.1)
    return not path.exists()


def test_closing_leaves_neither_process_nor_folder(chromium, family, alive):
    """After `close`, every process that the browser had is gone and collected, and so is its profile."""
    opened = Browser(chromium)
    Page(opened)
    members = family(opened.pid)
    assert len(members) > 3
    assert opened.folder.is_dir()
    opened.close()
    opened.close()
    assert alive(members) == []
    assert not opened.folder.exists()
    assert not opened.is_alive
    with pytest.raises(EnvironmentFault, match="the browser is gone"):
        opened.call("Browser.getVersion")


def test_a_browser_that_does_not_end_is_ended(chromium, family, alive, monkeypatch):
    """A stopped browser does not hear that its pipe is closed: it is killed, and nothing is left either."""
    monkeypatch.setattr("coevo.environments.web.browser.END_S", 2.0)
    opened = Browser(chromium)
    Page(opened)
    members = family(opened.pid)
    for pid, _ in members - {next(member for member in members if member[0] == opened.pid)}:
        os.kill(pid, signal.SIGSTOP)
    opened.close()
    assert alive(members) == []
    assert not opened.folder.exists()


def wait_for_none(alive, members):
    """What is left of some processes after a while."""
    deadline = time.monotonic() + 20
    while alive(members) and time.monotonic() < deadline:
        time.sleep(0.1)
    return alive(members)


def test_a_browser_that_dies_is_a_fault_and_leaves_nothing(chromium, family, alive):
    """Where the browser is killed, the next question is a fault, its processes are collected and its folder goes."""
    opened = Browser(chromium)
    members = family(opened.pid)
    (child,) = Path(f"/proc/{opened.pid}/task/{opened.pid}/children").read_text().split()[:1]
    os.kill(int(child), signal.SIGKILL)
    assert gone(opened.folder)
    with pytest.raises(EnvironmentFault, match="the browser is gone"):
        opened.call("Browser.getVersion")
    opened.close()
    assert alive(members) == []


def test_a_browser_without_its_keeper_is_ended_too(chromium, family, alive):
    """Where the process around the browser is killed, closing ends the browser all the same."""
    opened = Browser(chromium)
    members = family(opened.pid)
    os.kill(opened.pid, signal.SIGKILL)
    opened.close()
    assert wait_for_none(alive, members) == []
    assert not opened.folder.exists()


def test_a_browser_outlives_nobody(chromium, family, alive):
    """Where the process that opened it is killed, the browser ends by itself and its folder goes too."""
    with subprocess.Popen([sys.executable, "-c", OPENS_ONE], stdout=subprocess.PIPE, cwd=Path.cwd()) as opener:
        assert opener.stdout is not None
        pid, folder = json.loads(opener.stdout.readline())
        members = family(pid)
        assert len(members) > 3
        opener.kill()
    assert gone(Path(folder))
    assert wait_for_none(alive, members) == []


def test_a_page_that_crashes_is_a_fault(chromium):
    """A crash of the page's process is told from other failures."""
    opened = Browser(chromium)
    try:
        page = Page(opened)
        with pytest.raises(EnvironmentFault, match="the page crashed"):
            page.call("Page.crash")
    finally:
        opened.close()


def test_a_missing_program_is_named():
    """Without Chromium, one line says how to install it."""
    with pytest.raises(ConfigError, match=r"expected the program no-chromium on the PATH.*apt-get install"):
        Browser("no-chromium")


def test_a_program_that_is_no_browser_is_a_fault(tmp_path):
    """A program that ends at once is a fault that repeats what it said last."""
    program = tmp_path / "chromium"
    program.write_text("#!/bin/sh\necho 'no display\tanywhere' >&2\nexit 3\n")
    program.chmod(0o755)
    with pytest.raises(EnvironmentFault, match=r"the browser is gone.*it said: no display\\tanywhere"):
        Browser(str(program))


def test_a_refused_command_is_a_fault(browser):
    """What the browser does not know is a fault with its reason."""
    with pytest.raises(EnvironmentFault, match=r"the browser refused No\.thing: "):
        browser.call("No.thing")


def test_pages_reach_no_network(show):
    """A server on this very machine is not reached, by address or by name."""
    asked: list[str] = []

    class Handler(http.server.BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            asked.append(self.path)
            self.send_response(204)
            self.end_headers()

        def log_message(self, *_arguments: object) -> None:
            """Say nothing."""

    with http.server.HTTPServer(("127.0.0.1", 0), Handler) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        try:
            page = show("<p id=out></p>")
            for host in ("127.0.0.1", "localhost"):
                url = f"http://{host}:{server.server_port}/"
                told = "then(() => out.textContent += 'y', () => out.textContent += 'n')"
                page.evaluate(f"fetch('{url}', {{ mode: 'no-cors' }}).{told}; 0")
            for _ in range(50):
                page.let_pass(1000)
                if len(page.evaluate("out.textContent")) == 2:
                    break
                time.sleep(0.1)
            assert page.evaluate("out.textContent") == "nn"
        finally:
            server.shutdown()
            thread.join()
    assert asked == []


def test_the_sandbox_is_off_for_the_superuser_alone(tmp_path):
    """Chromium's own sandbox is given up only where Chromium would not run with it."""
    assert "--no-sandbox" in flags(tmp_path, is_superuser=True)
    assert "--no-sandbox" not in flags(tmp_path, is_superuser=False)

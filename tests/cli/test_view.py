import os
import re
import signal
import socket
import subprocess
import sys
from pathlib import Path
from urllib.request import urlopen

import pytest

from coevo.errors import ConfigError

ROOT = Path(__file__).parents[2]


def test_what_is_no_folder_is_refused(coevo, tmp_path):
    """A folder that is not there, and a file, are refused by name."""
    (tmp_path / "file").write_text("")
    for name in ("missing", "file"):
        with pytest.raises(ConfigError, match=f"expected a folder of runs or a run directory, got .*{name}"):
            coevo("view", tmp_path / name)


def test_a_port_in_use_is_one_line(tmp_path):
    """An explicitly named port that another program has ends the command with one line and exit code 2."""
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        command = [sys.executable, "-m", "coevo", "view", str(tmp_path), "--port", str(port), "--no-open"]
        done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=120)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr == f"coevo: expected a free port for --port, got {port}: it is in use; name another one\n"


def test_it_serves_until_it_is_interrupted(tmp_path):
    """The command prints an address that answers, also before the default folder is there; Ctrl-C ends it cleanly."""
    command = [sys.executable, "-m", "coevo", "view", "--port", "0", "--no-open"]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join([str(ROOT), os.environ.get("PYTHONPATH", "")])}
    started = subprocess.Popen(
        command,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        cwd=tmp_path,
        env=environment,
        # Tests that run in the background have inherited to ignore it, and would hand that on.
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),
    )
    try:
        line = started.stdout.readline()
        address = re.search(r"http://127\.0\.0\.1:\d+/", line)[0]
        with urlopen(address, timeout=60) as answer:
            assert b"No run yet" in answer.read()
        started.send_signal(signal.SIGINT)
        _, errors = started.communicate(timeout=60)
    finally:
        started.kill()
        started.communicate()
    assert (started.returncode, errors.strip()) == (0, "")

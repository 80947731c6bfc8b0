"""What the sandbox holds, whoever writes the commands."""

import socket
from collections.abc import Callable
from pathlib import Path

import pytest

from coevo.environments.tools.shell import Shell, ShellLimits


def python(*lines: str) -> str:
    """A command that runs some lines of Python."""
    text = "\n".join(lines)
    return f"cat > /tmp/program.py <<'EOF'\n{text}\nEOF\npython3 /tmp/program.py"


def test_the_environment_is_bare(monkeypatch: pytest.MonkeyPatch, small: ShellLimits) -> None:
    """No variable of coevo's process is seen, neither as such nor through /proc."""
    monkeypatch.setenv("A_SECRET_KEY", "hunter2")
    shell = Shell(small)
    try:
        assert "hunter2" not in shell.run("env; set; cat /proc/*/environ").output
        assert "Permission denied" in shell.run("cat /proc/1/environ").output
    finally:
        shell.close()


def test_files_of_the_host_are_not_there(tmp_path: Path, shell: Shell) -> None:
    """Neither files anywhere on the host, nor this source, nor a home."""
    secret = tmp_path / "secret.txt"
    secret.write_text("hunter2")
    for path in (secret, Path(__file__), Path("/etc/passwd"), Path("/etc/shadow"), Path("/var"), Path("/sys")):
        assert "No such file" in shell.run(f"cat {path}").output
    assert shell.run("cd ~; pwd; ls -A /root /home 2>/dev/null | grep -v : | grep -v pyenv").output.startswith(
        "/workspace\n"
    )


@pytest.mark.parametrize("path", ["/x", "/usr/x", "/etc/x", "/opt/x", "/opt/packages/x", "/dev/x", "/proc/sys/x"])
def test_only_private_folders_can_be_written(path: str, shell: Shell) -> None:
    """The rest is read-only, whoever the command runs as outside."""
    assert shell.run(f"touch {path}").exit_code == 1


def test_the_network_is_out_of_reach(shell: Shell) -> None:
    """A server on this very machine cannot be reached, nor any other."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
        assert shell.run(f"exec 3<>/dev/tcp/127.0.0.1/{port}").exit_code == 1
    assert "unreachable" in shell.run("exec 3<>/dev/tcp/192.0.2.1/80").output


@pytest.mark.parametrize("family", [16, 17, 38, 40], ids=["netlink", "packet", "alg", "vsock"])
def test_sockets_beside_the_network_are_refused(family: int, shell: Shell) -> None:
    """Families that a network namespace does not hold, or that lead into the kernel."""
    result = shell.run(python("import socket", f"socket.socket({family}, socket.SOCK_DGRAM)"))
    assert "Operation not permitted" in result.output


def test_local_sockets_work(shell: Shell) -> None:
    """What stays inside is allowed."""
    assert shell.run(python("import socket", "socket.socketpair()", "socket.socket(socket.AF_INET)")).exit_code == 0


@pytest.mark.parametrize(
    "command",
    [
        ":(){ :|:; }; :",
        python("import os", "while True:", "    try: os.fork()", "    except OSError: pass"),
        python(
            "import threading, time",
            "threading.stack_size(65536)",
            "while True:",
            "    try: threading.Thread(target=time.sleep, args=(60,)).start()",
            "    except RuntimeError: time.sleep(0.1)",
        ),
    ],
    ids=["bash", "fork", "threads"],
)
def test_a_fork_bomb_is_held(command: str, small: ShellLimits, below: Callable[[int], list[int]]) -> None:
    """It is stopped with all its processes, and the shell goes on: as root by counting, else by the kernel's limit."""
    shell = Shell(ShellLimits(wall_s=3.0, memory_bytes=small.memory_bytes, processes=small.processes))
    try:
        result = shell.run(command)
        assert result.timed_out or "more than 40 processes" in result.output or "retry" in result.output
        assert len(below(shell.pid)) == 1
        assert shell.run("echo on").output == "on\n"
    finally:
        shell.close()


def test_memory_of_one_process_is_limited(shell: Shell) -> None:
    """A process that wants more than there is gets an error."""
    assert "MemoryError" in shell.run("python3 -c 'bytearray(500 << 20)'").output


@pytest.mark.parametrize("kind", ["mmap.MAP_PRIVATE", "mmap.MAP_SHARED"])
def test_memory_of_all_processes_is_limited(kind: str, shell: Shell) -> None:
    """Several processes that each stay below the limit are stopped where together they do not."""
    result = shell.run(
        python(
            "import mmap, os, time",
            "for _ in range(4):",
            "    if os.fork() == 0:",
            f"        held = mmap.mmap(-1, 150 << 20, {kind} | mmap.MAP_ANONYMOUS)",
            "        for at in range(0, len(held), 4096): held[at] = 1",
            "        time.sleep(60)",
            "time.sleep(60)",
        )
    )
    assert result.output.endswith("of memory]")
    assert shell.run("echo on").output == "on\n"


def test_shared_memory_is_counted_once(shell: Shell) -> None:
    """Processes that share what their parent holds are not stopped for it."""
    result = shell.run(
        python(
            "import os, time",
            "held = b'x' * (100 << 20)",
            "for _ in range(3): os.fork()",
            "time.sleep(0.5)",
            "print('held', flush=True)",
            "time.sleep(0.5)",
        )
    )
    assert result.exit_code == 0
    assert result.output.count("held\n") == 8


def test_the_disk_is_limited(shell: Shell) -> None:
    """What a command can write is bounded, in bytes and in files."""
    assert "No space left" in shell.run("head -c 30000000 /dev/zero > big; rm -f big").output
    result = shell.run(python("i = 0", "while True:", "    open(f'/workspace/many{i}', 'w').close()", "    i += 1"))
    assert result.output == "[stopped: more than 2000 files]"
    assert shell.run("rm -f many* 2>/dev/null || find . -name 'many*' -delete; ls | grep -c many").output == "0\n"


@pytest.mark.parametrize(
    "command",
    ["kill -KILL 1", "kill -INT 1", "kill -TERM 1", "kill -STOP 1", "kill -SEGV 1", "kill -CHLD 1"],
)
def test_the_supervisor_cannot_be_ended(command: str, shell: Shell) -> None:
    """Signals to process 1 do nothing."""
    shell.run(command)
    assert shell.run("echo on").output == "on\n"


@pytest.mark.parametrize(
    "command",
    [
        "prlimit --pid 1 --nofile=1",
        "renice -n 19 -p 1",
        "taskset -p 1 1",
        "chrt -i -p 0 1",
        "head -c 1 /proc/1/mem",
        "cat < /proc/1/fd/0",
        "echo > /proc/1/fd/1",
        "unshare --user true",
        "unshare --net true",
        "mount -t tmpfs x /tmp",
        "/usr/sbin/chroot / true",
        "nsenter -t 1 -m true",
        "dmesg",
        "ipcmk -M 4096",
    ],
)
def test_ways_around_the_supervisor_are_closed(command: str, shell: Shell) -> None:
    """Limits and priority of process 1, its memory and descriptors, new namespaces, lasting memory."""
    result = shell.run(command)
    if result.exit_code == 127:
        pytest.skip(f"the program {command.split()[0]} is not installed")
    assert result.exit_code
    assert shell.run("echo on").output == "on\n"


def test_lasting_memory_cannot_be_made(shell: Shell) -> None:
    """Memory without a process or a folder that counts it is refused."""
    assert "not permitted" in shell.run(python("import os", "os.memfd_create('x')")).output


def test_nothing_is_set_uid(shell: Shell) -> None:
    """Capabilities are gone, and cannot be won back."""
    status = shell.run("grep -E 'CapEff|CapBnd|NoNewPrivs|Seccomp:' /proc/self/status").output.split()
    assert status == ["CapEff:", "0" * 16, "CapBnd:", "0" * 16, "NoNewPrivs:", "1", "Seccomp:", "2"]

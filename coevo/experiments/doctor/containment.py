"""The sandbox: attacks are really run in it, and each has to fail in the way that the sandbox makes it fail.

No attack does harm where it succeeds: it opens a listener, a file and a variable of the check's own, starts a process
that ends at once, and takes bounded memory and time. A heuristic that reaches its end has got away with it.
"""

import os
import socket
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from secrets import token_hex

from coevo.candidate import Evaluation, Status
from coevo.content import read_problem
from coevo.errors import SandboxError
from coevo.evaluation import EvaluationPool
from coevo.experiments.doctor.finding import Finding, failed, passed, refused, warned

NAME = "sandbox"
PROBE = Path(__file__).parent / "probe"
"""A problem folder whose heuristics are the attacks."""
_BEYOND_MEMORY = 1 << 29
"""Twice the memory that the probe allows."""
_BEYOND_TIME_S = 20
_IMPORTS = "import os, socket, subprocess, threading, time\nimport numpy as np\n"
_HONEST = "def choose(values):\n    return 1\n"
_ADVICE = "run no model's code on this machine before it is repaired; a newer bubblewrap or kernel may hold"

Judge = Callable[[str], Evaluation]


@dataclass(frozen=True, slots=True)
class Attack:
    """Something that a heuristic must not be able to do.

    Attributes:
        against: What the sandbox keeps from it.
        body: Lines of a heuristic that does it.
        ends: The verdicts that show it was stopped.
        words: Of which the verdict's detail holds one where it was; any detail will do without words.
    """

    against: str
    body: str
    ends: tuple[Status, ...]
    words: tuple[str, ...] = ()

    @property
    def source(self) -> str:
        """The heuristic."""
        lines = "".join(f"    {line}\n" for line in self.body.splitlines())
        return f"{_IMPORTS}def choose(values):\n{lines}    return 1\n"


@dataclass(frozen=True, slots=True)
class Bait:
    """What there is to reach outside.

    Attributes:
        file: A file of the user's.
        port: Of a listener on the loopback interface.
        variable: Name of an environment variable.
    """

    file: Path
    port: int
    variable: str


def attacks(bait: Bait) -> tuple[Attack, ...]:
    """All of them, the quick ones first."""
    denied = ("PermissionError", "Operation not permitted")
    absent, tmp = ("FileNotFoundError", *denied), "/tmp/coevo-doctor"
    return (
        Attack("network", f"socket.create_connection(('127.0.0.1', {bait.port}), 5)", ("crash",), (*denied, "OSError")),
        Attack("files of the host", f"open({str(bait.file)!r}).read()", ("crash",), absent),
        Attack("environment variables", f"os.environ[{bait.variable!r}]", ("crash",), ("KeyError",)),
        Attack("writing", f"open({str(bait.file.with_name('written'))!r}, 'w').write('x')", ("crash",), absent),
        Attack("writing to /tmp", f"open({tmp!r}, 'w').close()\nos.remove({tmp!r})", ("crash",), denied),
        Attack("new processes", "if os.fork() == 0: os._exit(0)", ("crash",), denied),
        Attack("other programs", "subprocess.run(['/bin/true'])", ("crash",), absent),
        Attack("new threads", "threading.Thread(target=time.time).start()", ("crash",), ("can't start new thread",)),
        Attack("memory", f"np.ones({_BEYOND_MEMORY}, np.uint8)", ("memory",)),
        Attack("time", f"end = time.monotonic() + {_BEYOND_TIME_S}\nwhile time.monotonic() < end: pass", ("timeout",)),
    )  # fmt: skip


def sandbox(judge: Judge, tried: Sequence[Attack]) -> Finding:
    """Whether an honest heuristic is judged, before and after every attack was stopped.

    Args:
        judge: Gives the verdict on a heuristic's source, for the problem in `PROBE`.
        tried: What is run.
    """
    if not (first := judge(_HONEST)).is_ok:
        return failed(NAME, f"an honest heuristic is not judged: {first.status}: {first.detail}", _ADVICE)
    through = []
    for attack in tried:
        verdict = judge(attack.source)
        if verdict.is_ok:
            through.append(attack.against)
        elif not _is_stopped(attack, verdict):
            through.append(f"{attack.against} (stopped in an unforeseen way: {verdict.status}: {verdict.detail})")
    if through:
        return failed(NAME, f"does not hold against: {', '.join(through)}", _ADVICE)
    if not (last := judge(f"{_HONEST}# after the attacks\n")).is_ok:
        return failed(NAME, f"does not recover from attacks: {last.status}: {last.detail}", _ADVICE)
    return passed(NAME, f"holds: {len(tried)} attacks stopped ({', '.join(attack.against for attack in tried)})")


def _is_stopped(attack: Attack, verdict: Evaluation) -> bool:
    return verdict.status in attack.ends and (not attack.words or any(word in verdict.detail for word in attack.words))


@contextmanager
def laid_bait(folder: Path) -> Iterator[Bait]:
    """Something to reach: a file in `folder`, a listener, a variable of this process."""
    file, variable = folder / "bait", f"COEVO_DOCTOR_{token_hex(4).upper()}"
    file.write_text("bait")
    os.environ[variable] = "bait"
    try:
        with socket.create_server(("127.0.0.1", 0)) as listener:
            yield Bait(file, listener.getsockname()[1], variable)
    finally:
        del os.environ[variable]
        file.unlink()
        file.with_name("written").unlink(missing_ok=True)


def for_tools_alone(found: Finding) -> Finding:
    """The same for a run without candidates: what fails is then the business of environments that have tools."""
    if found.state != "fail":
        return found
    return warned(NAME, found.found, f"environments whose agents have tools cannot be used; {found.advice}")


def real_sandbox(folder: Path, *, unsafe: bool = False) -> Finding:
    """The check on this machine's sandbox.

    Args:
        folder: For what the attacks are to reach.
        unsafe: Whether to go without bubblewrap, which the check has to find out.

    """
    try:
        with laid_bait(folder) as bait, EvaluationPool(read_problem(PROBE), workers=1, unsafe=unsafe) as pool:
            return sandbox(pool.evaluate, attacks(bait))
    except SandboxError as error:
        return refused(NAME, error, _ADVICE)

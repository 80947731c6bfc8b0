"""Whether an answer is right: exactly where that is certain, by math-verify where it can read both, else by text.

To math-verify a formula is worth its value, and a chain or a list that of any of its parts. So where the right answer
is a plain number, another one has to be one number as well (`plain_number`) before it is compared.
"""

import contextlib
import json
import os
import re
import select
import subprocess
import sys
import time
from dataclasses import dataclass
from decimal import Decimal
from pathlib import Path
from typing import Any, Literal

from coevo.environments.math.plain_number import exact_value, plain_number
from coevo.errors import EnvironmentFault, ExtraMissingError

Method = Literal["exact", "no number", "math-verify", "text", "given up"]
"""How a verdict was found: the same text, or two plain numbers; by its form, where a plain number is asked for and this
is not one; by math-verify; by text where it cannot read one of the two; not at all, because the answer takes more time
or memory to compare than it may, which counts as wrong."""

_JUDGE = Path(__file__).with_name("judge.py")
_START_S = 60.0
_MEMORY_BYTES = 1 << 30
_TRIES = 2
_LONGEST = 2_000
"""Characters of an answer; a longer one is wrong."""
_TOLERANCE = Decimal("1e-8")
_ROUGHLY = str.maketrans("", "", "{}, \t\n$")


@dataclass(frozen=True, slots=True)
class Verdict:
    """Whether an answer is right, and how that was found."""

    is_correct: bool
    method: Method


class Scorer:
    """Compares answers; starts a process for math-verify when the first pair needs it.

    Args:
        wall_s: Seconds that one comparison may take.
    """

    def __init__(self, wall_s: float = 30.0):
        self._wall_s = wall_s
        self._judge: subprocess.Popen[bytes] | None = None

    def score(self, expected: str, given: str) -> Verdict:
        """Compare a given answer, of any content, with the expected one.

        Raises:
            EnvironmentFault: If the process for math-verify cannot be started.
            ExtraMissingError: If math-verify is not installed.
        """
        if len(given) > _LONGEST:
            return Verdict(False, "text")
        wanted = plain_number(expected, with_unit=False)
        if wanted is not None and expected.strip() != given.strip():
            number = plain_number(given)
            if number is None:
                return Verdict(False, "no number")
            expected, given = wanted, number
        certain = _certain(expected, given)
        if certain is not None:
            return Verdict(certain, "exact")
        if not _is_balanced(given):
            return Verdict(same_text(expected, given), "text")
        try:
            equal = self._ask({"expected": expected, "given": given})
        except TimeoutError:
            return Verdict(False, "given up")
        if equal is None:
            return Verdict(same_text(expected, given), "text")
        return Verdict(equal, "math-verify")

    def close(self) -> None:
        """End the process, if there is one; safe to call twice, and the scorer can go on after it."""
        judge, self._judge = self._judge, None
        if judge is not None:
            judge.kill()
            judge.wait()
            for pipe in (judge.stdin, judge.stdout):
                if pipe is not None:
                    pipe.close()

    def _ask(self, request: dict[str, str]) -> bool | None:
        """Ask the process; another one if it died, which somebody else may have done. Raises TimeoutError."""
        for _ in range(_TRIES):
            self._judge = self._judge or _start()
            assert self._judge.stdin is not None
            try:
                self._judge.stdin.write(json.dumps(request).encode() + b"\n")
                equal: bool | None = _line(self._judge, self._wall_s)["equal"]
            except TimeoutError:
                self.close()
                raise
            except (OSError, EOFError, ValueError):
                self.close()
            else:
                return equal
        raise TimeoutError("it dies over this pair")


def same_text(expected: str, given: str) -> bool:
    """Whether two answers are the same but for case, spaces, braces and commas, or are decimals that are equal."""
    first, second = (text.translate(_ROUGHLY).rstrip(".").lower() for text in (expected, given))
    if first == second:
        return bool(first)
    # What is no decimal, or whose difference is none that there is.
    with contextlib.suppress(ArithmeticError, ValueError):
        numbers = Decimal(first), Decimal(second)
        return all(number.is_finite() for number in numbers) and abs(numbers[0] - numbers[1]) <= _TOLERANCE
    return False


def _certain(expected: str, given: str) -> bool | None:
    """What needs no mathematics: the same text, or two plain numbers; None for anything else.

    Decimals that differ are not certain: math-verify rounds them.
    """
    expected, given = expected.strip(), given.strip()
    if expected == given:
        return bool(expected)
    numbers = exact_value(expected), exact_value(given)
    if None in numbers:
        return None
    if numbers[0] == numbers[1]:
        return True
    return None if "." in expected + given else False


def _is_balanced(text: str) -> bool:
    """Whether its braces match: math-verify is shown a box around it, which it must not close."""
    depth = 0
    for brace in re.findall(r"(?<!\\)[{}]", text):
        depth += 1 if brace == "{" else -1
        if depth < 0:
            return False
    return depth == 0


def _start() -> "subprocess.Popen[bytes]":
    # What is installed here, but none of the variables that say where keys are.
    environment = {name: os.environ[name] for name in ("PATH", "LANG", "VIRTUAL_ENV") if name in os.environ}
    environment |= {"PYTHONPATH": os.pathsep.join(path for path in sys.path if path), "OMP_NUM_THREADS": "1"}
    judge = subprocess.Popen(
        [sys.executable, "-P", "-B", str(_JUDGE), str(_MEMORY_BYTES)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        env=environment,
        bufsize=0,
    )
    try:
        _line(judge, _START_S)
    except (OSError, EOFError, TimeoutError) as error:
        judge.kill()
        judge.communicate()
        require_math_verify()
        raise EnvironmentFault(f"the process for math-verify does not start: {error}") from error
    return judge


def require_math_verify() -> None:
    """Do nothing where math-verify can be imported; that it can is only looked up.

    Raises:
        ExtraMissingError: If it is not installed.
    """
    from importlib.util import find_spec

    if find_spec("math_verify") is None:
        raise ExtraMissingError("math-verify", "agents", "comparing answers")


def _line(judge: "subprocess.Popen[bytes]", seconds: float) -> dict[str, Any]:
    """The next line it writes.

    Raises:
        EOFError: If it ends instead.
        TimeoutError: If it takes too long.
        ValueError: If it is no JSON.
    """
    assert judge.stdout is not None
    poll = select.poll()
    poll.register(judge.stdout, select.POLLIN)
    deadline = time.monotonic() + seconds
    data = b""
    while not data.endswith(b"\n"):
        if not poll.poll(max(deadline - time.monotonic(), 0) * 1000):
            raise TimeoutError(f"no answer within {seconds:g} s")
        chunk = judge.stdout.read(1 << 16)
        if not chunk:
            raise EOFError("it ended")
        data += chunk
    answer: dict[str, Any] = json.loads(data)
    return answer

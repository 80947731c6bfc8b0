"""The candidate's own process: compile the source, run the problem's `solve` on each instance, write the solutions.

Everything here shares its process with untrusted code and may be subverted by it; nothing outside relies on more than
the bytes it writes (see `results`).
"""

import gc
import random
import sys
import types
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from coevo.errors import Infeasible
from coevo.interfaces import Heuristic, Instance, Problem
from coevo.sandbox import results
from coevo.sandbox.confine import RESULT_FD, SOURCE_FD
from coevo.sandbox.results import Failure, encode_failure, encode_solution
from coevo.sandbox.wire import read_to_end, write_all

SOURCE_NAME = "<candidate>"
"""File name under which the source is compiled; how a traceback tells the candidate's frames from ours."""

# Written before the untrusted code runs, because composing a message needs memory.
_OUT_OF_MEMORY = encode_failure(Failure("memory", "MemoryError", ""))


@dataclass(frozen=True, slots=True)
class Job:
    """What the server prepared for a candidate: the problem, the function's name and the instances in order."""

    problem: Problem
    function: str
    instances: Sequence[Instance]


class InvalidError(Exception):
    """The source or a result is not what the problem asks for; the text says why."""


def run(job: Job) -> None:
    """Read the source, then write a solution per instance and "done", or the failure that ended it."""
    gc.enable()
    try:
        solve_all(job, load(job.function, read_to_end(SOURCE_FD)))
        outcome = results.DONE
    except MemoryError:
        outcome = _OUT_OF_MEMORY
    except BaseException as error:
        outcome = encode_failure(describe(error))
    write_all(RESULT_FD, outcome)


def load(function: str, source: bytes) -> Heuristic:
    """The function of that name which the source defines.

    Raises:
        InvalidError: If the source does not parse or defines no such function.
        BaseException: Whatever the source raises while it is executed.
    """
    try:
        code = compile(source, SOURCE_NAME, "exec", dont_inherit=True)
    except (SyntaxError, ValueError, RecursionError) as error:
        line = f" in line {error.lineno}" if isinstance(error, SyntaxError) and error.lineno else ""
        text = error.msg if isinstance(error, SyntaxError) else str(error)
        raise InvalidError(f"the source does not parse: {type(error).__name__}{line}: {text}") from None
    # Registered, because dataclasses and pickling look a class's module up by name.
    module = sys.modules["candidate"] = types.ModuleType("candidate")
    exec(code, module.__dict__)
    found = module.__dict__.get(function)
    if not callable(found):
        raise InvalidError(f"the source defines no function {function}")
    heuristic: Callable[..., Any] = found
    return heuristic


def solve_all(job: Job, heuristic: Heuristic) -> None:
    """Solve the instances in order; the global generators restart from each instance's own seed."""
    for instance in job.instances:
        random.seed(instance.seed)
        np.random.seed(instance.seed % 2**32)  # noqa: NPY002 - candidates use the global generator
        solution = job.problem.solve(heuristic, instance)
        try:
            encoded = encode_solution(solution)
        except (ValueError, TypeError) as error:
            raise InvalidError(f"the result is not a solution: {error}") from None
        write_all(RESULT_FD, encoded)


def describe(error: BaseException) -> Failure:
    """A failure record for an exception, with the innermost line of the candidate that was running."""
    kind: results.FailureKind = "crash"
    if isinstance(error, InvalidError | Infeasible):
        kind = "invalid" if isinstance(error, InvalidError) else "infeasible"
    line = None
    frame = error.__traceback__
    while frame is not None:
        if frame.tb_frame.f_code.co_filename == SOURCE_NAME:
            line = frame.tb_lineno
        frame = frame.tb_next
    name = "" if kind != "crash" else type(error).__name__
    return Failure(kind, name, _text_of(error), line)


def _text_of(error: BaseException) -> str:
    # The exception may be the candidate's own class, whose __str__ is untrusted and may raise.
    try:
        return str(error)
    except BaseException:
        return "(its message could not be made)"

"""The contract of a problem folder, check by check."""

from collections.abc import Callable, Generator
from contextlib import ExitStack
from typing import Any

from coevo.authoring import checks_sandbox, checks_text, worker
from coevo.authoring.bench import Bench, StuckError
from coevo.authoring.findings import Check, Finding, Result, Status, failed, skipped
from coevo.authoring.isolated import Isolated
from coevo.content import ProblemFolder
from coevo.errors import ContentError, SandboxError
from coevo.evaluation.verdict import printable_line

DEADLINE_S = 180.0
"""What a check may take on the clock; compiling a problem's kernels for the first time is part of one."""
WITH_A_MODEL = "embedded model"
CHECKS: tuple[Check[Any], ...] = (*checks_text.CHECKS, *worker.CHECKS, *checks_sandbox.CHECKS)
"""Every check, in the order in which they are run."""


def check_problem(
    folder: ProblemFolder,
    begin: Callable[[str], None] = lambda _: None,
    *,
    with_model: bool = True,
    deadline_s: float = DEADLINE_S,
    unsafe: bool = False,
) -> Generator[Result, None, None]:
    """Check that a problem folder keeps its contract; each result as soon as it is there.

    Args:
        folder: The folder; its metadata has been read already.
        begin: Told the name of each check before it is run.
        with_model: Whether the embedded model, too, is asked to write for it.
        deadline_s: What one check may take on the clock.
        unsafe: Run heuristics without bubblewrap.

    Raises:
        SandboxError: If this machine cannot contain code, whatever the problem.
        ModelError: If the embedded model cannot be served here.
    """
    seen: dict[str, Status] = {}
    with ExitStack() as stack:
        bench = stack.enter_context(Bench(folder, deadline_s, unsafe))
        isolated = stack.enter_context(Isolated(folder.path, deadline_s))
        for check in CHECKS:
            if check.name == WITH_A_MODEL and not with_model:
                continue
            begin(check.name)
            found = _unmet(check, seen) or _run(check, folder, bench, isolated)
            seen[check.name] = found.status
            yield Result(check.name, check.description, found.status, found.text)


def _unmet(check: Check[Any], seen: dict[str, Status]) -> Finding | None:
    """Why a check says nothing, if one that it needs has not come out well."""
    missing = [name for name in check.needs if seen[name] in ("failed", "skipped")]
    return skipped(f"it needs the check {missing[0]}") if missing else None


def _run(check: Check[Any], folder: ProblemFolder, bench: Bench, isolated: Isolated) -> Finding:
    if check in worker.CHECKS:
        return isolated.ask(check.name)
    if check in checks_text.CHECKS:
        return _caught(check.run, folder)
    return _caught(check.run, bench)


def _caught(run: Callable[[Any], Finding], subject: Any) -> Finding:
    """The finding, on one line; what the problem brings upon a judge is its failure too."""
    try:
        found = run(subject)
    except (ContentError, SandboxError, StuckError) as error:
        found = failed(str(error))
    return Finding(found.status, printable_line(found.text))

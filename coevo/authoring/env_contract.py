"""The contract of an environment folder, check by check."""

from collections.abc import Callable, Generator, Mapping
from typing import Any

from coevo.authoring import env_checks_text, env_worker
from coevo.authoring.env_isolated import IsolatedEnvironment
from coevo.authoring.findings import Check, Finding, Result, Status, skipped
from coevo.environments.loading import EnvironmentFolder
from coevo.evaluation.verdict import printable_line

DEADLINE_S = 900.0
"""What a check may take on the clock, all its episodes together; a call that hangs is ended long before."""
CHECKS: tuple[Check[Any], ...] = (*env_checks_text.CHECKS, *env_worker.CHECKS)
"""Every check, in the order in which they are run."""


def check_environment(
    folder: EnvironmentFolder,
    options: Mapping[str, Any],
    begin: Callable[[str], None] = lambda _: None,
    *,
    deadline_s: float = DEADLINE_S,
) -> Generator[Result, None, None]:
    """Check that an environment folder keeps its contract; each result as soon as it is there.

    Args:
        folder: The folder; its metadata has been read already.
        options: Every option by name (`coevo.environments.loading.read_options`).
        begin: Told the name of each check before it is run.
        deadline_s: What one check may take on the clock.
    """
    seen: dict[str, Status] = {}
    with IsolatedEnvironment(folder.path, options, deadline_s) as isolated:
        for check in CHECKS:
            begin(check.name)
            found = _unmet(check, seen) or _run(check, folder, isolated)
            seen[check.name] = found.status
            yield Result(check.name, check.description, found.status, found.text)


def _unmet(check: Check[Any], seen: Mapping[str, Status]) -> Finding | None:
    """Why a check says nothing, if one that it needs has not come out well."""
    missing = [name for name in check.needs if seen[name] in ("failed", "skipped")]
    return skipped(f"it needs the check {missing[0]}") if missing else None


def _run(check: Check[Any], folder: EnvironmentFolder, isolated: IsolatedEnvironment) -> Finding:
    if check in env_worker.CHECKS:
        return isolated.ask(check.name)
    found: Finding = check.run(folder)
    return Finding(found.status, printable_line(found.text))

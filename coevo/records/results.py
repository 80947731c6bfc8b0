"""A run's result, read back as what it was written from, and whether its log came to the end that it tells of."""

from collections import deque
from pathlib import Path
from typing import TypeVar

from pydantic import BaseModel, ValidationError

from coevo.errors import RunError
from coevo.explaining import explain
from coevo.records.event_log import ASIDE, NOTE, read_events
from coevo.records.run_directory import RunDirectory

Result = TypeVar("Result", bound=BaseModel)


def read_result(run: Path, model: type[Result], what: str) -> Result | None:
    """The result of a run, or None while there is none.

    Args:
        run: Its directory.
        model: What the result was written from.
        what: Whose result that is, such as "a probe".

    Raises:
        RunError: If `run` is not a run directory, or the result is not one of these, or of another version.
    """
    directory = RunDirectory.open(run)
    values = directory.result()
    try:
        return None if values is None else model.model_validate(values)
    except ValidationError as error:
        raise RunError(f"{directory.result_file}: expected that of {what}: {explain(error)}") from error


def check_end(run: Path) -> None:
    """Refuse to take a run for finished whose log does not end as that of a finished run.

    Raises:
        RunError: If the log cannot be read, or ends with another event than `finished`.
    """
    directory = RunDirectory(run)
    last = deque((event["kind"] for event in read_events(directory.events) if event.get(ASIDE) != NOTE), maxlen=1)
    if "finished" not in last:
        raise RunError(
            f"expected {directory.events} to end with the event finished, got {last[0] if last else 'none'}; "
            f"restore it, or delete {directory.result_file} and go on with: coevo resume {run}"
        )

"""The history of a run's steps: one JSON line each, and a full checkpoint.

An update is a few directions and coefficients, and noise is a pure function, so base weights and this file give the
trained weights bit for bit. Replay consumes the recorded coefficients and never recomputes them from the rewards.
"""

import logging
from collections.abc import Iterable, Iterator, Sequence

from coevo.errors import RunError
from coevo.es.record import StepRecord
from coevo.interfaces import Update

_log = logging.getLogger(__name__)


def read_history(lines: Iterable[str]) -> list[StepRecord]:
    """All records of a history, checked to be one run in order.

    A last line without newline that cannot be read was cut off by a kill: it is left out, with a warning in the log.

    Raises:
        RunError: If a line cannot be read, names another run or recipe, or does not come after the step before it.
    """
    every = [line for line in lines if line.strip()]
    records: list[StepRecord] = []
    for number, line in enumerate(every, 1):
        try:
            record = StepRecord.from_line(line)
            _check_follows(records, record)
        except RunError as error:
            if number == len(every) and not line.endswith(("\n", "}")):
                _log.warning("history line %d is cut off and left out", number)
                break
            raise RunError(f"history line {number}: {error}") from error
        records.append(record)
    return records


def updates(lines: Iterable[str]) -> Iterator[Update]:
    """The updates of a history, in order, with the recorded coefficients; what replay feeds to `Engine.commit`.

    Raises:
        RunError: As `read_history`; raised before the first update is given out.
    """
    moved = (record.update for record in read_history(lines))
    return (update for update in moved if update is not None)


def _check_follows(records: Sequence[StepRecord], record: StepRecord) -> None:
    if not records:
        return
    before = records[-1]
    if record.run_key != before.run_key:
        raise RunError(f"expected a step of run {before.run_key}, got run {record.run_key}; do not join histories")
    if record.step <= before.step:
        raise RunError(f"expected a step after {before.step}, got {record.step}; the history is out of order")
    if record.recipe != before.recipe:
        raise RunError(f"expected weights kept as before, {_told(before)}, got {_told(record)}; do not join histories")


def _told(record: StepRecord) -> str:
    basis = f", basis {record.basis}" if record.recipe.basis else ""
    return f"scope {record.scope}, {record.storage}, rule {record.update_rule}{basis}"

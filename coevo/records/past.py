"""What a resumed run need not do again: completions it has received and verdicts it has been given.

Both functions raise `RunError` for events that lack what this version writes.
"""

from collections.abc import Iterable

from coevo.candidate import STATUSES, Evaluation
from coevo.errors import RunError
from coevo.interfaces import Completion
from coevo.records.event_log import Event

KEPT = "kept"
"""The kind of a note: a completion that came before its turn in a batch that was then broken off."""


def completions(events: Iterable[Event]) -> dict[str, Completion]:
    """Every recorded completion, by request id, also those noted before their turn had come."""
    return dict(_completion(event) for event in events if event["kind"] in ("completion", KEPT))


def verdicts(events: Iterable[Event]) -> dict[tuple[str, str], Evaluation]:
    """Every recorded verdict, by candidate identity and split; without the values of single instances."""
    return dict(_verdict(event) for event in events if event["kind"] == "verdict")


def _completion(event: Event) -> tuple[str, Completion]:
    try:
        name, text = str(event["id"]), str(event["text"])
        return name, Completion(name, text, event["finish"], int(event["tokens"]))
    except (KeyError, TypeError, ValueError) as error:
        raise _foreign(event, error) from error


def _verdict(event: Event) -> tuple[tuple[str, str], Evaluation]:
    try:
        cost, objective = (None if event[key] is None else float(event[key]) for key in ("cost", "objective"))
        if event["status"] not in STATUSES or (event["status"] == "ok") != (cost is not None):
            raise ValueError(f"status {event['status']!r} with cost {event['cost']!r}")
        evaluation = Evaluation(
            event["status"], str(event["detail"]), cost, objective, cpu_s=float(event["clock"]["cpu_s"])
        )
        return (str(event["candidate"]), str(event["split"])), evaluation
    except (KeyError, TypeError, ValueError) as error:
        raise _foreign(event, error) from error


def _foreign(event: Event, error: Exception) -> RunError:
    return RunError(
        f"expected a {event['kind']} event as this version writes it, got {str(dict(event))[:120]}: "
        f"{type(error).__name__} {error}; the log was edited, or another version wrote it"
    )

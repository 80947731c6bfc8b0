"""What a resumed run need not do again: completions it has received and verdicts it has been given."""

from collections.abc import Iterable

from coevo.candidate import Evaluation
from coevo.interfaces import Completion
from coevo.records.event_log import Event


def completions(events: Iterable[Event]) -> dict[str, Completion]:
    """Every recorded completion, by request id."""
    return {
        event["id"]: Completion(event["id"], event["text"], event["finish"], event["tokens"])
        for event in events
        if event["kind"] == "completion"
    }


def verdicts(events: Iterable[Event]) -> dict[tuple[str, str], Evaluation]:
    """Every recorded verdict, by candidate identity and split; without the values of single instances."""
    return {
        (event["candidate"], event["split"]): Evaluation(
            event["status"], event["detail"], event["cost"], event["objective"], cpu_s=event["clock"]["cpu_s"]
        )
        for event in events
        if event["kind"] == "verdict"
    }

"""Events read one by one: what is not as this version writes it is refused with the event that shows it."""

from collections.abc import Callable, Mapping

from coevo.errors import RunError, one_line
from coevo.records.event_log import Event

Handler = Callable[[Event], None]
Handlers = Mapping[str, Handler]
"""What takes the events of each kind."""

_SHOWN = 120
"""Characters of an event and of a reason that a message quotes."""


def take(event: Event, handlers: Handlers, first: Handler | None = None) -> None:
    """Hand an event to whatever takes its kind; other kinds are passed over.

    Args:
        event: The event.
        handlers: By kind.
        first: Takes events of every kind, before that.

    Raises:
        RunError: If it lacks what this version writes.
    """
    try:
        if first is not None:
            first(event)
        if (handler := handlers.get(event["kind"])) is not None:
            handler(event)
    except (LookupError, TypeError, ValueError, AttributeError, ArithmeticError) as error:
        reason = one_line(error, _SHOWN)
        raise RunError(
            f"expected a {event['kind']} event as this version writes it, got {str(dict(event))[:_SHOWN]}: "
            f"{type(error).__name__} {reason}; the log was edited, or another version wrote it"
        ) from error


def number(value: float | None) -> float | None:
    """A number that an event may leave open, as a float."""
    return None if value is None else float(value)

"""Episodes played once and recorded in order: what a resumed job finds in its log is not played again."""

from collections.abc import Callable, Iterator, Sequence

from coevo.records.event_log import EventLog
from coevo.tuning.episodes import Assignment, Episode, past_episodes

Play = Callable[[Sequence[Assignment]], Iterator[Episode]]
"""Plays assignments to their end, each yielded once, in any order."""


class Recorder:
    """Plays batches of assignments and records them.

    Args:
        log: Where each episode is an event.
    """

    def __init__(self, log: EventLog) -> None:
        self._log = log
        self._past = past_episodes(log.recorded)

    def played(self, play: Play, assignments: Sequence[Assignment]) -> list[Episode]:
        """The episodes of a batch, in the order of its assignments, which is also that of their events.

        Args:
            play: Is called for what the log does not hold, and not at all where it holds everything.
            assignments: With ids that no other batch has.
        """
        arrived = {a.id: self._past[a.id] for a in assignments if a.id in self._past}
        left = [assignment for assignment in assignments if assignment.id not in arrived]
        recorded = self._record(assignments, arrived, 0)
        for episode in play(left) if left else ():
            arrived[episode.id] = episode
            recorded = self._record(assignments, arrived, recorded)
        return [arrived[assignment.id] for assignment in assignments]

    def _record(self, assignments: Sequence[Assignment], arrived: dict[str, Episode], place: int) -> int:
        """Record what has come without a gap from a place on; the place of the first that is awaited."""
        while place < len(assignments) and (found := arrived.get(assignments[place].id)) is not None:
            self._log.emit("episode", **found.facts())
            place += 1
        return place

"""The tokens of the turns that were played: what a policy gradient learns from.

They are those that were read and drawn, noted where they are drawn; text would not do, because several rows of tokens
can spell the same. The journal is a file, so that a resumed run has the turns of episodes that it need not play again.
"""

import json
import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from coevo.errors import RunError
from coevo.interfaces import Request
from coevo.tuning.episodes import Episode


@dataclass(frozen=True, slots=True)
class TurnTokens:
    """One turn: what the model read, and what it drew, the end token included."""

    prompt: tuple[int, ...]
    answer: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Played:
    """An episode to learn from.

    Attributes:
        task: Name of its task.
        score: Maximised.
        turns: Those that the environment took, in order.
    """

    task: str
    score: float
    turns: tuple[TurnTokens, ...]


class Journal:
    """The turns of the generation that is being played; every one is in the file before its answer is used.

    Args:
        file: JSON lines; made if missing. A torn last line (a crash in the middle of a write) is left out.
    """

    def __init__(self, file: Path) -> None:
        self._turns: dict[str, list[TurnTokens]] = {}
        lines = file.read_bytes().splitlines(keepends=True) if file.exists() else []
        whole = [line for line in lines if line.endswith(b"\n")]
        for line in whole:
            self._keep(*json.loads(line))
        # What is there stays there: a run that is killed again before its next turn must find it once more.
        self._file = file.open("r+b" if file.exists() else "w+b")
        self._file.truncate(sum(map(len, whole)))
        self._file.seek(0, os.SEEK_END)

    def note(self, request: Request, prompt: Sequence[int], answer: Sequence[int]) -> None:
        """Keep a turn, known by the id of its request: episode, number of the turn, attempt."""
        line = json.dumps([request.id, list(prompt), list(answer)], separators=(",", ":"))
        self._file.write(line.encode() + b"\n")
        self._file.flush()
        self._keep(request.id, prompt, answer)

    def played(self, episodes: Sequence[Episode], dropped: Sequence[str]) -> list[Played]:
        """The episodes that count, with their turns, in the given order.

        Args:
            episodes: Of one generation.
            dropped: Tasks that are left out for all, because their surroundings failed somewhere.

        Raises:
            RunError: If turns of an episode are missing.
        """
        counted = [e for e in episodes if e.score is not None and e.task not in dropped]
        return [Played(e.task, float(e.score or 0.0), self._turns_of(e)) for e in counted]

    def clear(self) -> None:
        """Forget all turns: they have been learned from."""
        self._turns.clear()
        self._file.truncate(0)
        self._file.seek(0)

    def close(self) -> None:
        """Close the file; safe to call twice."""
        self._file.close()

    def _keep(self, request: str, prompt: Sequence[int], answer: Sequence[int]) -> None:
        episode, number, _ = request.rsplit(".", 2)
        if number == "0":  # of an episode that begins again, only what comes now counts
            self._turns[episode] = []
        self._turns.setdefault(episode, []).append(TurnTokens(tuple(prompt), tuple(answer)))

    def _turns_of(self, episode: Episode) -> tuple[TurnTokens, ...]:
        found = self._turns.get(episode.id, [])[: episode.turns]
        if len(found) < episode.turns:
            raise RunError(
                f"expected {episode.turns} turns of episode {episode.id} in {self._file.name}, found {len(found)}; "
                "the file was lost or edited: start the run again"
            )
        return tuple(found)

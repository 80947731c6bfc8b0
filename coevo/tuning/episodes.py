"""Episodes as values: what is to be played, and what came of it."""

from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass
from typing import Any, Literal, get_args

from coevo.errors import RunError
from coevo.interfaces import Member, Task
from coevo.records.event_log import Event

Ended = Literal["done", "truncated", "turns", "tokens", "context", "fault"]
"""By the environment's rules, by its own limit, at the limit of turns or of tokens, because the conversation no longer
fits the model's context, or because the surroundings failed."""


@dataclass(frozen=True, slots=True)
class Assignment:
    """One episode to be played.

    Attributes:
        id: Unique in the run.
        task: What is to be done.
        seed: Of whatever is random about the environment.
        sampling: Root of the sampling seeds of its turns.
        member: The perturbed model that plays, or None for the unperturbed one.
        is_kept: Whether its conversation is recorded.
    """

    id: str
    task: Task
    seed: int
    sampling: int
    member: Member | None = None
    is_kept: bool = False


@dataclass(frozen=True, slots=True)
class Turn:
    """One turn of a recorded conversation.

    Attributes:
        said: What the agent answered.
        heard: What the environment said to it, all messages in one text.
        info: What the environment notes of it.
    """

    said: str
    heard: str
    info: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Episode:
    """One episode that was played.

    Attributes:
        id: That of its assignment.
        task: Name of the task.
        score: Sum of its rewards, maximised; None where the surroundings failed, which says nothing of the agent.
        turns: Answers that the environment took.
        tokens: Generated, over all turns.
        ended: Why it was over.
        detail: What failed, in one line; empty otherwise.
        lost: Tokens generated in attempts that were given up because the surroundings failed; `tokens` has them not.
        opening: What the agent was told first; empty unless the conversation is kept.
        transcript: Its turns, likewise.
    """

    id: str
    task: str
    score: float | None
    turns: int
    tokens: int
    ended: Ended
    detail: str = ""
    lost: int = 0
    opening: str = ""
    transcript: tuple[Turn, ...] = ()

    def facts(self) -> dict[str, Any]:
        """The fields of its event."""
        values = asdict(self)
        if not self.lost:
            del values["lost"]
        if not self.opening:
            del values["opening"], values["transcript"]
        return values


def past_episodes(events: Iterable[Event]) -> dict[str, Episode]:
    """Every recorded episode, by id: what a resumed run need not play again.

    Raises:
        RunError: For an event that lacks what this version writes.
    """
    return dict(_episode(event) for event in events if event["kind"] == "episode")


def _episode(event: Event) -> tuple[str, Episode]:
    try:
        name, score, ended = str(event["id"]), event["score"], event["ended"]
        if ended not in get_args(Ended) or (score is None) != (ended == "fault"):
            raise ValueError(f"score {score!r} of an episode that ended by {ended!r}")
        turns = tuple(Turn(t["said"], t["heard"], t["info"]) for t in event.get("transcript", ()))
        found = Episode(
            name,
            str(event["task"]),
            None if score is None else float(score),
            int(event["turns"]),
            int(event["tokens"]),
            ended,
            str(event["detail"]),
            int(event.get("lost", 0)),
            str(event.get("opening", "")),
            turns,
        )
    except (KeyError, TypeError, ValueError) as error:
        raise RunError(
            f"expected an episode event as this version writes it, got {str(dict(event))[:120]}: {error}; "
            "the log was edited, or another version wrote it"
        ) from error
    return name, found

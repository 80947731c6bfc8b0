"""An engine made of worker processes that hold the weights; this process holds none and never imports torch.

Every worker applies a committed update itself, from the same few numbers, and all have to arrive at the same
fingerprint. One that dies is replaced by another that replays the updates.
"""

import logging
from collections import deque
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import count, pairwise
from multiprocessing.connection import wait
from pathlib import Path
from typing import Self

from coevo.engines import wire
from coevo.engines.worker_process import WorkerProcess, WorkerSpec
from coevo.errors import ModelError
from coevo.interfaces import Completion, Member, Request, Update

_log = logging.getLogger(__name__)


@dataclass
class _Group:
    """Requests of one member that one worker answers together; `deaths` counts the workers that died over it."""

    requests: dict[str, Request]
    deaths: int = 0


@dataclass
class _Seat:
    """A worker and the groups it was given, by ticket, in the order in which it answers them."""

    worker: WorkerProcess
    tickets: dict[int, _Group] = field(default_factory=dict)


def split_into_groups(requests: Sequence[Request], parts: int) -> list[list[Request]]:
    """Requests of one model together, in order of first appearance; those of the base in `parts` contiguous groups.

    Low-rank members are served beside the base, in one batch, so their requests are grouped like the base's.

    A pure function of its arguments: which worker is free when, never decides what is computed together.
    """
    by_member: dict[Member | None, list[Request]] = {}
    for request in requests:
        is_dense = request.member is not None and request.member.rank == 0
        by_member.setdefault(request.member if is_dense else None, []).append(request)
    groups: list[list[Request]] = []
    for member, members_requests in by_member.items():
        pieces = min(parts, len(members_requests)) if member is None else 1
        bounds = [len(members_requests) * piece // pieces for piece in range(pieces + 1)]
        groups += [members_requests[a:b] for a, b in pairwise(bounds)]
    return groups


class WorkerEngine:
    """See `coevo.interfaces.Engine`. One `generate` at a time: a new one abandons what is left of the last.

    Args:
        spec: How to start a worker.
        workers: How many, all alike.
        rank: The highest rank of members that workers can serve beside the base.
    """

    def __init__(self, spec: WorkerSpec, workers: int, rank: int = 0) -> None:
        self._spec = spec
        self._seats = [_Seat(WorkerProcess(self._spec)) for _ in range(workers)]
        self._rank = rank
        self._is_ready = False
        self._is_closed = False
        self._tickets = count()
        self._updates: list[Update] = []
        self._fingerprint: int | None = None

    @property
    def worker_pids(self) -> tuple[int, ...]:
        """Process numbers of the workers."""
        return tuple(seat.worker.pid for seat in self._seats)

    def wait_ready(self) -> None:
        """Block until every worker has loaded the model; the first call of anything else does it too.

        Raises:
            ModelError: If the model cannot be loaded.
        """
        if self._is_closed:
            raise RuntimeError("the engine is closed")
        if not self._is_ready:
            for seat in self._seats:
                seat.worker.wait_ready()
            self._is_ready = True

    def generate(self, requests: Sequence[Request]) -> Iterator[Completion]:
        """See `Engine`. Completions come as rows finish, so their order depends on timing; their content does not.

        Raises:
            ModelError: If a second worker dies over the same group, or a replacement cannot catch up.
        """
        if len({request.id for request in requests}) < len(requests):
            raise ValueError("every request needs an id of its own, got one twice")
        if (most := max((request.member.rank for request in requests if request.member), default=0)) > self._rank:
            raise ValueError(f"expected members of rank {self._rank} or less, for which it was started, got {most}")
        self.wait_ready()
        for seat in self._seats:
            seat.tickets.clear()
        groups = split_into_groups(requests, len(self._seats))
        pending = deque(_Group({request.id: request for request in group}) for group in groups)
        while pending or any(seat.tickets for seat in self._seats):
            self._hand_out(pending)
            for seat in self._seats_with_news():
                yield from self._collect(seat, pending)

    def commit(self, update: Update) -> int:
        """See `Engine`.

        Raises:
            ValueError: If this step, or a later one of its run, has been applied already.
            ModelError: If workers disagree on the new weights.
        """
        last = self._updates[-1] if self._updates else None
        if last is not None and update.run_key == last.run_key and update.step <= last.step:
            raise ValueError(f"expected an update after step {last.step}, got step {update.step}: applied already")
        self.wait_ready()
        self._updates.append(update)
        self._fingerprint = None
        self._fingerprint = self._agree({"do": "commit", "updates": [wire.pack_update(update)]})
        return self._fingerprint

    def fingerprint(self) -> int:
        """See `Engine`.

        Raises:
            ModelError: If workers disagree, or the weights are not those of the last time although no update came.
        """
        self.wait_ready()
        found = self._agree({"do": "fingerprint"})
        if self._fingerprint not in (None, found):
            raise ModelError(
                f"expected weights of fingerprint {self._fingerprint:016x}, got {found:016x} without an update; "
                "check the memory of this machine and resume the run"
            )
        self._fingerprint = found
        return found

    def export(self, folder: Path) -> None:
        """See `Engine`: safetensors in the exact type, config, tokenizer and card, as `from_pretrained` loads them.

        Raises:
            ModelError: If two workers die over it, or the folder cannot be written.
        """
        self.wait_ready()
        seat = self._seats[0]
        for _ in range(2):
            seat.worker.send({"do": "export", "folder": str(folder.resolve())})
            if self._answer(seat, "exported") is not None:
                return
            words = seat.worker.last_words()
            self._replace(seat)
        raise ModelError(f"expected a worker to write {folder}, but two died over it: {words}; check the disk")

    def close(self) -> None:
        """See `Engine`."""
        self._is_closed = True
        for seat in self._seats:
            seat.worker.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _hand_out(self, pending: deque[_Group]) -> None:
        """Give groups to idle workers; while there are plenty, one in advance, so that none waits for this loop."""
        for seat in self._seats:
            depth = 2 if len(pending) > len(self._seats) else 1
            while pending and len(seat.tickets) < depth:
                group, ticket = pending.popleft(), next(self._tickets)
                seat.tickets[ticket] = group
                packed = [wire.pack_request(request) for request in group.requests.values()]
                seat.worker.send({"do": "generate", "ticket": ticket, "requests": packed})

    def _seats_with_news(self) -> list[_Seat]:
        speaking = wait([seat.worker.connection for seat in self._seats])
        return [seat for seat in self._seats if seat.worker.connection in speaking]

    def _collect(self, seat: _Seat, pending: deque[_Group]) -> Iterator[Completion]:
        try:
            message = seat.worker.receive()
        except EOFError:
            self._recover(seat, pending)
            return
        group = seat.tickets.get(message.get("ticket", -1))
        if group is None:
            return
        if message["done"]:
            del seat.tickets[message["ticket"]]
        for values in message["completions"]:
            completion = wire.unpack_completion(values)
            del group.requests[completion.request_id]
            yield completion

    def _recover(self, seat: _Seat, pending: deque[_Group]) -> None:
        """Replace a dead worker and put what it left unanswered back at the head of the queue."""
        left = [group for group in seat.tickets.values() if group.requests]
        words = seat.worker.last_words()
        _log.warning("a model worker died (%s); it is replaced", words)
        if left:
            left[0].deaths += 1
            if left[0].deaths > 1:
                raise ModelError(
                    f"two workers died over the same {len(left[0].requests)} requests ({words}); "
                    "check the memory of this machine, or use fewer workers"
                )
        self._replace(seat)
        pending.extendleft(reversed(left))

    def _replace(self, seat: _Seat) -> None:
        """Seat a new worker that has replayed every committed update and agrees with the fingerprint."""
        seat.worker.close()
        seat.tickets.clear()
        seat.worker = WorkerProcess(self._spec)
        seat.worker.wait_ready()
        seat.worker.send({"do": "commit", "updates": [wire.pack_update(update) for update in self._updates]})
        reached = self._answer(seat, "fingerprint")
        if reached is None or self._fingerprint not in (None, reached):
            raise ModelError(
                f"expected a replacement worker to reach fingerprint {self._fingerprint} by replaying "
                f"{len(self._updates)} updates, got {reached}; check the model folder {self._spec.path} and the memory"
            )

    def _agree(self, message: wire.Message) -> int:
        """Ask every worker for its fingerprint and return the one they all have."""
        for seat in self._seats:
            seat.worker.send(message)
        found = {}
        for seat in self._seats:
            answer = self._answer(seat, "fingerprint")
            if answer is None:
                self._replace(seat)
                seat.worker.send({"do": "fingerprint"})
                answer = self._answer(seat, "fingerprint")
            found[seat.worker.pid] = answer
        values = set(found.values())
        if len(values) != 1 or None in values:
            raise ModelError(
                f"expected every worker to hold the same weights, got fingerprints {found}; "
                "check the memory of this machine and resume the run"
            )
        return int(values.pop() or 0)

    def _answer(self, seat: _Seat, key: str) -> int | str | None:
        """The worker's answer under a key, past what is left of an abandoned `generate`; None if it has died."""
        seat.tickets.clear()
        try:
            while key not in (message := seat.worker.receive()):
                pass
        except EOFError:
            return None
        value: int | str = message[key]
        return value

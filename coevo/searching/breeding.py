"""Children, a batch at a time: charged, asked, read, evaluated, recorded; generation and evaluation overlap.

The order of events never depends on which answer comes first: completions are recorded in request order, then children
in request order. A request is recorded as charged before it is sent; on resume, what the log already holds is not asked
again, and what was charged but not answered is asked under the same id and seed and not charged again.
"""

import hashlib
from collections import deque
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from coevo.candidate import Candidate, Evaluation
from coevo.content import ProblemFolder
from coevo.evolution.operators import Operator
from coevo.evolution.population import Scored
from coevo.evolution.renderers import Renderer
from coevo.interfaces import Completion, Engine, Member, Request, Sampling
from coevo.records.event_log import EventLog
from coevo.records.past import completions
from coevo.searching.examiner import Examiner


@dataclass(frozen=True, slots=True)
class Assignment:
    """What one child is to be made of.

    Attributes:
        parents: In prompt order.
        seed: Sampling seed, one of its own for every completion.
        member: The perturbed model that writes the child, or None for the unperturbed one.
    """

    parents: tuple[Scored, ...]
    seed: int
    member: Member | None = None


@dataclass(frozen=True, slots=True)
class Child:
    """What became of an assignment. `candidate` is None where the answer holds no program."""

    candidate: Candidate | None
    evaluation: Evaluation
    parents: tuple[Scored, ...]
    member: Member | None

    @property
    def scored(self) -> Scored | None:
        """The child as the population takes it, or None if it is not valid."""
        if self.candidate is None or self.evaluation.cost is None:
            return None
        return Scored(self.candidate, self.evaluation.cost)


@dataclass(frozen=True, slots=True)
class _Draft:
    """An answer that has been read: a candidate, or the reason why there is none."""

    candidate: Candidate | None
    reason: str


class Breeder:
    """Makes children; one per run."""

    def __init__(self, problem: ProblemFolder, engine: Engine, renderer: Renderer, log: EventLog, examiner: Examiner):
        self._problem = problem
        self._engine = engine
        self._renderer = renderer
        self._log = log
        self._examiner = examiner
        self._past = completions(log.recorded)

    def breed(
        self, operator: Operator, generation: int, wanted: Sequence[Assignment], sampling: Sampling
    ) -> list[Child]:
        """Make a batch of children with one operator, in the order of the assignments.

        Args:
            operator: Who asks.
            generation: 0 for the first population, then 1, 2, …
            wanted: One assignment per completion; each costs one unit of budget.
            sampling: Limits and distribution of the completions.
        """
        requests = [
            self._request(operator, f"{generation}.{operator.name}.{place}", assignment, sampling)
            for place, assignment in enumerate(wanted)
        ]
        self._log.emit("asked", operator=operator.name, generation=generation, requests=[_charge(r) for r in requests])
        drafts: dict[str, _Draft] = {}
        assigned = dict(zip((request.id for request in requests), wanted, strict=True))
        for completion in self._answers(requests):
            draft = self._read(operator, assigned[completion.request_id], completion)
            drafts[completion.request_id] = draft
            if draft.candidate is not None:
                self._examiner.begin(draft.candidate)
        return [self._child(r.id, operator, generation, assigned[r.id], drafts[r.id]) for r in requests]

    def _request(self, operator: Operator, name: str, assignment: Assignment, sampling: Sampling) -> Request:
        parents = [parent.candidate for parent in assignment.parents]
        text = self._renderer.render(operator, self._problem, parents)
        return Request(name, text, assignment.seed, assignment.member, sampling)

    def _answers(self, requests: Sequence[Request]) -> Iterator[Completion]:
        """Every completion as soon as it is there; recorded in request order, each as soon as its turn has come."""
        unanswered = [request for request in requests if request.id not in self._past]
        arrived = {request.id: self._past[request.id] for request in requests if request.id in self._past}
        awaited = deque(requests)
        yield from list(arrived.values())
        self._record_turns(awaited, arrived)
        for completion in self._engine.generate(unanswered) if unanswered else ():
            arrived[completion.request_id] = completion
            self._record_turns(awaited, arrived)
            yield completion

    def _record_turns(self, awaited: deque[Request], arrived: Mapping[str, Completion]) -> None:
        """Record, and take off the queue, the completions whose turn has come."""
        while awaited and awaited[0].id in arrived:
            self._record(arrived[awaited.popleft().id])

    def _record(self, completion: Completion) -> None:
        self._log.emit(
            "completion",
            id=completion.request_id,
            text=completion.text,
            finish=completion.finish,
            tokens=completion.num_tokens,
        )

    def _read(self, operator: Operator, assignment: Assignment, completion: Completion) -> _Draft:
        if completion.finish == "length":
            return _Draft(None, f"the answer was cut off after {completion.num_tokens} tokens")
        reading = self._renderer.read(self._problem, completion.text)
        if reading.reason:
            return _Draft(None, reading.reason)
        parents = tuple(parent.candidate.identity for parent in assignment.parents)
        return _Draft(Candidate(reading.code, reading.thought, operator.name, parents), "")

    def _child(self, name: str, operator: Operator, generation: int, assignment: Assignment, draft: _Draft) -> Child:
        if draft.candidate is None:
            evaluation = Evaluation("invalid", draft.reason)
        else:
            evaluation = self._examiner.verdict(draft.candidate)
        self._log.emit(
            "child",
            id=name,
            operator=operator.name,
            generation=generation,
            member=assignment.member.identity if assignment.member else None,
            parents=[parent.candidate.identity for parent in assignment.parents],
            candidate=draft.candidate.identity if draft.candidate else None,
            status=evaluation.status,
            detail=evaluation.detail,
            cost=evaluation.cost,
        )
        return Child(draft.candidate, evaluation, assignment.parents, assignment.member)


def _charge(request: Request) -> dict[str, object]:
    """A request as it is recorded; by the hash of its prompt a resumed run notices changed operators or problems."""
    prompt = hashlib.blake2b(request.text.encode(), digest_size=8).hexdigest()
    member = request.member.identity if request.member else None
    return {"id": request.id, "seed": request.seed, "member": member, "prompt": prompt}

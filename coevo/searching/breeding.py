"""Children, a batch at a time: charged, asked, read, evaluated, recorded; generation and evaluation overlap.

The order of events never depends on which answer comes first: completions are recorded in request order, then children
in request order.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field

from coevo.candidate import Candidate, Evaluation
from coevo.content import ProblemFolder
from coevo.evolution.operators import Operator
from coevo.evolution.population import Scored
from coevo.evolution.renderers import Renderer
from coevo.interfaces import Completion, Guidance, Member, Request, Sampling
from coevo.records.event_log import EventLog
from coevo.searching.asking import Asker
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
class Prompting:
    """What the prompts of a batch have in common.

    Attributes:
        sampling: Limits and distribution of the completions.
        guidance: What the run has learned so far.
    """

    sampling: Sampling
    guidance: Guidance = field(default_factory=Guidance)


@dataclass(frozen=True, slots=True)
class Child:
    """What became of an assignment. `candidate` is None where the answer holds no program; `id` is the completion's."""

    candidate: Candidate | None
    evaluation: Evaluation
    parents: tuple[Scored, ...]
    member: Member | None
    id: str = ""

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

    def __init__(self, problem: ProblemFolder, asker: Asker, renderer: Renderer, log: EventLog, examiner: Examiner):
        self._problem = problem
        self._asker = asker
        self._renderer = renderer
        self._log = log
        self._examiner = examiner

    def breed(
        self, operator: Operator, generation: int, wanted: Sequence[Assignment], prompting: Prompting
    ) -> list[Child]:
        """Make a batch of children with one operator, in the order of the assignments.

        Args:
            operator: Who asks.
            generation: 0 for the first population, then 1, 2, …
            wanted: One assignment per completion; each costs one unit of budget.
            prompting: What all prompts of the batch have in common.
        """
        requests = [
            self._request(operator, f"{generation}.{operator.name}.{place}", assignment, prompting)
            for place, assignment in enumerate(wanted)
        ]
        drafts: dict[str, _Draft] = {}
        assigned = dict(zip((request.id for request in requests), wanted, strict=True))
        for completion in self._asker.ask(requests, operator=operator.name, generation=generation):
            draft = self._read(operator, assigned[completion.request_id], completion)
            drafts[completion.request_id] = draft
            if draft.candidate is not None:
                self._examiner.begin(draft.candidate)
        return [self._child(r.id, operator, generation, assigned[r.id], drafts[r.id]) for r in requests]

    def _request(self, operator: Operator, name: str, assignment: Assignment, prompting: Prompting) -> Request:
        parents = [parent.candidate for parent in assignment.parents]
        text = self._renderer.render(operator, self._problem, parents, prompting.guidance)
        return Request(name, text, assignment.seed, assignment.member, prompting.sampling)

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
        return Child(draft.candidate, evaluation, assignment.parents, assignment.member, name)

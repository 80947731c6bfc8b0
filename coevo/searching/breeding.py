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
from coevo.learning.asking import Asker
from coevo.records.event_log import EventLog
from coevo.searching.examiner import Examiner


@dataclass(frozen=True, slots=True)
class Assignment:
    """What one child is to be made of.

    Attributes:
        operator: Who asks.
        parents: In prompt order.
        seed: Sampling seed, one of its own for every completion.
        member: The perturbed model that writes the child, or None for the unperturbed one.
    """

    operator: Operator
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
        self._drafts: dict[str, _Draft] = {}

    def breed(self, generation: int, wanted: Sequence[Assignment], prompting: Prompting) -> list[Child]:
        """Make a batch of children, in the order of the assignments.

        Args:
            generation: 0 for the first population, then 1, 2, …
            wanted: One assignment per completion; each costs one unit of budget. Their operators may differ.
            prompting: What all prompts of the batch have in common.
        """
        named = {f"{generation}.{each.operator.name}.{place}": each for place, each in enumerate(wanted)}
        requests = [self._request(name, assignment, prompting) for name, assignment in named.items()]
        operators = "+".join(dict.fromkeys(assignment.operator.name for assignment in wanted))
        drafts = self._drafts = {}
        for completion in self._asker.ask(requests, operator=operators, generation=generation):
            draft = self._read(named[completion.request_id], completion)
            drafts[completion.request_id] = draft
            if draft.candidate is not None:
                self._examiner.begin(draft.candidate)
        return [self._child(name, generation, assignment, drafts[name]) for name, assignment in named.items()]

    def rescued(self) -> list[Scored]:
        """What is valid of the latest batch, which was broken off: answers that came have been paid for."""
        candidates = [draft.candidate for draft in self._drafts.values() if draft.candidate is not None]
        verdicts = [(candidate, self._examiner.verdict(candidate)) for candidate in candidates]
        return [Scored(candidate, verdict.cost) for candidate, verdict in verdicts if verdict.cost is not None]

    def _request(self, name: str, assignment: Assignment, prompting: Prompting) -> Request:
        parents = [parent.candidate for parent in assignment.parents]
        text = self._renderer.render(assignment.operator, self._problem, parents, prompting.guidance)
        return Request(name, text, assignment.seed, assignment.member, prompting.sampling)

    def _read(self, assignment: Assignment, completion: Completion) -> _Draft:
        if completion.finish == "length":
            return _Draft(None, f"the answer was cut off after {completion.num_tokens} tokens")
        reading = self._renderer.read(self._problem, completion.text)
        if reading.reason:
            return _Draft(None, reading.reason)
        parents = tuple(parent.candidate.identity for parent in assignment.parents)
        return _Draft(Candidate(reading.code, reading.thought, assignment.operator.name, parents), "")

    def _child(self, name: str, generation: int, assignment: Assignment, draft: _Draft) -> Child:
        if draft.candidate is None:
            evaluation = Evaluation("invalid", draft.reason)
        else:
            evaluation = self._examiner.verdict(draft.candidate)
        self._log.emit(
            "child",
            id=name,
            operator=assignment.operator.name,
            generation=generation,
            member=assignment.member.identity if assignment.member else None,
            parents=[parent.candidate.identity for parent in assignment.parents],
            candidate=draft.candidate.identity if draft.candidate else None,
            status=evaluation.status,
            detail=evaluation.detail,
            cost=evaluation.cost,
        )
        return Child(draft.candidate, evaluation, assignment.parents, assignment.member, name)

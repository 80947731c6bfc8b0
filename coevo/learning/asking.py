"""Completions, charged and recorded: the one way in which a run asks a model anything.

A request is recorded as charged before it is sent. Answers are handed on as soon as they are there and recorded in
request order, whatever order they come in. On resume, what the log already holds is not asked again, and what was
charged but not answered is asked under the same id and seed and not charged again. Where a batch is broken off, answers
whose turn had not come are noted all the same: somebody may have paid for them.
"""

import hashlib
from collections import deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from coevo.engines.endpoint.spending import CapReachedError
from coevo.errors import CoevoError
from coevo.interfaces import Completion, Engine, Request, Sampling
from coevo.learning.seeds import seed_of
from coevo.records.event_log import EventLog
from coevo.records.past import KEPT, completions

SKILL_METER = "skill"
"""The operator in whose name the skill is distilled: its completions are counted apart from those of operators."""


class Asker:
    """Asks one engine on behalf of a run."""

    def __init__(self, engine: Engine, log: EventLog) -> None:
        self._engine = engine
        self._log = log
        self._past = completions(log.recorded)

    def ask(self, requests: Sequence[Request], *, operator: str, generation: int) -> Iterator[Completion]:
        """Charge a batch and yield its completions as they come.

        Args:
            requests: Each costs one unit on the meter of its operator.
            operator: Who asks; `SKILL_METER` is a meter of its own.
            generation: 0 for the first population, then 1, 2, …
        """
        charges = [_charge(request) for request in requests]
        self._log.emit("asked", operator=operator, generation=generation, requests=charges)
        return self._answers(requests)

    def _answers(self, requests: Sequence[Request]) -> Iterator[Completion]:
        unanswered = [request for request in requests if request.id not in self._past]
        arrived = {request.id: self._past[request.id] for request in requests if request.id in self._past}
        awaited = deque(requests)
        yield from list(arrived.values())
        self._record_turns(awaited, arrived)
        try:
            for completion in self._engine.generate(unanswered) if unanswered else ():
                arrived[completion.request_id] = completion
                self._record_turns(awaited, arrived)
                yield completion
        except (CapReachedError, CoevoError, KeyboardInterrupt):
            for request in awaited:
                if request.id in arrived and request.id not in self._past:
                    self._log.note(KEPT, **_facts(arrived[request.id]))
            raise

    def _record_turns(self, awaited: deque[Request], arrived: Mapping[str, Completion]) -> None:
        """Record, and take off the queue, the completions whose turn has come."""
        while awaited and awaited[0].id in arrived:
            self._record(arrived[awaited.popleft().id])

    def _record(self, completion: Completion) -> None:
        self._log.emit("completion", **_facts(completion))


def skill_questions(
    asker: Asker, run_seed: int, generation: int, sampling: Sampling
) -> Callable[[str, Sequence[str]], list[str | None]]:
    """How an analyst asks after a generation: a stage and its prompts -> answers in order, None for a cut-off one.

    Args:
        asker: Charges and records.
        run_seed: The run's seed; that of each question follows from it.
        generation: After which the skill is brought up to date.
        sampling: Limits and distribution of the answers.
    """

    def ask(stage: str, prompts: Sequence[str]) -> list[str | None]:
        requests = [
            Request(
                f"{generation}.{SKILL_METER}.{stage}.{place}",
                prompt,
                seed_of(run_seed, SKILL_METER, generation, stage, place),
                sampling=sampling,
            )
            for place, prompt in enumerate(prompts)
        ]
        answers = {a.request_id: a for a in asker.ask(requests, operator=SKILL_METER, generation=generation)}
        ordered = [answers[request.id] for request in requests]
        return [answer.text if answer.finish == "stop" else None for answer in ordered]

    return ask


def _facts(completion: Completion) -> dict[str, Any]:
    """A completion as it is recorded."""
    return {
        "id": completion.request_id,
        "text": completion.text,
        "finish": completion.finish,
        "tokens": completion.num_tokens,
    }


def _charge(request: Request) -> dict[str, object]:
    """A request as it is recorded; by the hash of its prompt a resumed run notices changed operators or problems."""
    prompt = hashlib.blake2b(request.text.encode(), digest_size=8).hexdigest()
    member = request.member.identity if request.member else None
    return {"id": request.id, "seed": request.seed, "member": member, "prompt": prompt}

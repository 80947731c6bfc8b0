"""The engine of the baselines: the learner's own model answers, in this process."""

from collections.abc import Callable, Iterator, Sequence
from contextlib import nullcontext
from pathlib import Path

from coevo.engines.decoding import complete
from coevo.engines.tokens import Codec
from coevo.interfaces import Completion, Message, Request, Update
from coevo.tuning.baselines.reading import threads
from coevo.tuning.baselines.trainee import Trainee

Note = Callable[[Request, Sequence[int], Sequence[int]], None]
"""Takes a request, the tokens of its prompt and those of its answer."""


class TraineeEngine:
    """See `coevo.interfaces.Engine`; the weights are moved through the trainee.

    A request that names a member is one of training. Its σ is 0: a policy gradient perturbs nothing, and members only
    number the episodes of a task.

    Args:
        trainee: Answers.
    """

    def __init__(self, trainee: Trainee) -> None:
        self._trainee = trainee
        self._note: Note | None = None

    def tell(self, note: Note) -> None:
        """From now on, tell of every answer of training before it is given out."""
        self._note = note

    def generate(self, requests: Sequence[Request]) -> Iterator[Completion]:
        """See `Engine`; the tokens are those that the torch engine with one worker would draw."""
        if perturbed := [request.id for request in requests if request.member and request.member.sigma != 0]:
            raise ValueError(f"expected requests of the unperturbed model, got a member at {perturbed[0]}")
        trainee, listening = self._trainee, _Listening(self._trainee.codec)
        by_id = {request.id: (place, request) for place, request in enumerate(requests)}
        answers = complete(trainee.decoder, listening, trainee.ends, requests)
        try:
            while finished := self._next(answers):
                for completion, tokens in zip(finished, listening.decoded[-len(finished) :], strict=True):
                    place, request = by_id[completion.request_id]
                    if self._note is not None and request.member is not None:
                        self._note(request, listening.encoded[place], tokens)
                    yield completion
                listening.decoded.clear()
        finally:
            trainee.decoder.keep([])  # idle again, even if nobody wants the rest

    def commit(self, update: Update) -> int:
        """See `Engine`: not supported, since a policy gradient gives weights and not updates."""
        raise NotImplementedError("a policy gradient moves weights through its trainee")

    def fingerprint(self) -> int:
        """See `Engine`."""
        return self._trainee.fingerprint()

    def export(self, folder: Path) -> None:
        """See `Engine`."""
        self._trainee.export(folder)

    def close(self) -> None:
        """See `Engine`; there are no processes."""

    def _next(self, answers: Iterator[list[Completion]]) -> list[Completion] | None:
        """The next answers, drawn on as many threads as the torch engine would use."""
        with threads(1) if self._trainee.is_small else nullcontext():
            return next(answers, None)


class _Listening:
    """A codec that remembers what it was asked: prompts in order of the requests, answers as they end.

    An answer is decoded last when it ends, so the last tokens decoded before answers are given out are theirs.
    """

    def __init__(self, codec: Codec) -> None:
        self._codec = codec
        self.encoded: list[list[int]] = []
        self.decoded: list[list[int]] = []

    def encode(self, text: str, messages: Sequence[Message] = ()) -> list[int]:
        """See `Codec`."""
        self.encoded.append(self._codec.encode(text, messages))
        return self.encoded[-1]

    def decode(self, tokens: Sequence[int]) -> str:
        """See `Codec`."""
        self.decoded.append(list(tokens))
        return self._codec.decode(tokens)

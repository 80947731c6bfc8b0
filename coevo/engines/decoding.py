"""The generation loop: rows of a batch come, draw their tokens and go, over any decoder."""

from collections import deque
from collections.abc import Iterator, Sequence
from typing import Literal, Protocol

import numpy as np
from numpy.typing import NDArray

from coevo.engines.sampling import Sampler
from coevo.engines.stopping import StopWatch, stopped
from coevo.engines.tokens import Codec
from coevo.interfaces import Completion, Member, Request

FloatArray = NDArray[np.float32]


class Decoder(Protocol):
    """A model that continues several rows of tokens at once.

    Attributes:
        context: Most tokens of a row, prompt and answer together.
        rows: Most rows at once.
        refills: Whether `admit` may add rows while others are at work.
    """

    context: int
    rows: int
    refills: bool

    def admit(self, prompts: Sequence[Sequence[int]], members: Sequence[Member | None] = ()) -> FloatArray:
        """Add prompts behind the rows at work; returns their first logits, shape (prompts, vocabulary), fp32.

        Args:
            prompts: Tokens of each new row.
            members: Whose rows they are: a low-rank member's row adds its change to what the served weights give. The
                base (None) and members that the served weights stand for add nothing; empty means that all are such.
        """

    def step(self, tokens: Sequence[int]) -> FloatArray:
        """Append one token to each row; returns logits, shape (rows at work, vocabulary), fp32."""

    def keep(self, rows: Sequence[int]) -> None:
        """Go on with these rows only, in this order. The last row may move into a gap; no other order is asked for."""


class _Row:
    """One request at work."""

    def __init__(self, request: Request, codec: Codec, context: int) -> None:
        self.request = request
        self.prompt = codec.encode(request.text, request.messages)
        self.limit = min(request.sampling.max_tokens, context - len(self.prompt))
        self.tokens: list[int] = []
        self.finish: Literal["stop", "length"] | None = None if self.limit > 0 else "length"
        self._sampler = Sampler(request.sampling, request.seed)
        stops = request.sampling.stop
        self._watch = StopWatch(codec.decode, stops) if stops else None

    def take(self, logits: FloatArray, ends: Sequence[int]) -> None:
        if not np.isfinite(logits).all():
            # A perturbation can overflow 16-bit weights; such an answer is cut off, and the search goes on.
            self.finish = "length"
            return
        token = self._sampler.draw(logits)
        self.tokens.append(token)
        if token in ends or (self._watch is not None and self._watch.sees(self.tokens)):
            self.finish = "stop"
        elif len(self.tokens) == self.limit:
            self.finish = "length"


def complete(
    decoder: Decoder, codec: Codec, ends: Sequence[int], requests: Sequence[Request]
) -> Iterator[list[Completion]]:
    """Answer requests that share one set of served weights; yields answers as rows finish.

    A prompt that leaves no room for a token is answered at once: empty, "length", no tokens. No text of an answer
    reaches a stop text of its request.

    Args:
        decoder: Idle; idle again at the end.
        codec: Of the same model.
        ends: Tokens that end an answer.
        requests: In the order in which they are begun.
    """
    waiting = deque(_Row(request, codec, decoder.context) for request in requests)
    hopeless = [row for row in waiting if row.finish]
    if hopeless:
        waiting = deque(row for row in waiting if not row.finish)
        yield [_answer(row, codec) for row in hopeless]
    rows: list[_Row] = []
    while waiting or rows:
        if waiting and (decoder.refills or not rows) and len(rows) < decoder.rows:
            fresh = [waiting.popleft() for _ in range(min(len(waiting), decoder.rows - len(rows)))]
            logits, drawing = decoder.admit([row.prompt for row in fresh], [row.request.member for row in fresh]), fresh
            rows += fresh
        else:
            logits, drawing = decoder.step([row.tokens[-1] for row in rows]), rows
        for row, values in zip(drawing, logits, strict=True):
            row.take(values, ends)
        finished = [row for row in drawing if row.finish]
        if finished:
            kept = _fill_gaps([row.finish is not None for row in rows])
            rows = [rows[place] for place in kept]
            decoder.keep(kept)
            yield [_answer(row, codec) for row in finished]


def _fill_gaps(is_finished: Sequence[bool]) -> list[int]:
    """Places of the unfinished rows, the last ones moved into the gaps so that few rows are copied."""
    count = len(is_finished) - sum(is_finished)
    movers = [place for place in range(count, len(is_finished)) if not is_finished[place]]
    return [movers.pop() if is_finished[place] else place for place in range(count)]


def _answer(row: _Row, codec: Codec) -> Completion:
    assert row.finish is not None
    answer = Completion(row.request.id, codec.decode(row.tokens), row.finish, len(row.tokens))
    return stopped(answer, row.request.sampling.stop)

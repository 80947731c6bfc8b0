"""Where an answer ends before its end token: at the first place of any of its stop texts, which is left out.

Stop texts are looked for in the decoded answer, so it does not matter how a tokenizer cuts them. Tokens drawn for a
stop text are part of the answer's count.
"""

from collections.abc import Callable, Sequence
from dataclasses import replace

from coevo.interfaces import Completion

_SLACK = 64
"""Characters at the beginning of a decoded piece that may differ from the whole (a blank that decoders strip there)."""


def cut(text: str, stops: Sequence[str]) -> str | None:
    """What stands before the first stop text; None where there is none in the text."""
    places = [place for stop in stops if (place := text.find(stop)) >= 0]
    return text[: min(places)] if places else None


def stopped(completion: Completion, stops: Sequence[str]) -> Completion:
    """A completion cut before its first stop text, and whole then; as it is where there is none in it."""
    before = cut(completion.text, stops)
    return completion if before is None else replace(completion, text=before, finish="stop")


class StopWatch:
    """Looks for stop texts in an answer that grows, decoding its last tokens only.

    Args:
        decode: Tokens to text.
        stops: At least one text.
    """

    def __init__(self, decode: Callable[[Sequence[int]], str], stops: Sequence[str]) -> None:
        self._decode = decode
        self._stops = stops
        self._reach = max(map(len, stops)) + _SLACK
        self._start = 0

    def sees(self, tokens: Sequence[int]) -> bool:
        """Whether a stop text is there; to be asked after each token of one answer.

        Args:
            tokens: The answer so far.
        """
        tail = self._decode(tokens[self._start :])
        if cut(tail, self._stops) is not None:
            return True
        if len(tail) > 2 * self._reach:
            middle = (self._start + len(tokens)) // 2
            if len(self._decode(tokens[middle:])) >= self._reach:
                self._start = middle
        return False

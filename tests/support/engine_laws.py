"""What every engine that decodes holds to: conversations, the likeliest token alone, stop texts, the presence penalty.

Expected answers are drawn by hand, in plain NumPy, from the logits of a decoder of the engine `torch`. Engines may
differ in the last bits of logits: an answer counts up to the first token of which another was as likely.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from coevo.engines.torch_worker import ServedModel
from coevo.interfaces import Completion, Engine, Member, Message, Request, Sampling

CLEAR = 2e-3
TEMPLATE = (
    "{% for m in messages %}[{{ m['role'] }}]{{ m['content'] }}{% endfor %}"
    "{% if add_generation_prompt %}[assistant]{% endif %}"
)
CONVERSATION = (
    Message("system", "be brief"),
    Message("user", "n = 5"),
    Message("assistant", "yes"),
    Message("user", "n = "),
)
WRITTEN = "[system]be brief[user]n = 5[assistant]yes[user]n = [assistant]"
"""The conversation by the template."""


@dataclass
class Subject:
    """An engine that serves a model in chat, by `TEMPLATE`; the same model without chat, and who is to answer."""

    engine: Engine
    oracle: ServedModel
    members: tuple[Member | None, ...]
    prompts: tuple[str, ...] = ("n = 5", "for i in", "x")

    def ask(self, sampling: Sampling, messages: tuple[Message, ...] = (), seed: int = 7) -> dict[str, Completion]:
        """Every member's answers to every prompt, or to a conversation, in one call; by the request's id."""
        requests = [
            Request(f"{place}.{number}", text, seed + number, member, sampling, messages)
            for place, member in enumerate(self.members)
            for number, text in enumerate(self.prompts)
        ]
        found = {answer.request_id: answer for answer in self.engine.generate(requests)}
        assert sorted(found) == sorted(request.id for request in requests)
        return found

    def require(self, found: dict[str, Completion], write: Callable[[str], str], sampling: Sampling) -> None:
        """Check greedy answers against those drawn by hand from what a prompt is written as."""
        compared = 0
        for place, member in enumerate(self.members):
            for number, text in enumerate(self.prompts):
                tokens, is_whole = greedy_by_hand(self.oracle, write(text), member, sampling)
                expected, answer = self.oracle.codec.decode(tokens), found[f"{place}.{number}"]
                compared += len(tokens)
                if is_whole:
                    assert (answer.text, answer.num_tokens) == (expected, len(tokens))
                else:
                    assert answer.text.startswith(expected.rstrip("\ufffd"))
        assert compared > 4 * len(found)


def greedy_by_hand(model: ServedModel, text: str, member: Member | None, sampling: Sampling) -> tuple[list[int], bool]:
    """Tokens of a greedy answer, the penalty written out, and whether all of them are clear."""
    is_dense = member is not None and member.rank == 0
    model.weights.activate(member if is_dense else None)
    (logits,) = model.decoder.admit([model.codec.encode(text)], [member])
    tokens: list[int] = []
    is_clear = True
    while len(tokens) < sampling.max_tokens:
        drawn = np.isin(np.arange(len(logits)), tokens)
        values = logits - np.float32(sampling.presence_penalty) * drawn
        second, first = np.sort(values)[-2:]
        is_clear = bool(first - second > CLEAR)
        if not is_clear:
            break
        tokens.append(int(np.argmax(values)))
        if tokens[-1] in model.ends:
            break
        (logits,) = model.decoder.step(tokens[-1:])
    model.decoder.keep([])
    return tokens, is_clear


def chat(text: str) -> str:
    """A prompt as one user message."""
    return f"[user]{text}[assistant]"


def require_conversations(subject: Subject) -> None:
    """A conversation is what the template makes of it, whatever the request's text; one message is a prompt."""
    sampling = Sampling(temperature=0.0, max_tokens=16)
    subject.require(subject.ask(sampling), chat, sampling)
    subject.require(subject.ask(sampling, CONVERSATION), lambda _: WRITTEN, sampling)


def require_top_k(subject: Subject) -> None:
    """The likeliest token alone is the greedy one, at any temperature and for any seed; as many as there are, all."""
    greedy = subject.ask(Sampling(temperature=0.0, max_tokens=16))
    drawn = [subject.ask(Sampling(1.5, 1.0, 16, top_k=1), seed=seed) for seed in (7, 8)]
    assert drawn == [greedy, greedy]
    assert subject.ask(Sampling(1.5, 1.0, 16)) == subject.ask(Sampling(1.5, 1.0, 16, top_k=10**6)) != greedy


def require_penalty(subject: Subject) -> None:
    """Greedy answers under a penalty are those drawn by hand, and differ from those without one."""
    sampling = Sampling(temperature=0.0, max_tokens=24, presence_penalty=2.0)
    found = subject.ask(sampling)
    subject.require(found, chat, sampling)
    assert found != subject.ask(Sampling(temperature=0.0, max_tokens=24))


def require_stops(subject: Subject) -> None:
    """An answer ends before the first place of a stop text, and counts the tokens up to it; others are untouched."""
    sampling = Sampling(0.9, 0.98, 24)
    whole = subject.ask(sampling)
    stop = _common_piece([answer.text for answer in whole.values()])
    stopped = subject.ask(Sampling(0.9, 0.98, 24, stop=(stop, "nowhere in any answer")))
    assert any(stop in answer.text for answer in whole.values())
    for identity, answer in whole.items():
        place = answer.text.find(stop)
        if place < 0:
            assert stopped[identity] == answer
        else:
            assert (stopped[identity].text, stopped[identity].finish) == (answer.text[:place], "stop")
            assert 0 < stopped[identity].num_tokens <= answer.num_tokens
    assert any(stopped[identity].num_tokens < answer.num_tokens for identity, answer in whole.items())


def require_bounds(subject: Subject) -> None:
    """A conversation beyond the context is answered at once: no text, "length"; the others as without it."""
    sampling = Sampling(temperature=0.0, max_tokens=8)
    short = Request("short", "", 1, None, sampling, CONVERSATION)
    long = Request("long", "", 1, None, sampling, (*CONVERSATION, Message("user", "n = 5\n" * 2000)))
    found = {answer.request_id: answer for answer in subject.engine.generate([long, short])}
    assert found["long"] == Completion("long", "", "length", 0)
    assert [found["short"]] == list(subject.engine.generate([short]))


def _common_piece(texts: Sequence[str]) -> str:
    """The printable character that begins latest, on average, in the texts that have it, of those in many texts."""
    pieces = {letter for text in texts for letter in text[1:] if letter.isascii() and letter.isprintable()}
    return max(sorted(pieces), key=lambda piece: sum(piece in text[:-1] and piece not in text[:2] for text in texts))


LAWS = (require_conversations, require_top_k, require_penalty, require_stops, require_bounds)

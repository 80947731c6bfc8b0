import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from coevo.engines.decoding import complete
from coevo.interfaces import Message, Request, Sampling

END = 9


class Script:
    """A decoder whose next token is a function of the row's tokens: count up, end at the prompt's first token."""

    context = 12

    def __init__(self, rows, refills):
        self.rows, self.refills = rows, refills
        self.active: list[list[int]] = []
        self.busiest = 0

    def _logits(self, rows):
        logits = np.zeros((len(rows), 10), np.float32)
        for place, row in enumerate(rows):
            logits[place, END if row[-1] >= row[0] else row[-1] + 1] = 5.0
        return logits

    def admit(self, prompts, members=()):
        """Rows behind those at work."""
        assert self.refills or not self.active
        self.active += [list(prompt) for prompt in prompts]
        self.busiest = max(self.busiest, len(self.active))
        assert len(self.active) <= self.rows
        return self._logits(self.active[-len(prompts) :])

    def step(self, tokens):
        """One token more for each row."""
        for row, token in zip(self.active, tokens, strict=True):
            row.append(token)
        return self._logits(self.active)

    def keep(self, rows):
        """Only these rows."""
        self.active = [self.active[row] for row in rows]


class Digits:
    """A codec of one token per digit."""

    def encode(self, text, messages=()):
        """Digits to numbers; of a conversation, those of its last message."""
        return [int(digit) for digit in (messages[-1].content if messages else text)]

    def decode(self, tokens):
        """Numbers to digits, without the end."""
        return "".join(str(token) for token in tokens if token != END)


def ask(texts, decoder, max_tokens=20, **more):
    """Greedy answers by request id."""
    sampling = Sampling(temperature=0.0, max_tokens=max_tokens, **more)
    requests = [Request(str(n), text, n, None, sampling) for n, text in enumerate(texts)]
    answers = [answer for batch in complete(decoder, Digits(), (END,), requests) for answer in batch]
    assert sorted(answer.request_id for answer in answers) == sorted(request.id for request in requests)
    return {answer.request_id: answer for answer in answers}


@given(st.lists(st.integers(1, 8), min_size=1, max_size=15), st.integers(1, 5), st.booleans())
def test_every_request_is_answered_as_if_alone(lasts, rows, refills):
    """Rows of different lengths come, leave gaps and are refilled without being mixed up."""
    decoder = Script(rows, refills)
    answers = ask([f"{last}0" for last in lasts], decoder)
    for number, last in enumerate(lasts):
        answer = answers[str(number)]
        assert (answer.text, answer.finish) == ("".join(map(str, range(1, last + 1))), "stop")
        assert answer.num_tokens == last + 1
    assert decoder.active == []
    assert decoder.busiest == min(rows, len(lasts))


def test_an_answer_is_cut_at_the_token_limit():
    """The cut-off answer keeps its text and says "length"; one whose end is the last allowed token is whole."""
    answers = ask(["80", "20"], Script(4, True), max_tokens=3)
    assert (answers["0"].text, answers["0"].finish, answers["0"].num_tokens) == ("123", "length", 3)
    assert (answers["1"].text, answers["1"].finish, answers["1"].num_tokens) == ("12", "stop", 3)


def test_an_answer_is_cut_at_the_context():
    """Prompt and answer together never exceed the model's context."""
    answer = ask(["8" + "0" * 7], Script(1, False))["0"]
    assert (answer.text, answer.finish, answer.num_tokens) == ("1234", "length", 4)


@pytest.mark.parametrize("length", [12, 13, 40])
def test_a_prompt_that_fills_the_context_is_answered_at_once(length):
    """No room for a token: empty, "length", and the other requests go on."""
    answers = ask(["1" * length, "20"], Script(4, True))
    assert (answers["0"].text, answers["0"].finish, answers["0"].num_tokens) == ("", "length", 0)
    assert answers["1"].text == "12"


def test_an_answer_ends_at_a_stop_text():
    """The text is left out, its tokens are counted; an answer that ends before it, or at the limit, is as ever."""
    answers = ask(["80", "20", "50"], Script(4, True), max_tokens=5, stop=("45", "9"))
    assert (answers["0"].text, answers["0"].finish, answers["0"].num_tokens) == ("123", "stop", 5)
    assert (answers["1"].text, answers["1"].finish, answers["1"].num_tokens) == ("12", "stop", 3)
    assert (answers["2"].text, answers["2"].finish, answers["2"].num_tokens) == ("123", "stop", 5)


def test_a_row_that_stops_early_makes_room():
    """What waits is begun in its place, and rows beside it go on."""
    decoder = Script(2, True)
    answers = ask(["81", "82", "83", "84"], decoder, stop=("4",))
    assert [answers[str(n)].text for n in range(4)] == ["23", "3", "", "5678"]
    assert decoder.active == []


def test_a_conversation_is_read_in_place_of_the_text():
    """The codec gets the messages."""
    request = Request("r", "10", 0, None, Sampling(temperature=0.0), (Message("user", "30"),))
    ((answer,),) = complete(Script(1, False), Digits(), (END,), [request])
    assert answer.text == "123"

"""The tokenizer: lossless, one token per kind, slot and constant."""

from typing import Any

import pytest

from coevo.engines.embedded.corpus import Sample, generate
from coevo.engines.embedded.program import GRID
from coevo.engines.embedded.tokenizer import SPECIAL_TOKENS, train_tokenizer
from coevo.idioms import IDIOMS


@pytest.fixture(scope="module")
def samples() -> list[Sample]:
    """A small corpus."""
    return list(generate(1, 300))


@pytest.fixture(scope="module")
def tokenizer(samples: list[Sample]) -> Any:
    """A tokenizer of a small corpus."""
    return train_tokenizer([sample.prompt + sample.child for sample in samples], 640)


def test_decoding_restores_every_text(tokenizer: Any, samples: list[Sample]) -> None:
    """Nothing is lost, slots and special tokens included."""
    for sample in samples[:100]:
        text = sample.prompt + sample.child
        assert tokenizer.decode(tokenizer.encode(text)) == text


@pytest.mark.parametrize("text", ["é ∞ \t", "\n return <a9>", "<a0", "x<a1>y<p>", "0.123e-7", "   "])
def test_unusual_text_survives(tokenizer: Any, text: str) -> None:
    """Bytes outside the corpus are representable."""
    assert tokenizer.decode(tokenizer.encode(text)) == text


def test_header_is_one_token_per_slot_and_kind(tokenizer: Any) -> None:
    """The signature is compositional: any order of kinds is known tokens in a new order."""
    tokens = [tokenizer.decode([token]) for token in tokenizer.encode("<m1><a0>matrix<a1>nodes<a2>node->node<c>")]

    assert tokens == ["<m1>", "<a0>", "matrix", "<a1>", "nodes", "<a2>", "node", "->", "node", "<c>"]


@pytest.mark.parametrize("idiom", IDIOMS)
def test_hint_is_one_token_per_idiom(tokenizer: Any, idiom: str) -> None:
    """An idiom to use is one token and one to avoid another, wherever they stand; spaces stand alone."""
    text = f"<m1><a0>matrix->node<u>{idiom} exp {idiom}<x>!{idiom} !rank !{idiom}<p>"
    tokens = [tokenizer.decode([token]) for token in tokenizer.encode(text)]

    assert tokens == [
        "<m1>", "<a0>", "matrix", "->", "node", "<u>", idiom, " ", "exp", " ", idiom,
        "<x>", f"!{idiom}", " ", "!rank", " ", f"!{idiom}", "<p>",
    ]  # fmt: skip


def test_programs_that_end_in_an_idiom_are_not_hints(tokenizer: Any) -> None:
    """A body whose last word is an idiom is cut as any other body."""
    usual, unusual = tokenizer.encode("<c>\n return other"), tokenizer.encode("<c>\n return mean")

    assert usual[:2] == unusual[:2]
    assert tokenizer.decode(unusual) == "<c>\n return mean"


def test_constants_stand_alone(tokenizer: Any) -> None:
    """A constant is spelled the same in every surrounding: no token mixes digits of it with other text."""
    for value in GRID:
        own = tokenizer.encode(value)
        for text in (" s = {} * <a1>", "\n f1 = <a0> ** {}", " + {} * (f1 < 2.0)", "({})"):
            before, after = text.split("{}")
            assert tokenizer.encode(before) + own + tokenizer.encode(after) == tokenizer.encode(text.format(value))


def test_special_tokens_lead_the_vocabulary(tokenizer: Any) -> None:
    """Special tokens have the first ids; padding is on the left, where generation needs it."""
    assert [tokenizer.convert_tokens_to_ids(token) for token in SPECIAL_TOKENS] == list(range(len(SPECIAL_TOKENS)))
    assert tokenizer.padding_side == "left"
    assert len(tokenizer) == 640

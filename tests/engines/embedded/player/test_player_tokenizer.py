"""The player's tokenizer: fixed, lossless, one token a word."""

import hashlib

import pytest

from coevo.board_codec import CELLS, MOVE_WORD, action_words, cell_word
from coevo.engines.embedded.player import tokenizer as words
from coevo.engines.loading import PLAYER_FOLDER

VOCABULARY = "70230d1f6f9e9f9c2354b2151354707ec46acfc8dfebf1a9fa64a0376506f1f0"


@pytest.fixture(scope="module")
def tokenizer():
    """A new tokenizer."""
    return words.make_tokenizer()


def test_the_vocabulary_is_the_one_the_weights_were_trained_with() -> None:
    """Changing a word or the order would make another model of the shipped weights."""
    assert hashlib.sha256("|".join(words.WORDS).encode()).hexdigest() == VOCABULARY


def test_the_shipped_tokenizer_is_what_the_code_makes(tokenizer, tmp_path) -> None:
    """The file in the model folder is the code's, byte for byte."""
    tokenizer.save_pretrained(tmp_path)

    assert (tmp_path / "tokenizer.json").read_bytes() == (PLAYER_FOLDER / "tokenizer.json").read_bytes()


def test_token_numbers_are_named_right() -> None:
    """The constants point at the words they are named after."""
    named = {
        words.PAD: "<pad>",
        words.END: "<end>",
        words.UNKNOWN: "<unk>",
        words.MOVE: MOVE_WORD,
        words.CAREFUL: "careful: ",
        words.CARELESS: "careless: ",
        words.FIRST_DIGIT: "1",
        words.FIRST_ACTION: "set 1 1 ",
        words.FIRST_CELL: "r1c1=. ",
        words.FIRST_CELL + 10 * 80 + 9: "r9c9=9 ",
    }

    assert {number: words.WORDS[number] for number in named} == named
    assert len(set(words.WORDS)) == len(words.WORDS) == words.FIRST_CELL + 810


def test_boards_and_answers_are_a_token_a_word(tokenizer) -> None:
    """A board is 82 tokens, an answer two, and both decode to what they were."""
    board = "".join(cell_word(cell, ".123456789"[place % 10]) for place, cell in enumerate(CELLS)) + MOVE_WORD
    tokens = tokenizer.encode(board)

    assert tokens == [words.FIRST_CELL + 10 * place + place % 10 for place in range(81)] + [words.MOVE]
    assert tokenizer.decode(tokens) == board
    for place, cell in enumerate(CELLS):
        answer = "".join(action_words(cell, 1 + place % 9))
        assert tokenizer.encode(answer) == [words.FIRST_ACTION + place, words.FIRST_DIGIT + place % 9]
        assert tokenizer.decode(tokenizer.encode(answer)) == answer


@pytest.mark.parametrize("text", ["hello", "set 0 0 x", "é", "\n", "<end", "r1c1=0 "])
def test_other_text_is_unknown(tokenizer, text: str) -> None:
    """Text that is none of the words is the unknown token, never an error."""
    assert words.UNKNOWN in tokenizer.encode(text)

"""The player's words: one token for each content of each cell, one for each cell to write to, one for each digit.

No text is learned from: the vocabulary is fixed, its order is part of the model. Text of any other kind is `<unk>`.
"""

from typing import TYPE_CHECKING

from coevo.board_codec import CELLS, MOVE_WORD, action_words, cell_word

if TYPE_CHECKING:
    from transformers import PreTrainedTokenizerFast

PAD_TOKEN, END_TOKEN, UNKNOWN_TOKEN = "<pad>", "<end>", "<unk>"
CAREFUL_WORD, CARELESS_WORD = "careful: ", "careless: "
"""Words before a move of players who are known to be careful, or careless; only the corpus has them."""

DIGITS = range(1, 10)
WORDS = (
    PAD_TOKEN,
    END_TOKEN,
    UNKNOWN_TOKEN,
    MOVE_WORD,
    CAREFUL_WORD,
    CARELESS_WORD,
    *(str(digit) for digit in DIGITS),
    *(action_words(cell, 1)[0] for cell in CELLS),
    *(cell_word(cell, content) for cell in CELLS for content in ".123456789"),
)
"""The vocabulary, in order of the token numbers."""

PAD, END, UNKNOWN, MOVE, CAREFUL, CARELESS, FIRST_DIGIT, FIRST_ACTION, FIRST_CELL = 0, 1, 2, 3, 4, 5, 6, 15, 96
"""Token numbers; the last three are those of the digit 1, of writing to the first cell, of the first cell blank."""

_PATTERN = r"r[1-9]c[1-9]=[.1-9] |move: |careful: |careless: |set [1-9] [1-9] |[1-9]"


def make_tokenizer() -> "PreTrainedTokenizerFast":
    """The tokenizer; a function of nothing."""
    from tokenizers import AddedToken, Regex, Tokenizer, decoders, models, pre_tokenizers
    from transformers import PreTrainedTokenizerFast

    vocabulary = {word: number for number, word in enumerate(WORDS)}
    tokenizer = Tokenizer(models.WordLevel(vocabulary, unk_token=UNKNOWN_TOKEN))
    tokenizer.add_special_tokens([AddedToken(word, special=True) for word in (PAD_TOKEN, END_TOKEN, UNKNOWN_TOKEN)])
    tokenizer.pre_tokenizer = pre_tokenizers.Split(Regex(_PATTERN), "isolated")
    tokenizer.decoder = decoders.Fuse()
    return PreTrainedTokenizerFast(
        tokenizer_object=tokenizer,
        eos_token=END_TOKEN,
        pad_token=PAD_TOKEN,
        unk_token=UNKNOWN_TOKEN,
        padding_side="left",
        clean_up_tokenization_spaces=False,
        model_input_names=["input_ids", "attention_mask"],
    )

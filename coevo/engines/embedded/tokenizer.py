r"""The tokenizer: byte-level BPE whose merges may cross words, so that an idiom is one token.

Speed at use is tokens per child, so `\\n return c[s.argmin()]` should cost one step and not eight. Numbers never merge
with their surroundings: a constant of the grammar is one token wherever it stands. Argument kinds are one token each,
and so are the idioms of a hint.
"""

from collections.abc import Iterable
from itertools import chain
from typing import TYPE_CHECKING, get_args

from coevo.codec import AVOID_TOKEN, CHILD_TOKEN, PARENT_TOKEN, USE_TOKEN
from coevo.content import Kind
from coevo.idioms import IDIOMS

if TYPE_CHECKING:
    from transformers import PreTrainedTokenizerFast

END_TOKEN = "<eos>"
PAD_TOKEN = "<pad>"
_OPERATOR_TOKENS = ("<i1>", "<e1>", "<e2>", "<m1>", "<m2>")
SPECIAL_TOKENS = (PAD_TOKEN, END_TOKEN, PARENT_TOKEN, CHILD_TOKEN, *_OPERATOR_TOKENS, USE_TOKEN, AVOID_TOKEN)

_KINDS = "|".join(sorted(get_args(Kind), key=len, reverse=True))
_IDIOMS = f"!?(?:{'|'.join(IDIOMS)})"
_IDIOM_LESSON = [" ".join((*IDIOMS, *(f"!{idiom}" for idiom in IDIOMS)))] * 300
"""Added to the texts, so that rare idioms are frequent enough to be merged into one token."""

_SLOTS = {f"<a{position}>": chr(1 + position) for position in range(8)}
"""Inside the tokenizer a slot is one control character, so that no merge can split it."""

_CHUNKS = "|".join(
    (
        rf"[\x01-\x08](?=(?:{_KINDS})(?:[\x01-\x08]|->))",
        rf"(?<=[\x01-\x08>])(?:{_KINDS})(?=[\x01-\x08]|->|\z)",
        rf"->(?=(?:{_KINDS})\z)",
        rf"(?:\A|(?<= )){_IDIOMS}(?=(?: {_IDIOMS})*\z)",
        rf" (?={_IDIOMS}(?: {_IDIOMS})*\z)",
        r"\d+(?:\.\d+)?(?:e-?\d+)?",
        r" [+-] (?=\d)",
        r"(?:\n *)?(?:axis=\d|[A-Za-z_][A-Za-z_0-9]*|(?! [+-] \d)[^\n\dA-Za-z_])+",
        r"\n *",
    )
)


def train_tokenizer(texts: Iterable[str], vocabulary: int) -> "PreTrainedTokenizerFast":
    """A tokenizer with this many entries, special tokens and all bytes included.

    Args:
        texts: Prompts with children; special tokens are recognised.
        vocabulary: Size, a multiple of 64 for fast matrix products.
    """
    from tokenizers import Regex, Tokenizer, decoders, models, normalizers, pre_tokenizers, trainers
    from transformers import PreTrainedTokenizerFast

    tokenizer = Tokenizer(models.BPE())
    tokenizer.normalizer = normalizers.Sequence([normalizers.Replace(slot, code) for slot, code in _SLOTS.items()])
    tokenizer.pre_tokenizer = pre_tokenizers.Sequence(
        [
            pre_tokenizers.Split(Regex(_CHUNKS), "isolated"),
            pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False),
        ]
    )
    restore = [decoders.Replace(code, slot) for slot, code in _SLOTS.items()]
    tokenizer.decoder = decoders.Sequence([decoders.ByteLevel(), *restore])
    trainer = trainers.BpeTrainer(
        vocab_size=vocabulary,
        special_tokens=list(SPECIAL_TOKENS),
        initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
        show_progress=False,
    )
    tokenizer.train_from_iterator(chain(_segments(texts), _IDIOM_LESSON), trainer)
    return PreTrainedTokenizerFast(
        tokenizer_object=tokenizer,
        eos_token=END_TOKEN,
        pad_token=PAD_TOKEN,
        padding_side="left",
        clean_up_tokenization_spaces=False,
        model_input_names=["input_ids", "attention_mask"],
    )


def _segments(texts: Iterable[str]) -> Iterable[str]:
    """Texts cut at special tokens, as encoding cuts them: training does not do it by itself."""
    import re

    cut = re.compile("|".join(re.escape(token) for token in SPECIAL_TOKENS))
    for text in texts:
        yield from (segment for segment in cut.split(text) if segment)

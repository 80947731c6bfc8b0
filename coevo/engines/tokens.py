"""Prompt text to token numbers and back, with or without transformers.

The slot model's programs are written with special tokens (`<a0>`), so they are kept when its answers are decoded;
every other model's special tokens are markup and are left out. End and padding tokens are never part of an answer.
A conversation is written by the model's chat template, and is plain text where there is none.
"""

import json
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any, Protocol

from coevo.engines.conversation import write_conversation
from coevo.engines.loading import ModelFolder
from coevo.errors import ModelError
from coevo.interfaces import Message

_PLAIN_CLASSES = {"PreTrainedTokenizerFast", "TokenizersBackend"}


class Codec(Protocol):
    """Text to tokens and back for one model."""

    def encode(self, text: str, messages: Sequence[Message] = ()) -> list[int]:
        """Token numbers of a prompt, at least one; the messages, if any, in the text's place with a chat template."""

    def decode(self, tokens: Sequence[int]) -> str:
        """Text of an answer without its end and padding tokens."""


class PlainCodec:
    """A `tokenizer.json` read by the tokenizers library alone: loads in milliseconds.

    Args:
        folder: The model folder.
        ends: Tokens that end an answer; the first one stands in for an empty prompt.
    """

    def __init__(self, folder: ModelFolder, ends: Sequence[int]) -> None:
        from tokenizers import Tokenizer

        self._tokenizer = Tokenizer.from_file(str(folder.path / "tokenizer.json"))
        self._ends = ends
        self._silent = set(ends) | token_numbers(folder, "pad_token_id")
        self._hide_special = folder.card.renderer != "slots"

    def encode(self, text: str, messages: Sequence[Message] = ()) -> list[int]:
        """See `Codec`; this one has no template."""
        return list(self._tokenizer.encode(text).ids) or [self._ends[0]]

    def decode(self, tokens: Sequence[int]) -> str:
        """See `Codec`."""
        kept = [token for token in tokens if token not in self._silent]
        return str(self._tokenizer.decode(kept, skip_special_tokens=self._hide_special))


class TransformersCodec:
    """Any tokenizer transformers knows, with its chat template if `chat` is set.

    With a template the text becomes one user message, and the template alone decides on a begin token: none is added
    a second time.

    Raises:
        ModelError: By `encode`, if the template takes a conversation in no form.
    """

    def __init__(self, folder: ModelFolder, ends: Sequence[int], *, chat: bool) -> None:
        from transformers import AutoTokenizer

        self._tokenizer: Any = AutoTokenizer.from_pretrained(
            folder.path, local_files_only=True, trust_remote_code=False
        )
        self._use_template = chat and bool(self._tokenizer.chat_template)
        self._ends = ends
        self._silent = {*ends, self._tokenizer.eos_token_id, self._tokenizer.pad_token_id}
        self._hide_special = folder.card.renderer != "slots"

    def encode(self, text: str, messages: Sequence[Message] = ()) -> list[int]:
        """See `Codec`."""
        if self._use_template and messages:
            text = write_conversation(self._tokenizer, messages)
        elif self._use_template:
            message = [{"role": "user", "content": text}]
            text = self._tokenizer.apply_chat_template(message, add_generation_prompt=True, tokenize=False)
        return list(self._tokenizer.encode(text, add_special_tokens=not self._use_template)) or [self._ends[0]]

    def decode(self, tokens: Sequence[int]) -> str:
        """See `Codec`."""
        kept = [token for token in tokens if token not in self._silent]
        return str(
            self._tokenizer.decode(kept, skip_special_tokens=self._hide_special, clean_up_tokenization_spaces=False)
        )


def make_codec(folder: ModelFolder, ends: Sequence[int], *, chat: bool) -> Codec:
    """The quick codec where it says the same as transformers', otherwise transformers'."""
    file = folder.path / "tokenizer_config.json"
    named = json.loads(file.read_text()).get("tokenizer_class") if file.is_file() else None
    if not chat and named in _PLAIN_CLASSES and (folder.path / "tokenizer.json").is_file():
        return PlainCodec(folder, ends)
    return TransformersCodec(folder, ends, chat=chat)


def end_tokens(folder: ModelFolder) -> tuple[int, ...]:
    """Every token that ends an answer, ascending.

    Raises:
        ModelError: If the folder names none: answers would never stop.
    """
    ends = token_numbers(folder, "eos_token_id")
    if not ends:
        raise ModelError(
            f"expected eos_token_id in {folder.path / 'config.json'}, found none; add the end token's number"
        )
    return tuple(sorted(ends))


def token_numbers(folder: ModelFolder, key: str) -> set[int]:
    """What `config.json` (or its text part) and `generation_config.json` together say under a key, as numbers."""
    sources: list[Any] = [folder.config.get(key), (folder.config.get("text_config") or {}).get(key)]
    file = Path(folder.path / "generation_config.json")
    if file.is_file():
        sources.append(json.loads(file.read_text()).get(key))
    found: set[int] = set()
    for value in sources:
        found |= set(value if isinstance(value, Iterable) else () if value is None else (value,))
    return found

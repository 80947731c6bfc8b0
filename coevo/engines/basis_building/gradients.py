"""Gradients of the next-token loss on completions, one per batch of texts: vectors that point to better answers."""

from collections.abc import Iterator, Sequence
from typing import Any

import torch
from torch import Tensor

from coevo.block import matrix_shape
from coevo.engines.basis_building.corpus import Text
from coevo.engines.basis_building.vectors import Vector
from coevo.engines.loading import ModelFolder
from coevo.engines.tokens import end_tokens, make_codec
from coevo.engines.torch_model import load_model, name_parameters
from coevo.errors import ContentError

Row = tuple[list[int], list[int]]
"""Tokens of a prompt and of its completion, the end token included."""

_IGNORED = -100


class Gradients:
    """Loss gradients of a model on batches of texts, in fp32 on the CPU; the same texts give the same vectors.

    Args:
        folder: The model.
        texts: k · batch of them; batch n is the n-th run of `batch` texts.
        batch: Texts per vector.

    Raises:
        ModelError: If transformers cannot load the model.
        ContentError: If a text does not fit into the model's context.
    """

    def __init__(self, folder: ModelFolder, texts: Sequence[Text], batch: int) -> None:
        self.count = len(texts) // batch
        self._model = load_model(folder, "cpu").float()
        self._parameters = name_parameters(folder, self._model)
        self._padding = end_tokens(folder)[0]
        rows = _encoded(folder, texts, self._padding)
        room = int(getattr(self._model.config.get_text_config(), "max_position_embeddings", None) or 1 << 30)
        longest = max(len(prompt) + len(completion) for prompt, completion in rows)
        if longest > room:
            raise ContentError(f"expected texts of at most {room} tokens for {folder.path}, got one of {longest}")
        self._batches = [rows[start : start + batch] for start in range(0, self.count * batch, batch)]

    def each(self) -> Iterator[Vector]:
        """See `coevo.engines.basis_building.vectors.Vectors`."""
        for batch in self._batches:
            self._model.zero_grad(set_to_none=True)
            self._loss(batch).backward()  # type: ignore[no-untyped-call]
            yield {name: _gradient(parameter) for name, parameter in self._parameters.items()}
        self._model.zero_grad(set_to_none=True)

    def _loss(self, batch: Sequence[Row]) -> Tensor:
        """Mean loss per token of the completions."""
        longest = max(len(prompt) + len(completion) for prompt, completion in batch)
        tokens = torch.full((len(batch), longest), self._padding)
        targets, mask = torch.full_like(tokens, _IGNORED), torch.zeros_like(tokens)
        for row, (prompt, completion) in enumerate(batch):
            size = len(prompt) + len(completion)
            tokens[row, :size] = torch.tensor([*prompt, *completion])
            targets[row, len(prompt) : size] = torch.tensor(completion)
            mask[row, :size] = 1
        logits = self._model(input_ids=tokens, attention_mask=mask, use_cache=False).logits[:, :-1]
        counted = targets[:, 1:] != _IGNORED
        return torch.nn.functional.cross_entropy(logits[counted].float(), targets[:, 1:][counted])


def _gradient(parameter: Tensor) -> Any:
    """Its gradient as a matrix; zero where the loss does not depend on it."""
    gradient = torch.zeros_like(parameter) if parameter.grad is None else parameter.grad
    return gradient.detach().reshape(matrix_shape(tuple(parameter.shape))).numpy().copy()


def _encoded(folder: ModelFolder, texts: Sequence[Text], end: int) -> list[Row]:
    """Prompts as the engines encode them, completions as they stand."""
    from transformers import AutoTokenizer

    codec = make_codec(folder, end_tokens(folder), chat=folder.card.renderer == "chat")
    tokenizer = AutoTokenizer.from_pretrained(folder.path, local_files_only=True, trust_remote_code=False)
    written = [tokenizer(text.completion, add_special_tokens=False)["input_ids"] for text in texts]
    return [(codec.encode(text.prompt), [*ids, end]) for text, ids in zip(texts, written, strict=True)]

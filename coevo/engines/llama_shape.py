"""The shape of a small Llama that the lean decoder can serve, read from `config.json` without torch."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from coevo.engines.loading import ModelFolder
from coevo.engines.scope import Shape

SMALL_MODEL = 50_000_000
"""Below this many parameters a model is served on the CPU by one process per core."""

_USUAL = {
    "hidden_act": "silu",
    "attention_bias": False,
    "mlp_bias": False,
    "rope_scaling": None,
}


_NEEDED = {
    "vocab_size", "hidden_size", "num_hidden_layers", "num_attention_heads", "intermediate_size",
    "max_position_embeddings", "rms_norm_eps",
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class LlamaShape:
    """Sizes of a Llama with as many key heads as query heads, rotary positions of the default kind and no biases."""

    vocabulary: int
    width: int
    layers: int
    heads: int
    head_width: int
    feed_forward: int
    context: int
    epsilon: float
    theta: float
    is_tied: bool

    def tensors(self) -> dict[str, Shape]:
        """Checkpoint name -> shape of every parameter; a tied head is the embedding and has no name of its own."""
        inner = self.heads * self.head_width
        named: dict[str, Shape] = {"model.embed_tokens.weight": (self.vocabulary, self.width)}
        for layer in range(self.layers):
            at = f"model.layers.{layer}."
            named |= {f"{at}self_attn.{part}_proj.weight": (inner, self.width) for part in "qkv"}
            named[f"{at}self_attn.o_proj.weight"] = (self.width, inner)
            named |= {f"{at}mlp.{part}_proj.weight": (self.feed_forward, self.width) for part in ("gate", "up")}
            named[f"{at}mlp.down_proj.weight"] = (self.width, self.feed_forward)
            named |= {f"{at}{part}_layernorm.weight": (self.width,) for part in ("input", "post_attention")}
        named["model.norm.weight"] = (self.width,)
        if not self.is_tied:
            named["lm_head.weight"] = (self.vocabulary, self.width)
        return named


def lean_shape(folder: ModelFolder) -> LlamaShape | None:
    """The shape if the lean decoder serves this model exactly, otherwise None and transformers has to.

    Asks for a small fp32 Llama whose checkpoint holds precisely the tensors of its shape (and perhaps a tied head
    under its second name).
    """
    shape = _read_shape(folder.config)
    if shape is None or folder.dtype != "float32" or folder.num_parameters >= SMALL_MODEL:
        return None
    found = {name: info.shape for name, info in folder.tensors.items()}
    if shape.is_tied:
        found.pop("lm_head.weight", None)
    return shape if found == shape.tensors() else None


def _read_shape(config: Mapping[str, Any]) -> LlamaShape | None:
    if not _is_plain_llama(config):
        return None
    heads, rope = config["num_attention_heads"], config.get("rope_parameters") or {}
    shape = LlamaShape(
        vocabulary=config["vocab_size"],
        width=config["hidden_size"],
        layers=config["num_hidden_layers"],
        heads=heads,
        head_width=config.get("head_dim") or config["hidden_size"] // heads,
        feed_forward=config["intermediate_size"],
        context=config["max_position_embeddings"],
        epsilon=config["rms_norm_eps"],
        theta=rope.get("rope_theta") or config.get("rope_theta") or 10_000.0,
        is_tied=config.get("tie_word_embeddings", False),
    )
    # The kernels take rows of matrices in fours, and turn the two halves of a head.
    sizes = (shape.width, shape.heads * shape.head_width, shape.feed_forward)
    return shape if all(size % 4 == 0 for size in sizes) and shape.head_width % 2 == 0 else None


def _is_plain_llama(config: Mapping[str, Any]) -> bool:
    if not config.keys() >= _NEEDED or "LlamaForCausalLM" not in config.get("architectures", ()):
        return False
    usual = {**_USUAL, "num_key_value_heads": config["num_attention_heads"]}
    rope = (config.get("rope_parameters") or {}).get("rope_type", "default")
    return rope == "default" and all(config.get(key, value) == value for key, value in usual.items())

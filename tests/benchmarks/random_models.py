"""Folders of models with random weights and the embedded model's tokenizer, written tensor by tensor."""

import json
import shutil
import struct
from pathlib import Path
from typing import Any

import numpy as np

from coevo.engines.loading import EMBEDDED_FOLDER

BYTES = {"float32": 4, "bfloat16": 2}
CODES = {"float32": "F32", "bfloat16": "BF16"}


def write_qwen2(folder: Path, *, width: int, layers: int, vocabulary: int = 32_000, dtype: str = "bfloat16") -> int:
    """Write a random Qwen2 with a tied head and grouped keys; returns the number of its parameters."""
    heads = max(2, width // 64)
    config = {
        "architectures": ["Qwen2ForCausalLM"], "model_type": "qwen2", "hidden_size": width, "vocab_size": vocabulary,
        "num_hidden_layers": layers, "num_attention_heads": heads, "num_key_value_heads": heads // 2,
        "intermediate_size": 4 * width, "max_position_embeddings": 1024, "rms_norm_eps": 1e-6, "rope_theta": 10_000.0,
        "hidden_act": "silu", "tie_word_embeddings": True, "dtype": dtype, "eos_token_id": 1, "bos_token_id": 2,
        "pad_token_id": 0,
    }  # fmt: skip
    folder.mkdir(parents=True, exist_ok=True)
    for name in ("tokenizer.json", "tokenizer_config.json"):
        shutil.copyfile(EMBEDDED_FOLDER / name, folder / name)
    (folder / "config.json").write_text(json.dumps(config))
    (folder / "coevo.json").write_text(json.dumps({"schema_version": 1, "renderer": "plain"}))
    shapes = qwen2_shapes(config)
    _write(folder / "model.safetensors", shapes, dtype)
    return sum(int(np.prod(shape)) for shape in shapes.values())


def qwen2_shapes(config: dict[str, Any]) -> dict[str, tuple[int, ...]]:
    """Name and shape of every checkpoint tensor."""
    width, forward = config["hidden_size"], config["intermediate_size"]
    keys = width // config["num_attention_heads"] * config["num_key_value_heads"]
    shapes: dict[str, tuple[int, ...]] = {"model.embed_tokens.weight": (config["vocab_size"], width)}
    for layer in range(config["num_hidden_layers"]):
        at = f"model.layers.{layer}."
        for part, size in (("q", width), ("k", keys), ("v", keys)):
            shapes[f"{at}self_attn.{part}_proj.weight"] = (size, width)
            shapes[f"{at}self_attn.{part}_proj.bias"] = (size,)
        shapes[f"{at}self_attn.o_proj.weight"] = (width, width)
        shapes |= {f"{at}mlp.{part}_proj.weight": (forward, width) for part in ("gate", "up")}
        shapes[f"{at}mlp.down_proj.weight"] = (width, forward)
        shapes |= {f"{at}{part}_layernorm.weight": (width,) for part in ("input", "post_attention")}
    return shapes | {"model.norm.weight": (width,)}


def _write(file: Path, shapes: dict[str, tuple[int, ...]], dtype: str) -> None:
    entries, offset = {}, 0
    for name, shape in shapes.items():
        end = offset + int(np.prod(shape)) * BYTES[dtype]
        entries[name] = {"dtype": CODES[dtype], "shape": shape, "data_offsets": [offset, end]}
        offset = end
    header = json.dumps(entries).encode()
    header += b" " * (-len(header) % 8)
    rng = np.random.default_rng(0)
    with file.open("wb") as stream:
        stream.write(struct.pack("<Q", len(header)) + header)
        for name, shape in shapes.items():
            values = np.ones(shape, np.float32) if len(shape) == 1 else rng.standard_normal(shape, np.float32)
            values = values if "norm" in name else values * np.float32(0.02)
            if dtype == "bfloat16":
                bits = values.view(np.uint32)
                values = ((bits + np.uint32(0x7FFF) + ((bits >> 16) & 1)) >> 16).astype(np.uint16)
            values.tofile(stream)

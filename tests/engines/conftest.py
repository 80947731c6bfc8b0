"""Tiny random models, written as Hugging Face folders without torch."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tokenizers import Tokenizer, decoders, models, pre_tokenizers, processors

from coevo.engines.basis_building.building import build_basis
from coevo.engines.basis_building.vectors import RandomVectors
from coevo.engines.checkpoint import write_checkpoint
from coevo.engines.llama_shape import lean_shape
from coevo.engines.loading import inspect_folder
from coevo.interfaces import Member, Request, Sampling
from coevo.noise.basis import Basis, BasisOrigin, write_basis

SPECIAL = ["<pad>", "<eos>", "<bos>", "<a0>", "<a1>"]
CONFIG: dict[str, Any] = {
    "architectures": ["LlamaForCausalLM"],
    "model_type": "llama",
    "hidden_size": 32,
    "num_hidden_layers": 2,
    "num_attention_heads": 4,
    "num_key_value_heads": 4,
    "head_dim": 8,
    "intermediate_size": 48,
    "max_position_embeddings": 128,
    "rms_norm_eps": 1e-6,
    "rope_parameters": {"rope_theta": 10000.0, "rope_type": "default"},
    "hidden_act": "silu",
    "attention_bias": False,
    "mlp_bias": False,
    "tie_word_embeddings": True,
    "dtype": "float32",
    "bos_token_id": 2,
    "eos_token_id": 1,
    "pad_token_id": 0,
}
TEMPLATE = (
    "{{ bos_token }}{% for m in messages %}[{{ m['role'] }}]{{ m['content'] }}{% endfor %}"
    "{% if add_generation_prompt %}[assistant]{% endif %}"
)


def write_tokenizer(folder: Path, *, adds_bos: bool, template: str | None) -> int:
    """A byte-level tokenizer with no merges; returns the size of its vocabulary."""
    alphabet = sorted(pre_tokenizers.ByteLevel.alphabet())
    vocabulary = {token: number for number, token in enumerate([*SPECIAL, *alphabet])}
    tokenizer = Tokenizer(models.BPE(vocab=vocabulary, merges=[]))
    tokenizer.add_special_tokens(SPECIAL)
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.decoder = decoders.ByteLevel()
    if adds_bos:
        tokenizer.post_processor = processors.TemplateProcessing(single="<bos> $A", special_tokens=[("<bos>", 2)])
    tokenizer.save(str(folder / "tokenizer.json"))
    config = {"tokenizer_class": "PreTrainedTokenizerFast", "bos_token": "<bos>", "eos_token": "<eos>"}
    config |= {"pad_token": "<pad>"} | ({"chat_template": template} if template else {})
    (folder / "tokenizer_config.json").write_text(json.dumps(config))
    return len(vocabulary)


@pytest.fixture(scope="session")
def make_model(tmp_path_factory: pytest.TempPathFactory) -> Callable[..., Path]:
    """Writes the folder of a random Llama that the lean decoder serves, unless the given config says otherwise.

    `renderer` None writes no model card; `template` True gives the tokenizer a chat template; `adds_bos` lets it begin
    every text with a begin token; further keywords replace entries of `config.json`.
    """

    def make(renderer: str | None = "plain", template: bool = False, adds_bos: bool = False, **changes: Any) -> Path:
        folder = tmp_path_factory.mktemp("model")
        vocabulary = write_tokenizer(folder, adds_bos=adds_bos, template=TEMPLATE if template else None)
        config = {**CONFIG, "vocab_size": vocabulary, **changes}
        if renderer is not None:
            (folder / "coevo.json").write_text(json.dumps({"schema_version": 1, "renderer": renderer}))
        rng = np.random.default_rng(5)
        shapes = llama_shapes(config)
        arrays = {name: 1.0 + np.zeros(shape, np.float32) for name, shape in shapes.items()}
        arrays |= {n: rng.normal(0, 0.3, s).astype(np.float32) for n, s in shapes.items() if len(s) == 2}
        write_checkpoint(folder / "model.safetensors", arrays, shapes)
        (folder / "config.json").write_text(json.dumps(config))
        return folder

    return make


def llama_shapes(config: dict[str, Any]) -> dict[str, tuple[int, ...]]:
    """Name and shape of every checkpoint tensor of a Llama, grouped key heads included."""
    width, forward = config["hidden_size"], config["intermediate_size"]
    inner, keys = (config[f"num_{kind}_heads"] * config["head_dim"] for kind in ("attention", "key_value"))
    shapes: dict[str, tuple[int, ...]] = {"model.embed_tokens.weight": (config["vocab_size"], width)}
    for layer in range(config["num_hidden_layers"]):
        at = f"model.layers.{layer}."
        shapes |= {f"{at}self_attn.q_proj.weight": (inner, width), f"{at}self_attn.o_proj.weight": (width, inner)}
        shapes |= {f"{at}self_attn.{part}_proj.weight": (keys, width) for part in "kv"}
        shapes |= {f"{at}mlp.{part}_proj.weight": (forward, width) for part in ("gate", "up")}
        shapes[f"{at}mlp.down_proj.weight"] = (width, forward)
        shapes |= {f"{at}{part}_layernorm.weight": (width,) for part in ("input", "post_attention")}
    shapes["model.norm.weight"] = (width,)
    if not config["tie_word_embeddings"]:
        shapes["lm_head.weight"] = (config["vocab_size"], width)
    return shapes


@pytest.fixture(scope="session")
def write_random_basis() -> Callable[..., Basis]:
    """Writes a basis of random vectors over tensors of these shapes and returns it."""

    def write(file: Path, shapes: dict[str, tuple[int, ...]], vectors: int = 5, rank: int = 3, seed: int = 3) -> Basis:
        origin = BasisOrigin(method="random", architecture="none", fingerprint="0" * 16, seed=seed)
        basis, _ = build_basis(RandomVectors(shapes, vectors, seed), rank, origin)
        write_basis(file, basis)
        return basis

    return write


@pytest.fixture(scope="session")
def tiny_llama(make_model: Callable[..., Path]) -> Path:
    """The folder of a random Llama with tied embeddings that the lean decoder serves."""
    folder = make_model()
    assert lean_shape(inspect_folder(folder)) is not None
    return folder


@pytest.fixture(scope="session")
def grouped_llama(make_model: Callable[..., Path]) -> Path:
    """The folder of a random Llama with grouped keys and an untied head, which transformers has to serve."""
    folder = make_model(num_key_value_heads=2, tie_word_embeddings=False)
    assert lean_shape(inspect_folder(folder)) is None
    return folder


@pytest.fixture
def make_requests() -> Callable[..., list[Request]]:
    """Makes requests with different prompts and seeds; `members` are dealt round-robin, None is the base."""

    def make(count: int, members: tuple[Member | None, ...] = (None,), **sampling: Any) -> list[Request]:
        limits = Sampling(**{"max_tokens": 12, **sampling})
        return [
            Request(f"r{n}", f"prompt {n * n}: " + "x" * (n % 5), 1000 + n, members[n % len(members)], limits)
            for n in range(count)
        ]

    return make


@pytest.fixture
def member() -> Callable[..., Member]:
    """Makes members of one run; directions and signs differ as asked."""

    def make(direction: int = 0, sign: int = 1, sigma: float = 0.05, step: int = 0) -> Member:
        return Member(run_key=77, step=step, direction=direction, sign=sign, sigma=sigma)

    return make

"""Models that vLLM serves, in the configurations whose weights must not differ by a bit; one start of vLLM for each.

The interpreter of an environment that has vLLM is named by COEVO_VLLM_PYTHON; without it these tests are skipped.
"""

import json
import os
import shutil
import subprocess
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import coevo
from coevo.engines import wire
from coevo.engines.basis_building.making import BasisRecipe, make_basis
from coevo.engines.checkpoint import write_checkpoint
from coevo.engines.guiding import BASIS_FILE
from coevo.engines.loading import EMBEDDED_FOLDER, inspect_folder
from coevo.engines.policy import WeightPolicy
from coevo.engines.storage import BFLOAT16, to_storage
from coevo.engines.torch_worker import serve_model
from coevo.engines.vllm.engine import INTERPRETER
from coevo.interfaces import Member, Partition, Update, UpdateRule
from coevo.noise.basis import Basis, write_basis

ROOT = Path(coevo.__file__).parents[1]
SIGMA = 0.02
COEFFICIENTS = tuple(float(np.float32(value)) for value in (3e-3, -2e-3, 1e-3, -5e-4))
UPDATES = [
    *(Update(77, step, (0, 1, 2, 3), COEFFICIENTS) for step in range(6)),
    *(Update(77, step, (0, 1, 2, 3), COEFFICIENTS, Partition(2, "tile"), (0, 1, 0, 1)) for step in (6, 7)),
    *(Update(77, step, (0, 1, 2, 3), COEFFICIENTS, Partition(3, "element"), (0, 1, 2, 0)) for step in (8, 9)),
]
SLOTS = 2
"""Low-rank members that are served at once."""

QWEN: dict[str, Any] = {
    "architectures": ["Qwen2ForCausalLM"],
    "model_type": "qwen2",
    "hidden_size": 128,
    "num_hidden_layers": 2,
    "num_attention_heads": 4,
    "num_key_value_heads": 1,
    "intermediate_size": 96,
    "max_position_embeddings": 512,
    "rms_norm_eps": 1e-6,
    "hidden_act": "silu",
    "tie_word_embeddings": True,
    "dtype": "bfloat16",
    "eos_token_id": 1,
    "vocab_size": 1290,
    "rope_parameters": {"rope_theta": 10000.0, "rope_type": "default"},
}
"""Fused biases, tied embeddings with padding rows, and fewer key heads than parts: each part gets the same ones."""


@dataclass(frozen=True)
class Served:
    """A model folder, its policy, what was seen of it in vLLM, and where it was exported after the updates."""

    path: Path
    policy: WeightPolicy
    facts: dict[str, Any]
    export: Path


@pytest.fixture(scope="session")
def vllm_python() -> str:
    """The interpreter that has vLLM."""
    python = os.environ.get(INTERPRETER)
    if not python:
        pytest.skip(f"{INTERPRETER} does not name an interpreter that has vLLM")
    return python


@pytest.fixture(scope="session")
def qwen(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of a small random Qwen2 in bf16 with the embedded model's tokenizer."""
    folder = tmp_path_factory.mktemp("qwen")
    for name in ("tokenizer.json", "tokenizer_config.json"):
        shutil.copyfile(EMBEDDED_FOLDER / name, folder / name)
    (folder / "coevo.json").write_text(json.dumps({"schema_version": 1, "renderer": "plain"}))
    (folder / "config.json").write_text(json.dumps(QWEN))
    rng, shapes = np.random.default_rng(5), qwen_shapes()
    arrays = {name: rng.normal("norm" in name, 0.1, shape).astype(np.float32) for name, shape in shapes.items()}
    bits = {name: to_storage(array.reshape(1, -1), BFLOAT16) for name, array in arrays.items()}
    write_checkpoint(folder / "model.safetensors", bits, shapes)
    return folder


def qwen_shapes() -> dict[str, tuple[int, ...]]:
    """Name and shape of every checkpoint tensor."""
    width, forward, keys = QWEN["hidden_size"], QWEN["intermediate_size"], QWEN["hidden_size"] // 4
    shapes: dict[str, tuple[int, ...]] = {"model.embed_tokens.weight": (QWEN["vocab_size"], width)}
    for layer in range(QWEN["num_hidden_layers"]):
        at = f"model.layers.{layer}."
        for part, height in (("q", width), ("k", keys), ("v", keys)):
            shapes |= {
                f"{at}self_attn.{part}_proj.weight": (height, width),
                f"{at}self_attn.{part}_proj.bias": (height,),
            }
        shapes |= {f"{at}self_attn.o_proj.weight": (width, width), f"{at}mlp.down_proj.weight": (width, forward)}
        shapes |= {f"{at}mlp.{part}_proj.weight": (forward, width) for part in ("gate", "up")}
        shapes |= {f"{at}{part}_layernorm.weight": (width,) for part in ("input", "post_attention")}
    return shapes | {"model.norm.weight": (width,)}


@pytest.fixture(scope="session")
def serve_in_vllm(vllm_python: str, tmp_path_factory: pytest.TempPathFactory) -> Callable[..., Served]:
    """Serves a model in a given number of parts, with adapters of a rank or none, and returns what was seen."""

    def serve(path: Path, parts: int, rank: int = 0, rule: UpdateRule = "master") -> Served:
        folder = tmp_path_factory.mktemp("vllm")
        policy = WeightPolicy(scope="linear" if rank else "full", update_rule=rule)
        spec = {
            "path": str(path),
            "export": str(folder / "export"),
            "sigma": SIGMA,
            "updates": [wire.pack_update(update) for update in (low_rank_updates(rank) if rank else UPDATES)],
            "policy": policy.model_dump(),
            "options": {"tensor_parallel": parts, "cache_gb": 0.25, "rows": 8, "rank": rank, "members": SLOTS},
        }
        (folder / "spec.json").write_text(json.dumps(spec))
        script = Path(__file__).with_name("inside_adapters.py" if rank else "inside.py")
        command = [vllm_python, str(script), folder / "spec.json", folder / "facts.json"]
        environment = {**os.environ, "PYTHONPATH": f"{ROOT}{os.pathsep}{ROOT / 'tests' / 'support'}"}
        with (folder / "log").open("w") as log:
            code = subprocess.run(command, env=environment, stdout=log, stderr=log, timeout=550).returncode
        assert code == 0, (folder / "log").read_text()[-4000:]
        return Served(path, policy, json.loads((folder / "facts.json").read_text()), folder / "export")

    return serve


def low_rank_updates(rank: int) -> list[Update]:
    """Three updates along directions of a rank."""
    return [Update(77, step, (0, 1, 2, 3), COEFFICIENTS, rank=rank) for step in range(3)]


@pytest.fixture(scope="session")
def guided_model(tmp_path_factory: pytest.TempPathFactory) -> Callable[[], tuple[Path, Basis]]:
    """The embedded model with a basis of random vectors beside it."""

    def make() -> tuple[Path, Basis]:
        folder = tmp_path_factory.mktemp("guided") / "model"
        shutil.copytree(EMBEDDED_FOLDER, folder, ignore=shutil.ignore_patterns(BASIS_FILE))
        basis, _ = make_basis(inspect_folder(folder), BasisRecipe(method="random", vectors=6, rank=4))
        write_basis(folder / BASIS_FILE, basis)
        return folder, basis

    return make


@pytest.fixture(scope="session")
def make_low_rank_updates() -> Callable[[int], list[Update]]:
    """The updates that a configuration with adapters of a rank applies."""
    return low_rank_updates


@pytest.fixture(scope="session")
def torch_history(tmp_path_factory: pytest.TempPathFactory) -> Callable[..., tuple[list[int], bytes]]:
    """The same updates in the engine `torch`: fingerprints from the first on, and the exported file."""
    known: dict[Any, tuple[list[int], bytes]] = {}

    def history(path: Path, updates: list[Update], policy: WeightPolicy) -> tuple[list[int], bytes]:
        key = path, tuple(updates), policy
        if key not in known:
            model = serve_model(path, chat=False, device="cpu", threads=1, policy=policy)
            fingerprints = [model.fingerprint()]
            for update in updates:
                model.weights.commit(update)
                fingerprints.append(model.fingerprint())
            folder = tmp_path_factory.mktemp("torch")
            model.export(folder)
            known[key] = fingerprints, (folder / "model.safetensors").read_bytes()
        return known[key]

    return history


@pytest.fixture(scope="session")
def torch_logprobs() -> Callable[..., np.ndarray]:
    """Log-probabilities of the token that follows a text, by the engine `torch` serving a member."""

    def logprobs(path: Path, text: str, member: Member | None, scope: str = "full") -> np.ndarray:
        model = serve_model(path, chat=False, device="cpu", threads=1, policy=WeightPolicy(scope=scope))
        model.weights.activate(member)
        (logits,) = model.decoder.admit([model.codec.encode(text)])
        model.decoder.keep([])
        return np.asarray(logits - np.logaddexp.reduce(logits.astype(np.float64)))

    return logprobs


@pytest.fixture(scope="session")
def vllm_updates() -> list[Update]:
    """The ten updates that every configuration applies."""
    return UPDATES


@pytest.fixture(scope="session")
def vllm_sigma() -> float:
    """Sigma of the members that every configuration serves."""
    return SIGMA

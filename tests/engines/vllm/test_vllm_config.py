"""What vLLM is told, and what is refused before it is started."""

import json
from types import SimpleNamespace

import pytest

from coevo.engines.loading import EMBEDDED_FOLDER, inspect_folder
from coevo.engines.vllm.config import VllmOptions, require_adaptable, require_plain, require_supported, share_cores
from coevo.engines.vllm.engine import VllmEngine
from coevo.errors import ModelError


def test_latent_attention_is_refused(make_model):
    """P2: vLLM serves products of such weights, wherever the configuration says so."""
    for changes in ({"kv_lora_rank": 8}, {"text_config": {"kv_lora_rank": 8}}):
        with pytest.raises(ModelError, match="kv_lora_rank"):
            VllmEngine(make_model(**changes), chat=False)
    require_supported(inspect_folder(make_model()))


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"quantization": "fp8"}, "'fp8'"),
        ({"lora_config": object()}, "enable_lora"),
        ({"speculative_config": object()}, "speculation"),
    ],
)
def test_servers_that_add_to_the_weights_are_refused(changes, message):
    """P2, P19: quantised weights, adapters and draft models do not move with the weights."""
    plain = {"quantization": None, "lora_config": None, "speculative_config": None}
    make = lambda values: SimpleNamespace(  # noqa: E731
        model_config=SimpleNamespace(quantization=values["quantization"]),
        **{key: values[key] for key in ("lora_config", "speculative_config")},
    )
    require_plain(make(plain))
    require_plain(make(plain | {"lora_config": object()}), has_adapters=True)
    with pytest.raises(ModelError, match=message):
        require_plain(make(plain | changes), has_adapters="lora_config" not in changes)


def test_cores_are_shared_evenly(monkeypatch):
    """P31: each part gets cores of its own; a single part is left to vLLM."""
    monkeypatch.setattr("os.sched_getaffinity", lambda _: {4, 5, 6, 7, 9})
    assert [share_cores(parts) for parts in (1, 2, 3)] == ["auto", "4,5|6,7", "4|5|6"]
    monkeypatch.setattr("os.sched_getaffinity", lambda _: {0})
    assert share_cores(2) == "auto"


def test_options_are_told_to_vllm():
    """Served type, context and memory as chosen; caching on, no tokenizer, no code of the model's."""
    folder = inspect_folder(EMBEDDED_FOLDER)
    told = VllmOptions(context=100, cache_gb=0.5, tensor_parallel=2).engine_arguments(folder, is_cpu=False)
    assert told["dtype"] == "float32"
    assert (told["max_model_len"], told["kv_cache_memory_bytes"], told["tensor_parallel_size"]) == (100, 2**29, 2)
    assert told["enable_prefix_caching"]
    assert told["skip_tokenizer_init"]
    assert not told["trust_remote_code"]
    assert [VllmOptions().engine_arguments(folder, is_cpu=cpu)["enforce_eager"] for cpu in (True, False)] == [
        True,
        False,
    ]
    json.dumps(VllmOptions().model_dump(mode="json"))


def test_adapters_are_told_to_vllm():
    """None by default; the next rank that vLLM knows, a slot for each member, and one that stays empty on the CPU."""
    folder = inspect_folder(EMBEDDED_FOLDER)
    assert "enable_lora" not in VllmOptions().engine_arguments(folder, is_cpu=True)
    told = VllmOptions(rank=9, members=4).engine_arguments(folder, is_cpu=False)
    assert told["enable_lora"] is True
    assert (told["max_lora_rank"], told["max_loras"]) == (16, 4)
    assert {"q_proj", "down_proj"} <= set(told["lora_target_modules"])
    assert not {"embed_tokens", "lm_head", "norm"} & set(told["lora_target_modules"])
    assert VllmOptions(rank=1, members=4).engine_arguments(folder, is_cpu=True)["max_loras"] == 5
    assert [VllmOptions(rank=rank).engine_arguments(folder, is_cpu=True)["max_lora_rank"] for rank in (1, 2, 512)] == [
        1,
        8,
        512,
    ]


def test_fp32_adapters_on_a_gpu_are_refused():
    """There vLLM multiplies adapters in 16 bits only, and would say so in the middle of a run."""
    options = VllmOptions(rank=1)
    with pytest.raises(ModelError, match="bfloat16"):
        require_adaptable(options, "float32", is_cpu=False)
    require_adaptable(options, "float32", is_cpu=True)
    require_adaptable(options, "bfloat16", is_cpu=False)
    require_adaptable(VllmOptions(rank=1, dtype="bfloat16"), "float32", is_cpu=False)
    require_adaptable(VllmOptions(), "float32", is_cpu=False)

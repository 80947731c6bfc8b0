"""How a model is served by vLLM: the user's settings, and what is refused before anything is started."""

import os
from collections.abc import Iterable, Mapping
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field

from coevo.engines.loading import ModelFolder
from coevo.engines.placement import environment_of
from coevo.engines.scope import names_in_scope
from coevo.errors import ModelError

EXTENSION = "coevo.engines.vllm.extension.WeightsExtension"

_ADAPTER_RANKS = (1, 8, 16, 32, 64, 128, 256, 320, 512)
"""What vLLM allows as the highest rank of adapters; those of lower rank are padded by it with zeros."""


class VllmOptions(BaseModel):
    """Settings of the engine `vllm`. None of them changes a bit of the weights."""

    model_config = ConfigDict(frozen=True, extra="forbid", use_attribute_docstrings=True)

    tensor_parallel: int = Field(default=1, ge=1)
    """Devices, or groups of cores, that share one copy of the model."""

    devices: tuple[str, ...] = ()
    """The GPUs that its processes may see, as `coevo.engines.placement` names them; without any, all."""

    dtype: Literal["auto", "float32", "bfloat16", "float16"] = "auto"
    """Type the weights are served in; "auto" is the one the model folder names."""

    context: int | None = Field(default=None, ge=2)
    """Most tokens of prompt and answer together; None for all that the model allows."""

    rows: int = Field(default=64, ge=1)
    """Most requests at work at once."""

    memory_share: float = Field(default=0.85, gt=0, le=1)
    """Share of a device's memory that weights and cache may fill."""

    cache_gb: float | None = Field(default=None, gt=0)
    """Memory of the key-value cache in GiB; None for what `memory_share` leaves on a GPU, and 1 on the CPU."""

    is_eager: bool | None = None
    """Whether to do without captured graphs; None for captured graphs on a GPU alone."""

    cpu_cores: str | None = None
    """Cores of each part on the CPU as vLLM writes them, for example "0-3|4-7"; None for an even share."""

    rank: int = Field(default=0, ge=0, le=_ADAPTER_RANKS[-1])
    """Highest rank of the low-rank members that are served beside the base in one batch, as adapters; 0 for none:
    then every member is served by moving the weights."""

    members: int = Field(default=16, ge=1)
    """Most low-rank members in one batch, each of which has a slot in the memory of the device."""

    is_batch_invariant: bool = False
    """Whether results must not depend on what else is in the batch: slower, and only where vLLM offers it."""

    is_probed: bool = True
    """Whether to check at the start, one parameter after another, that moving it moves the model's answers."""

    def environment(self) -> dict[str, str]:
        """Variables that must be set before vLLM is imported.

        One process schedules and runs the model where it can, so requests are batched the same way every time.
        """
        return {
            "VLLM_ENABLE_V1_MULTIPROCESSING": "0",
            "VLLM_WORKER_MULTIPROC_METHOD": "spawn",
            "VLLM_CPU_OMP_THREADS_BIND": self.cpu_cores or share_cores(self.tensor_parallel),
            "VLLM_BATCH_INVARIANT": str(int(self.is_batch_invariant)),
            "VLLM_NO_USAGE_STATS": "1",
            "VLLM_DO_NOT_TRACK": "1",
            "VLLM_LOGGING_LEVEL": "ERROR",
            **environment_of(self.devices),
        }

    def engine_arguments(self, folder: ModelFolder, *, is_cpu: bool) -> dict[str, Any]:
        """Arguments of `vllm.LLM` for a checked model folder."""
        cache_gb = self.cache_gb or (1.0 if is_cpu else None)
        adapters = self._adapter_arguments(folder, is_cpu=is_cpu) if self.rank else {}
        return {
            "model": str(folder.path),
            "skip_tokenizer_init": True,
            "worker_extension_cls": EXTENSION,
            "dtype": folder.dtype if self.dtype == "auto" else self.dtype,
            "tensor_parallel_size": self.tensor_parallel,
            "max_model_len": self.context,
            "max_num_seqs": self.rows,
            "gpu_memory_utilization": self.memory_share,
            "kv_cache_memory_bytes": None if cache_gb is None else int(cache_gb * 2**30),
            "enforce_eager": is_cpu if self.is_eager is None else self.is_eager,
            "enable_prefix_caching": True,
            "generation_config": "vllm",
            "load_format": "safetensors",
            "disable_log_stats": True,
            "trust_remote_code": False,
            **adapters,
        }

    def _adapter_arguments(self, folder: ModelFolder, *, is_cpu: bool) -> dict[str, Any]:
        shapes = {name: info.shape for name, info in folder.tensors.items()}
        matrices = names_in_scope("linear", shapes)
        return {
            "enable_lora": True,
            "max_lora_rank": next(rank for rank in _ADAPTER_RANKS if rank >= self.rank),
            # On the CPU vLLM adds what the last slot holds to rows without an adapter: it has to stay empty.
            "max_loras": self.members + is_cpu,
            "lora_target_modules": module_suffixes(matrices),
        }


def module_suffixes(names: Iterable[str]) -> list[str]:
    """The last part of the name of each tensor's module, each once: what vLLM and PEFT call target modules."""
    return sorted({name.removesuffix(".weight").rpartition(".")[2] for name in names})


def share_cores(parts: int) -> str:
    """The cores this process may use in even shares, as vLLM writes them; with one part vLLM chooses itself."""
    cores = sorted(os.sched_getaffinity(0))
    if parts == 1 or len(cores) < parts:
        return "auto"
    share = len(cores) // parts
    return "|".join(",".join(map(str, cores[part * share : (part + 1) * share])) for part in range(parts))


def require_supported(folder: ModelFolder) -> None:
    """Refuse models that vLLM serves from copies of their weights.

    Raises:
        ModelError: For latent attention, whose projections vLLM multiplies out after loading.
    """
    parts: list[Mapping[str, Any]] = [folder.config, folder.config.get("text_config") or {}]
    if any(part.get("kv_lora_rank") for part in parts):
        raise ModelError(
            f"expected attention without latent keys, got kv_lora_rank in {folder.path / 'config.json'}: vLLM serves "
            "copies derived from such weights; use the engine 'torch'"
        )


def require_adaptable(options: VllmOptions, dtype: str, *, is_cpu: bool) -> None:
    """Refuse adapters where vLLM's kernels cannot compute them.

    Args:
        options: How the model is to be served.
        dtype: Type the model folder names.
        is_cpu: Whether it is served on the CPU.

    Raises:
        ModelError: For fp32 weights on a GPU.
    """
    served = dtype if options.dtype == "auto" else options.dtype
    if options.rank and not is_cpu and served == "float32":
        raise ModelError(
            "expected weights in bf16 or fp16 for low-rank members on a GPU, got fp32, for which vLLM has no product; "
            "serve the model in bfloat16, use dense members, or the engine 'torch'"
        )


def require_plain(config: Any, *, has_adapters: bool = False) -> None:
    """Refuse a server whose answers do not come from the checkpoint's own weights, and members' adapters, alone.

    Args:
        config: A `vllm.config.VllmConfig`.
        has_adapters: Whether low-rank members are served as adapters.

    Raises:
        ModelError: For quantised weights, adapters or a draft model.
    """
    quantised = config.model_config.quantization
    if quantised is not None:
        raise ModelError(
            f"expected unquantised weights, vLLM serves them as {quantised!r}; quantised weights cannot be perturbed, "
            "use the unquantised model"
        )
    if config.lora_config is not None and not has_adapters:
        raise ModelError("expected a server without adapters for weights that move in place; turn enable_lora off")
    if config.speculative_config is not None:
        raise ModelError("expected a server without a draft model, which would not move; turn speculation off")

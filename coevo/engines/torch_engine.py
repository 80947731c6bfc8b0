"""The engine `torch`: any Hugging Face causal language model, on CPU cores or a GPU, whose weights can move.

Small models are served by one process per core with one thread each; large ones, or a GPU, by one process with all
threads.
"""

import os
from collections.abc import Sequence
from pathlib import Path

from coevo.engines.llama_shape import SMALL_MODEL
from coevo.engines.loading import inspect_folder
from coevo.engines.placement import environment_of
from coevo.engines.policy import WeightPolicy, check_rank, warn_of_idle_rule
from coevo.engines.worker_engine import WorkerEngine
from coevo.engines.worker_process import WorkerSpec


class TorchEngine(WorkerEngine):
    """See `coevo.interfaces.Engine`.

    The same weights, text or messages, seed and sampling give the same tokens. On the lean decoder (small fp32 Llamas
    on the CPU) that holds whatever the other requests and however many workers; elsewhere for the same requests in the
    same order and, for base requests to a small model, the same number of workers.

    Args:
        model: The model folder (`coevo.engines.loading.resolve_model` finds it).
        workers: Processes for a small model; a large one, or one on a GPU, always gets one.
        chat: Whether a prompt becomes one user message in the model's chat template, where it has one, and a
            conversation what the template makes of it; without a template both are plain text.
        device: "auto" (a small model on the CPU; a large one on a GPU if there is one) or a torch device.
        policy: How weights are kept and moved; the default policy if None.
        rank: Rank of the low-rank members that will be asked for.
        devices: The GPUs that its processes may see, as `coevo.engines.placement` names them; without any, all.

    Raises:
        ModelError: If the folder cannot be served. What only shows when weights are loaded, shows at the first call.
        ConfigError: If low-rank members are to be asked for and the scope is another.
    """

    def __init__(
        self,
        model: Path,
        *,
        workers: int,
        chat: bool,
        device: str = "auto",
        policy: WeightPolicy | None = None,
        rank: int = 0,
        devices: Sequence[str] = (),
    ) -> None:
        kept, folder = policy or WeightPolicy(), inspect_folder(model)
        check_rank(rank, kept)
        warn_of_idle_rule(kept, folder.dtype)
        if workers < 1:
            raise ValueError(f"workers must be at least 1, got {workers}")
        is_small = folder.num_parameters < SMALL_MODEL and device in ("auto", "cpu")
        options = {
            "path": str(model.resolve()),
            "chat": chat,
            "device": device,
            "threads": 1 if is_small else len(os.sched_getaffinity(0)),
            "policy": kept.model_dump(),
            "rank": rank,
        }
        spec = WorkerSpec(
            "coevo.engines.torch_worker",
            options,
            model.resolve(),
            is_single_threaded=is_small,
            environment=environment_of(devices),
        )
        super().__init__(spec, workers if is_small else 1, rank)

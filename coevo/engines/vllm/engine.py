"""The engine `vllm`: a model served by vLLM, on GPUs or on the CPU, in tensor-parallel parts or whole.

vLLM's pins rarely agree with those of other packages, so it may live in an environment of its own: the variable
COEVO_VLLM_PYTHON names that environment's interpreter, and without it vLLM is expected beside coevo. Nothing but
NumPy, Numba and pydantic, which vLLM itself needs, has to be there besides.
"""

import os
import shutil
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

from coevo.engines.loading import inspect_folder
from coevo.engines.policy import WeightPolicy, check_rank, warn_of_idle_rule
from coevo.engines.vllm.config import VllmOptions, require_supported
from coevo.engines.worker_engine import WorkerEngine
from coevo.engines.worker_process import WorkerSpec
from coevo.errors import ConfigError
from coevo.interfaces import Completion, Request

INTERPRETER = "COEVO_VLLM_PYTHON"

_MOST_PENALTY = 2.0

_ANY_RANK = sys.maxsize
"""Members above the rank of the adapters are served like dense ones, by weights that move."""


class VllmEngine(WorkerEngine):
    """See `coevo.interfaces.Engine`. The same weights give the same bits as on any other engine; texts differ.

    Args:
        model: The model folder.
        chat: Whether a prompt becomes one user message in the model's chat template, where it has one, and a
            conversation what the template makes of it; without a template both are plain text.
        options: How vLLM serves it.
        policy: How weights are kept and moved; the default policy if None.
        rank: Highest rank of low-rank members that share a batch, instead of that of the options.
        members: Most of them in one batch, instead of that of the options.

    Raises:
        ModelError: If the folder cannot be served. What only shows when vLLM loads it, shows at the first call.
        ConfigError: If COEVO_VLLM_PYTHON names no interpreter, or low-rank members are to share a batch while the scope
            is not that of the matrices.
    """

    def __init__(
        self,
        model: Path,
        *,
        chat: bool,
        options: VllmOptions | None = None,
        policy: WeightPolicy | None = None,
        rank: int | None = None,
        members: int | None = None,
    ) -> None:
        folder = inspect_folder(model)
        require_supported(folder)
        named = {name: value for name, value in (("rank", rank), ("members", members)) if value is not None}
        chosen = VllmOptions.model_validate({**(options or VllmOptions()).model_dump(), **named})
        kept = policy or WeightPolicy()
        check_rank(chosen.rank, kept)
        warn_of_idle_rule(kept, folder.dtype)
        values = {
            "path": str(model.resolve()),
            "chat": chat,
            "options": chosen.model_dump(),
            "policy": kept.model_dump(),
            "threads": max(1, len(os.sched_getaffinity(0)) // chosen.tensor_parallel),
        }
        super().__init__(
            WorkerSpec(
                "coevo.engines.vllm.worker",
                values,
                model.resolve(),
                python=interpreter(),
                environment=chosen.environment(),
            ),
            workers=1,
            rank=_ANY_RANK,
        )

    def generate(self, requests: Sequence[Request]) -> Iterator[Completion]:
        """See `Engine` and `WorkerEngine.generate`.

        Raises:
            ConfigError: If a presence penalty is one that vLLM does not take.
            ModelError: See `WorkerEngine.generate`.
        """
        for penalty in {request.sampling.presence_penalty for request in requests}:
            if not -_MOST_PENALTY <= penalty <= _MOST_PENALTY:
                raise ConfigError(
                    f"expected a presence penalty from {-_MOST_PENALTY:g} to {_MOST_PENALTY:g}, which is what vLLM "
                    f"takes, got {penalty:g}; choose one of these, or the engine 'torch'"
                )
        return super().generate(requests)


def interpreter() -> str:
    """The interpreter that has vLLM.

    Raises:
        ConfigError: If the environment names one that is not there.
    """
    named = os.environ.get(INTERPRETER)
    if not named:
        return sys.executable
    found = shutil.which(named)
    if found is None:
        raise ConfigError(f"expected a Python interpreter with vLLM in {INTERPRETER}, got {named!r}: no such program")
    return found

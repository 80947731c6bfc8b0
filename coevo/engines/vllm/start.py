"""Start vLLM on a model folder, and look at what it says."""

import sys
from collections.abc import Callable
from importlib import import_module
from itertools import count
from typing import Any

from coevo.engines.loading import ModelFolder
from coevo.engines.vllm.canary import Table
from coevo.engines.vllm.config import VllmOptions, require_adaptable
from coevo.errors import ModelError, one_line

_CANARY_TOKENS = 8
_CANARY_LOGPROBS = 16


def start_vllm(folder: ModelFolder, options: VllmOptions) -> Any:
    """A `vllm.LLM` whose worker processes carry coevo's extension.

    Raises:
        ModelError: If vLLM is not installed or cannot load the model.
    """
    try:
        vllm, platform = import_module("vllm"), import_module("vllm.platforms").current_platform
    except ImportError as error:
        raise ModelError(
            f"expected the package vllm in the environment of {sys.executable}, found none ({error}); "
            "name an interpreter that has it in COEVO_VLLM_PYTHON"
        ) from error
    require_adaptable(options, folder.dtype, is_cpu=platform.is_cpu())
    try:
        return vllm.LLM(**options.engine_arguments(folder, is_cpu=platform.is_cpu()))
    except Exception as error:  # whatever vLLM or the model's code raises
        reason = one_line(error, 300)
        raise ModelError(
            f"expected a model that vLLM can serve in {folder.path}, got {type(error).__name__}: {reason}; "
            "use the engine 'torch' or other options"
        ) from error


def make_look(llm: Any) -> Callable[..., Table]:
    """What `coevo.engines.vllm.canary` watches: the likeliest continuations of a fixed prompt, computed afresh.

    The function that is returned takes vLLM's request of an adapter, or nothing.
    """
    vocabulary = int(llm.llm_engine.vllm_config.model_config.get_vocab_size())
    prompt = [token % vocabulary for token in range(1, 1 + _CANARY_TOKENS)]
    few = min(_CANARY_LOGPROBS, vocabulary)
    parameters = import_module("vllm").SamplingParams(
        temperature=0.0, max_tokens=2, ignore_eos=True, detokenize=False, logprobs=few
    )
    looks = count()

    def look(adapter: Any = None) -> Table:
        asked = {"prompt_token_ids": prompt, "cache_salt": f"look {next(looks)}"}
        (output,) = llm.generate([asked], parameters, use_tqdm=False, lora_request=adapter)
        tables = output.outputs[0].logprobs
        return tuple(tuple((token, entry.logprob) for token, entry in table.items()) for table in tables)

    return look

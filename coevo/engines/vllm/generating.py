"""One batch of prompts through vLLM, answers ended at their stop texts.

vLLM looks for stop texts only in what it decodes itself, and here it has no tokenizer: which text an answer is, is
decided by the codec that every engine shares. So a batch with stop texts is stepped by hand: each answer is looked at
as it grows, and taken out of vLLM where one of its texts appears. A batch without them is left to vLLM.
"""

from collections.abc import Sequence
from importlib import import_module
from typing import Any

from coevo.engines.stopping import StopWatch


def generate(
    llm: Any,
    prompts: Sequence[dict[str, Any]],
    parameters: Sequence[Any],
    adapters: Sequence[Any] | None,
    watches: Sequence[StopWatch | None],
) -> list[Any]:
    """The output of each prompt, in their order; nothing of the batch is at work afterwards.

    Args:
        llm: A `vllm.LLM` with nothing at work.
        prompts: What vLLM takes as prompts.
        parameters: vLLM's sampling parameters of each.
        adapters: vLLM's request of each prompt's adapter; None where none has one.
        watches: What looks for the stop texts of each; None where there are none.

    Returns:
        Outputs whose last token is the one that completed a stop text, where one did.
    """
    if not any(watches):
        outputs = llm.generate(list(prompts), list(parameters), use_tqdm=False, lora_request=adapters)
        return list(outputs)
    engine, latest = llm.llm_engine, {}
    cumulative = import_module("vllm.sampling_params").RequestOutputKind.CUMULATIVE
    names = [f"watched {place}" for place in range(len(prompts))]
    watch_of = dict(zip(names, watches, strict=True))
    for place, (name, prompt) in enumerate(zip(names, prompts, strict=True)):
        parameters[place].output_kind = cumulative
        engine.add_request(name, prompt, parameters[place], lora_request=adapters[place] if adapters else None)
    while engine.has_unfinished_requests():
        for output in engine.step():
            latest[output.request_id] = output
            watch = watch_of[output.request_id]
            if watch is not None and not output.finished and watch.sees(output.outputs[0].token_ids):
                engine.abort_request([output.request_id])
    return [latest[name] for name in names]

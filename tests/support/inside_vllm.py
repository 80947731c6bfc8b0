"""What the scripts that run under an interpreter with vLLM share: how they start, what they serve, what they write.

Usage of such a script: SCRIPT SPEC FACTS, both JSON files.
"""

import json
import os
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

LONG = "n = 5\n" * 60
"""A prompt whose beginning the prefix cache holds."""

Look = Callable[..., Any]


def describe(output: Any) -> dict[str, Any]:
    """Tokens, log-probabilities and cached prompt tokens of one output."""
    (answer,) = output.outputs
    tables = zip(answer.token_ids, answer.logprobs, strict=True)
    return {
        "tokens": list(answer.token_ids),
        "logprobs": [table[token].logprob for token, table in tables],
        "cached": output.num_cached_tokens,
    }


def run(look_at: Callable[[Any, Look, dict[str, Any]], dict[str, Any]]) -> None:
    """Serve the model of the SPEC and write down, as FACTS, what a function of model, look and spec has seen of it."""
    spec, facts = json.loads(Path(sys.argv[1]).read_text()), Path(sys.argv[2])
    model, look = _served(spec)
    facts.write_text(json.dumps(look_at(model, look, spec)))


def _served(spec: dict[str, Any]) -> tuple[Any, Look]:
    from coevo.engines.policy import WeightPolicy
    from coevo.engines.vllm.config import VllmOptions

    options = VllmOptions.model_validate(spec["options"])
    os.environ.update(options.environment())
    from coevo.engines.vllm.start import make_look
    from coevo.engines.vllm.worker import serve_model

    policy = WeightPolicy.model_validate(spec["policy"])
    model = serve_model(Path(spec["path"]), chat=False, options=options, policy=policy)
    return model, make_look(model._llm)

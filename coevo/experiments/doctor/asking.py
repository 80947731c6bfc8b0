"""The first request of the run that is meant, and the answer to it."""

import time
from collections.abc import Callable
from dataclasses import replace

from coevo.engines.loading import Renderer
from coevo.errors import CoevoError, EnvironmentFault
from coevo.experiments.doctor.asked import Asked
from coevo.experiments.doctor.finding import Finding, failed, passed
from coevo.interfaces import Engine, Message, Request, Sampling
from coevo.searching.preview import preview
from coevo.tuning.assemble import open_arena
from coevo.tuning.prompting import Prompt, Prompter

NAME = "engine"
MOST_TOKENS = 32
"""Of an answer here: whether it comes is what matters, and a large model on processor cores takes seconds each."""
_QUESTION = (Message("user", "Answer with one number. What is 2 + 3?"),)


def first_request(asked: Asked, renderer: Renderer) -> Request:
    """What the run would ask first: for a new heuristic, or for the first action of an episode.

    An environment that does not open here is the business of another check: a question takes its place.
    """
    prompt, sampling = _first_prompt(asked, renderer)
    bounded = replace(sampling, max_tokens=min(sampling.max_tokens, MOST_TOKENS))
    return Request("doctor", prompt.text, 1, None, bounded, prompt.messages)


def engine(served: Engine, request: Request, now: Callable[[], float] = time.monotonic) -> Finding:
    """Whether an engine that has been opened answers.

    Args:
        served: The engine.
        request: What it is asked.
        now: A clock, in seconds.
    """
    start = now()
    completions = list(served.generate([request]))
    if [each.request_id for each in completions] != [request.id]:
        return failed(NAME, f"expected one answer, got {len(completions)}", "report this with the model's name")
    (answer,) = completions
    if answer.num_tokens == 0 and answer.finish == "length":
        return failed(NAME, "the prompt does not fit the model's context", "use a model with a longer context")
    ended = "cut off" if answer.finish == "length" else "whole"
    return passed(NAME, f"answers: {answer.num_tokens} tokens, {ended}, in {now() - start:.1f} s with its start")


def _first_prompt(asked: Asked, renderer: Renderer) -> tuple[Prompt, Sampling]:
    if asked.search is not None:
        sampling = Sampling(asked.search.temperature, asked.search.top_p, asked.search.max_tokens)
        return Prompt(preview(asked.search).prompts["i1"]), sampling
    assert asked.tuning is not None
    try:
        messages, sampling = _opening(asked)
    except (CoevoError, EnvironmentFault):
        messages, sampling = _QUESTION, Sampling()
    return Prompter("plain" if renderer == "slots" else renderer).prompt(messages), sampling


def _opening(asked: Asked) -> tuple[tuple[Message, ...], Sampling]:
    assert asked.tuning is not None
    arena = open_arena(asked.tuning.env, asked.tuning.options, ("train",), asked.tuning.answers, 0)
    environment = arena.open()
    try:
        return tuple(environment.reset(arena.tasks["train"][0], 1)), arena.rules.sampling
    finally:
        environment.close()

"""Completions and tokens per second of a model: the lean decoder, transformers, and the engine with all its workers.

    python tests/benchmarks/generation.py [MODEL] [--prompts FILE] [--count 40] [--rounds 3] [--max-tokens 128]

MODEL is a folder or a name (default: embedded); FILE holds a JSON list of prompts (default: made-up ones). Rates of the
decoders are per CPU second of one thread, because the machine may be shared; those of the engine per wall second too.
The best of the rounds counts. Members have two completions each, the base one batch.
"""

import argparse
import json
import os
import time
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path

import numpy as np

from coevo.engines.decoding import complete
from coevo.engines.loading import inspect_folder, resolve_model
from coevo.engines.policy import WeightPolicy
from coevo.engines.torch_engine import TorchEngine
from coevo.engines.torch_worker import ServedModel, serve_model
from coevo.interfaces import Completion, Member, Request, Sampling

Clock = Callable[[], float]


def make_requests(prompts: Sequence[str], options: argparse.Namespace, members: int) -> list[Request]:
    """Requests over the prompts in turn; with members, two requests each."""
    limits = Sampling(max_tokens=options.max_tokens)
    found = []
    for number in range(options.count):
        member = Member(7, 0, number // 2 % members, 1, 3e-3) if members else None
        text = prompts[number % len(prompts)]
        found.append(Request(f"{members}.{number}", text, number, member, limits))
    return found


def ask_model(model: ServedModel, requests: Sequence[Request]) -> list[Completion]:
    """All answers of one model in this process, member by member."""
    found = []
    for member in dict.fromkeys(request.member for request in requests):
        model.weights.activate(member)
        own = [request for request in requests if request.member == member]
        found += [answer for batch in complete(model.decoder, model.codec, model.ends, own) for answer in batch]
    return found


def ask_engine(engine: TorchEngine, requests: Sequence[Request]) -> list[Completion]:
    """All answers of the engine."""
    return list(engine.generate(requests))


def measure(ask: Callable[[], list[Completion]], clock: Clock, rounds: int) -> str:
    """Best rates of some rounds, after one to warm up."""
    ask()
    best, tokens = 0.0, 0.0
    for _ in range(rounds):
        start = clock()
        answers = ask()
        rate = len(answers) / (clock() - start)
        if rate > best:
            best, tokens = rate, rate * float(np.mean([answer.num_tokens for answer in answers]))
    return f"{best:6.1f} completions/s {tokens:7.0f} tokens/s"


def with_transformers(path: Path) -> ServedModel:
    """The same model on the general path, whatever the lean decoder could do."""
    import torch

    from coevo.engines.torch_worker import serve_with_transformers

    torch.set_num_threads(1)
    return serve_with_transformers(inspect_folder(path), chat=False, device="cpu", threads=1, policy=WeightPolicy())


def workers_cpu_s(engine: TorchEngine) -> float:
    """CPU seconds the workers have used so far."""
    ticks = 0
    for pid in engine.worker_pids:
        fields = Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()
        ticks += int(fields[11]) + int(fields[12])
    return ticks / os.sysconf("SC_CLK_TCK")


def report(line: str) -> None:
    """One line of the result."""
    print(line, flush=True)


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("model", nargs="?", default="embedded")
    parser.add_argument("--prompts", type=Path)
    parser.add_argument("--count", type=int, default=40)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--max-tokens", type=int, default=128)
    parser.add_argument("--workers", type=int, default=os.cpu_count() or 1)
    options = parser.parse_args()
    path = resolve_model(options.model)
    made_up = [f"Write heuristic {n}: " + "distance " * 8 for n in range(10)]
    prompts = json.loads(options.prompts.read_text()) if options.prompts else made_up
    plain = make_requests(prompts, options, members=0)
    perturbed = make_requests(prompts, options, members=options.count // 2)
    cases = (("base", plain), ("members", perturbed))
    lean = serve_model(path, chat=False, device="cpu", threads=1)
    models = {type(lean.decoder).__name__: lean, "TransformersDecoder": with_transformers(path)}
    for name, model in models.items():
        for case, requests in cases:
            rate = measure(partial(ask_model, model, requests), time.process_time, options.rounds)
            report(f"{name:20} {case:8} {rate} per CPU second")
    with TorchEngine(path, workers=options.workers, chat=False) as engine:
        for case, requests in cases:
            for unit, clock in (("wall", time.perf_counter), ("worker CPU", partial(workers_cpu_s, engine))):
                rate = measure(partial(ask_engine, engine, requests), clock, options.rounds)
                report(f"{f'engine, {options.workers} workers':20} {case:8} {rate} per {unit} second")


if __name__ == "__main__":
    main()

"""Tokens per second of a population in one batch: low-rank members against frozen weights and dense members.

    python tests/benchmarks/low_rank.py [--model embedded] [--members 32] [--rank 1] [--prompt 96] [--tokens 96]
        [--rounds 7] [--dense-rounds 1] [--torch-width 768] [--torch-layers 12] [--dtype float32] [--threads 2]

Two models: MODEL (a folder or a name) on the lean decoder, one thread, and a random Llama of at least 0.1 B parameters
on transformers, all threads. In each round the same prompts are answered by one batch of the base, by one batch in
which every row is a member's, and, in the first rounds, by dense members one after another, weights moved in between.
Rates count decoded tokens over all the time, reading of prompts and making of noise included; answers have fixed
lengths, spread between half of --tokens and --tokens, so that rows finish one by one. Tokens are the likeliest:
drawing costs the same everywhere and is left out. Ratios are those of one round: median, smallest and largest. On the
lean decoder a batch of one model reads what its prompts begin with in common only once, which members cannot: hence a
line with a prompt for each and one with a prompt for all. The table is Markdown.
"""

import argparse
import os
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from statistics import median

import numpy as np

from coevo.block import Block
from coevo.engines.decoding import Decoder
from coevo.engines.lean_llama import LeanLlama
from coevo.engines.llama_shape import lean_shape
from coevo.engines.loading import inspect_folder, resolve_model
from coevo.engines.scope import names_in_scope
from coevo.interfaces import Member
from coevo.noise import perturb

Prompts = list[list[int]]


@dataclass
class Subject:
    """A model: its decoder, and its matrices as they are served (fp32, or bits of 16-bit types)."""

    title: str
    decoder: Decoder
    vocabulary: int
    matrices: dict[str, np.ndarray]

    def __post_init__(self) -> None:
        self.base = {name: array.copy() for name, array in self.matrices.items()}

    def serve(self, member: Member | None, threads: int) -> None:
        """Serve a dense member, or the base."""

        def write(name: str) -> None:
            out, base = self.matrices[name], self.base[name]
            if member is None:
                out[...] = base
            else:
                perturb(base, out, Block.whole(name, out.shape), member)

        with ThreadPoolExecutor(threads) as pool:
            list(pool.map(write, self.matrices))


def answer(decoder: Decoder, prompts: Prompts, members: Sequence[Member | None], lengths: Sequence[int]) -> None:
    """Answer in one batch; row n stops after lengths[n] tokens."""
    logits = decoder.admit(prompts, members)
    left = list(lengths)
    while left:
        left = [length - 1 for length in left]
        tokens = logits.argmax(1).tolist()
        count = sum(length > 0 for length in left)
        if count < len(left):
            movers = [place for place in range(count, len(left)) if left[place] > 0]
            rows = [place if left[place] > 0 else movers.pop() for place in range(count)]
            decoder.keep(rows)
            left, tokens = [left[row] for row in rows], [tokens[row] for row in rows]
        if left:
            logits = decoder.step(tokens)


def lean_subject(model: str, rows: int) -> Subject:
    """A small Llama on the lean decoder."""
    folder = inspect_folder(resolve_model(model))
    shape = lean_shape(folder)
    if shape is None:
        raise SystemExit(f"{model} is not served by the lean decoder")
    decoder = LeanLlama(shape, rows)
    arrays = decoder.arrays()
    for name, array in arrays.items():
        array[:] = folder.tensors[name].read()
    shapes = shape.tensors()
    matrices = {name: arrays[name].reshape(shapes[name]) for name in names_in_scope("linear", shapes)}
    size = sum(len(array) for array in arrays.values()) / 1e6
    return Subject(f"{model}, {size:.1f} M, lean", decoder, shape.vocabulary, matrices)


def torch_subject(options: argparse.Namespace) -> Subject:
    """A random Llama on transformers."""
    import torch
    from transformers import LlamaConfig, LlamaForCausalLM

    from coevo.engines.torch_low_rank import LowRankLinears
    from coevo.engines.torch_model import TransformersDecoder

    torch.set_num_threads(options.threads)
    torch.manual_seed(0)
    width = options.torch_width
    config = LlamaConfig(
        vocab_size=32_000,
        hidden_size=width,
        intermediate_size=width * 8 // 3,
        num_hidden_layers=options.torch_layers,
        num_attention_heads=width // 64,
        num_key_value_heads=width // 64,
        max_position_embeddings=2048,
        tie_word_embeddings=True,
    )
    model = LlamaForCausalLM(config).to(getattr(torch, options.dtype)).eval()
    parameters = dict(model.named_parameters())
    names = names_in_scope("linear", {name: tuple(tensor.shape) for name, tensor in parameters.items()})
    is_wide = options.dtype == "bfloat16"
    bits = {name: parameters[name].detach().view(torch.uint16) if is_wide else parameters[name] for name in names}
    matrices = {name: tensor.detach().numpy() for name, tensor in bits.items()}
    linears = LowRankLinears(model, parameters, names)
    decoder = TransformersDecoder(model, linears, rows=options.members, padding=0)
    size = sum(tensor.numel() for tensor in parameters.values()) / 1e6
    return Subject(f"random Llama, {size:.0f} M, {options.dtype}, transformers", decoder, config.vocab_size, matrices)


def make_prompts(subject: Subject, options: argparse.Namespace, *, is_shared: bool) -> Prompts:
    """One random prompt per member, or the same for all."""
    rng = np.random.default_rng(3)
    drawn = rng.integers(10, subject.vocabulary, (options.members, options.prompt)).tolist()
    return [drawn[0]] * options.members if is_shared else drawn


def measure(subject: Subject, options: argparse.Namespace, *, is_shared: bool) -> str:
    """One line of the table."""
    count = options.members
    prompts = make_prompts(subject, options, is_shared=is_shared)
    lengths = [options.tokens - n * (options.tokens // 2) // count for n in range(count)]
    members = [Member(7, 0, n // 2, 1 - 2 * (n % 2), options.sigma, rank=options.rank) for n in range(count)]

    def one_by_one() -> None:
        for member, prompt, length in zip(members, prompts, lengths, strict=True):
            subject.serve(replace(member, rank=0), options.threads)
            answer(subject.decoder, [prompt], [None], [length])
        subject.serve(None, options.threads)

    def batch(owners: Sequence[Member | None]) -> Callable[[], None]:
        return lambda: answer(subject.decoder, prompts, owners, lengths)

    ways = {"frozen": batch([None] * count), "low": batch(members), "dense": one_by_one}
    rates: dict[str, list[float]] = {way: [] for way in ways}
    ways["frozen"]()
    ways["low"]()
    for turn in range(options.rounds):
        for way, act in ways.items():
            if way == "dense" and turn >= options.dense_rounds:
                continue
            start = time.perf_counter()
            act()
            rates[way].append(sum(lengths) / (time.perf_counter() - start))
    return row(subject, rates, is_shared=is_shared)


def row(subject: Subject, rates: dict[str, list[float]], *, is_shared: bool) -> str:
    """Rates as cells of the table."""
    ratios = [low / frozen for low, frozen in zip(rates["low"], rates["frozen"], strict=True)]
    spread = f"{median(ratios):.2f} ({min(ratios):.2f} to {max(ratios):.2f})"
    low, dense = median(rates["low"]), rates["dense"]
    others = f"{median(dense):.0f} | {low / median(dense):.1f}" if dense else "- | -"
    prompts = "one for all" if is_shared else "one each"
    return f"| {subject.title} | {prompts} | {median(rates['frozen']):.0f} | {low:.0f} | {spread} | {others} |"


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--model", default="embedded")
    for name, default in (("members", 32), ("rank", 1), ("prompt", 96), ("tokens", 96), ("rounds", 7)):
        parser.add_argument(f"--{name}", type=int, default=default)
    for name, default in (("dense-rounds", 1), ("torch-width", 768), ("torch-layers", 12)):
        parser.add_argument(f"--{name}", type=int, default=default)
    parser.add_argument("--threads", type=int, default=os.cpu_count() or 1)
    parser.add_argument("--sigma", type=float, default=3e-3)
    parser.add_argument("--dtype", choices=("float32", "bfloat16"), default="float32")
    parser.add_argument("--only", choices=("lean", "transformers"))
    options = parser.parse_args()
    print(f"{options.members} members of rank {options.rank}, prompts of {options.prompt} tokens, answers of up to ")
    print(f"{options.tokens}; {options.rounds} rounds; tokens/s.\n")
    print("| model | prompts | frozen | low-rank | low-rank / frozen | dense, one by one | low-rank / dense |")
    print("|---|---|---|---|---|---|---|")
    if options.only != "transformers":
        lean = lean_subject(options.model, options.members)
        for is_shared in (False, True):
            print(measure(lean, options, is_shared=is_shared), flush=True)
    if options.only != "lean":
        print(measure(torch_subject(options), options, is_shared=False), flush=True)


if __name__ == "__main__":
    main()

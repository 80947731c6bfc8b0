"""Share of a member's time that goes into moving its weights, on the embedded model and the lean decoder.

    python tests/benchmarks/member_switch.py [--tokens 64] [--rounds 40] [--threads 1]

Members answer one after another, as in a search; each time the switch (weights written from the base; there is no
restore and no cache to empty) and the answers of its children are timed in turn in one process, and the share is that
of one round. Answers have a fixed length; tokens are the likeliest. Going back to the base, as before an update, is
timed as well. The table is Markdown: medians, and the smallest and largest share.
"""

import argparse
import platform
import time
from importlib.metadata import version
from statistics import median

from coevo.engines.loading import EMBEDDED_FOLDER
from coevo.engines.torch_worker import ServedModel, serve_model
from coevo.interfaces import Member

PROMPT = 96


def answer(model: ServedModel, children: int, tokens: int) -> None:
    """Let some rows read a prompt and write a number of tokens each."""
    prompts = [[5 + (row * 7 + place) % 500 for place in range(PROMPT)] for row in range(children)]
    logits = model.decoder.admit(prompts)
    for _ in range(tokens - 1):
        logits = model.decoder.step(logits.argmax(1).tolist())
    model.decoder.keep([])


def measure(
    model: ServedModel, children: int, options: argparse.Namespace
) -> tuple[list[float], list[float], list[float]]:
    """Seconds of the switch to each member, of its answers, and of the way back to the base."""
    switches, answers, returns = [], [], []
    for number in range(options.rounds + 2):
        start = time.perf_counter()
        model.weights.activate(Member(1, 0, number, 1, 5e-3))
        switched = time.perf_counter()
        answer(model, children, options.tokens)
        answered = time.perf_counter()
        model.weights.activate(None)
        returns.append(time.perf_counter() - answered)
        switches.append(switched - start)
        answers.append(answered - switched)
    return switches[2:], answers[2:], returns[2:]


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--tokens", type=int, default=64)
    parser.add_argument("--rounds", type=int, default=40)
    parser.add_argument("--threads", type=int, default=1)
    options = parser.parse_args()
    model = serve_model(EMBEDDED_FOLDER, chat=False, device="cpu", threads=options.threads)
    versions = ", ".join(f"{package} {version(package)}" for package in ("numba", "numpy"))
    print(f"{model.folder.num_parameters / 1e6:.2f} M parameters, {options.tokens} tokens; ", end="")
    print(f"Python {platform.python_version()}, {versions}\n")
    print("| children of a member | switch, ms | answers, ms | back to the base, ms | share of the switch |")
    print("|---|---|---|---|---|")
    for children in (1, 2, 4):
        switches, answers, returns = measure(model, children, options)
        shares = [switch / (switch + rest) for switch, rest in zip(switches, answers, strict=True)]
        times = " | ".join(f"{1e3 * median(values):.1f}" for values in (switches, answers, returns))
        print(f"| {children} | {times} | {median(shares):.1%} ({min(shares):.1%}-{max(shares):.1%}) |", flush=True)


if __name__ == "__main__":
    main()

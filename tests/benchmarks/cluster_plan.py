"""Two large runs planned on paper: bytes, seconds a generation, and what breaks first.

    python tests/benchmarks/cluster_plan.py

Nothing is measured here. Every line is arithmetic on inputs that are printed first with where they are from; change one
and run it again. Times are of one engine, generation and noise one after the other, best case: no stragglers.
"""

import argparse
import sys
from dataclasses import dataclass


@dataclass(frozen=True)
class Card:
    """One accelerator.

    Attributes:
        name: For the page.
        memory_gb: Gigabytes.
        bytes_per_s: Memory bandwidth that a kernel reaches.
        flops: Dense bf16 operations a second that reading prompts reaches.
        normals_per_s: Normal numbers that its noise kernel draws a second.
        host_bytes_per_s: To the host's memory and back.
    """

    name: str
    memory_gb: float
    bytes_per_s: float
    flops: float
    normals_per_s: float
    host_bytes_per_s: float


@dataclass(frozen=True)
class Run:
    """One run.

    Attributes:
        parameters: Of the model, in bfloat16.
        engines: One card each.
        members: Of a step, dense noise.
        at_once: Answers that a member's engine writes at a time: tasks of an episode step, or children.
        turns: Model calls one after the other in each.
        prompt_tokens: Read in each turn, anew for every member.
        answer_tokens: Written in each turn.
        waits_s: Wall time of a turn in which the engine waits for surroundings.
        prompt_bytes: Sent in each turn, and about as many come back in all.
        steps: Updates in all.
    """

    parameters: float
    engines: int
    members: int
    at_once: int
    turns: int
    prompt_tokens: int
    answer_tokens: int
    waits_s: float
    prompt_bytes: int
    steps: int


@dataclass(frozen=True)
class Plan:
    """What follows, in seconds and bytes of one step unless it says otherwise."""

    reading_s: float
    writing_s: float
    waiting_s: float
    noise_s: float
    update_s: float
    requests_bytes: float
    update_bytes: float
    broadcast_bytes: float

    @property
    def step_s(self) -> float:
        """The whole step, update included."""
        return self.reading_s + self.writing_s + self.waiting_s + self.noise_s + self.update_s


SUBSPACES = 8
"""Of CoPES by tile: a tile's update draws the members of its own subspace alone."""
MEMBER_BYTES = 200
"""A member's coordinates and coefficient as they travel in an update, in words; an upper bound."""


def plan(run: Run, card: Card) -> Plan:
    """The arithmetic of one step.

    A token that is written reads all weights once, a token that is read costs two operations a parameter; a member
    reads the base and writes itself (four bytes a parameter) while it draws as many normals; an update draws those of
    all members, on every engine.
    """
    rounds = -(-run.members // run.engines)
    weights = 2 * run.parameters
    reading = run.turns * run.at_once * run.prompt_tokens * 2 * run.parameters / card.flops
    writing = run.turns * run.answer_tokens * weights / card.bytes_per_s
    noise = max(2 * weights / card.bytes_per_s, run.parameters / card.normals_per_s)
    return Plan(
        reading_s=rounds * reading,
        writing_s=rounds * writing,
        waiting_s=rounds * run.turns * run.waits_s,
        noise_s=rounds * noise,
        update_s=run.members * run.parameters / card.normals_per_s,
        requests_bytes=2.0 * run.members * run.at_once * run.turns * run.prompt_bytes,
        update_bytes=float(run.engines * run.members * MEMBER_BYTES),
        broadcast_bytes=run.engines * weights,
    )


H100 = Card("H100, 80 GB", 80, 2.0e12, 4.0e14, 5e11, 5.5e10)
"""3.35 TB/s and 990 TFLOP/s by data sheet, of which 60 % and 40 % are taken; half a tera-normal a second is estimated
from the instructions of Philox, and PCIe 5 gives about 55 GB/s."""

AGENT = Run(26.9e9, 4, 8, 8, 15, 6000, 60, 3.0, 24_000, 70)
"""WebArena-Lite as published: 26.9 B parameters, four cards, 8 members × 8 tasks, 70 updates (arXiv:2608.17310 and its
records). Turns, tokens and waits are assumptions: limits are 30 turns and 2,048 tokens, averages are not printed."""

SEARCH = Run(7.6e9, 1000, 1000, 32, 1, 1500, 600, 0.0, 6_000, 100)
"""A search on a thousand cards: a member for each, 32 children a member, answers as a 7 B coder writes them."""


def rows(run: Run, card: Card, found: Plan) -> list[tuple[str, str]]:
    """What the table says."""
    share = found.reading_s + found.writing_s + found.waiting_s
    return [
        ("weights", f"{2 * run.parameters / 1e9:.0f} GB a copy, on a card of {card.memory_gb:.0f} GB"),
        ("reading prompts", f"{found.reading_s:,.1f} s"),
        ("writing answers", f"{found.writing_s:,.1f} s"),
        ("waiting for surroundings", f"{found.waiting_s:,.1f} s"),
        ("perturbing, all members of an engine", f"{found.noise_s:.2f} s ({100 * found.noise_s / share:.2f} %)"),
        ("the same, base in host memory", f"{found.noise_s + _host(run, card):.2f} s"),
        ("update, on every engine", f"{found.update_s:.2f} s ({100 * found.update_s / share:.1f} %)"),
        (f"the same with {SUBSPACES} subspaces by tile", f"{found.update_s / SUBSPACES:.2f} s"),
        ("one step", f"{found.step_s:,.0f} s"),
        ("all steps", f"{run.steps * found.step_s / 3600:.1f} h"),
        ("answers a second, all engines", f"{run.members * run.at_once * run.turns / found.step_s:,.0f}"),
        ("requests and answers a step", f"{found.requests_bytes / 1e6:,.0f} MB"),
        ("update a step, all engines", f"{found.update_bytes / 1e6:,.3f} MB"),
        ("the weights instead, all engines", f"{found.broadcast_bytes / 1e12:,.2f} TB"),
        ("an engine that joins at the end replays for", f"{run.steps * found.update_s / 60:,.1f} min"),
    ]


def _host(run: Run, card: Card) -> float:
    return -(-run.members // run.engines) * 2 * run.parameters / card.host_bytes_per_s


def main() -> None:
    """Print both plans."""
    argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter).parse_args()
    plans = {"27 B agent": AGENT, "search": SEARCH}
    found = {name: rows(run, H100, plan(run, H100)) for name, run in plans.items()}
    lines = [f"Card: {H100}.", *(f"{name}: {run}." for name, run in plans.items()), ""]
    lines += [f"| of one step | {' | '.join(plans)} |", "| --- |" + " ---: |" * len(plans)]
    for parts in zip(*found.values(), strict=True):
        lines.append(f"| {parts[0][0]} | {' | '.join(value for _, value in parts)} |")
    sys.stdout.write("\n".join(lines) + "\n")


if __name__ == "__main__":
    main()

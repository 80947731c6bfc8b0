"""CoPES against plain ES at equal evaluations, on a quadratic whose optimum is known.

    OMP_NUM_THREADS=1 python tests/benchmarks/subspaces.py --seeds 5 --out runs/results/subspaces.md

The problem: f(θ) = ½ Σⱼ λⱼ (uⱼᵀ(θ − θ*))² over d = 100,000 parameters, with r = 10 orthonormal directions uⱼ (QR of
a Gaussian matrix of seed 0) and λⱼ falling from 1 to 0.01 in equal ratios; θ starts at 0 and θ* = Σⱼ uⱼ/√r, so the
optimum is f = 0 at distance 1, and d − r directions do not matter, as few do in a language model. The reward is −f.

Every arm gets the same evaluations (20 steps of 40 members), the same grid of (σ, α), constant over the run, and is
judged on run keys that its choice did not see. The figure is f(θ) after the last step over f at the start, mean ±
standard deviation over run keys. Two columns: each arm at its own best (σ, α), and every arm at the best of plain ES.
They answer different questions: σ_k = √K·σ and N_k = G/K make an update √K times as long at the same α, so an arm can
gain, or overshoot, in the second column by step length alone.

Strategy and noise are the real ones; the arithmetic of f is NumPy's.
"""

import argparse
import math
import platform
import time
from dataclasses import dataclass
from itertools import product
from pathlib import Path
from statistics import mean, stdev

import numpy as np

from coevo.block import Block
from coevo.es import ESSettings, EvolutionStrategy
from coevo.interfaces import Member
from coevo.noise import apply_update, perturb

TUNING_KEY = 2**32
"""Run keys of tuning start here, those of the verdict at 0."""


@dataclass(frozen=True)
class Size:
    """How much is done; one evaluation is one f(θ + σε)."""

    parameters: int = 100_000
    rank: int = 10
    members: int = 40
    steps: int = 20
    sigmas: tuple[float, ...] = (0.01, 0.05)
    alphas: tuple[float, ...] = (0.01, 0.02, 0.04, 0.08, 0.16)


QUICK = Size(parameters=20_000, steps=3, sigmas=(0.01,), alphas=(0.1, 0.3))


@dataclass(frozen=True)
class Arm:
    """One variant of the strategy."""

    subspaces: int
    unit: str
    z_scores: str
    antithetic: bool


def arms() -> list[Arm]:
    """Plain ES with and without mirrored pairs, and every variant of CoPES; with K = 1 unit and z-scores are idle."""
    plain = [Arm(1, "–", "joint", antithetic) for antithetic in (False, True)]
    variants = product((2, 4, 8), ("element", "tile"), ("joint", "separate"), (False, True))
    return plain + [Arm(*variant) for variant in variants]


class Quadratic:
    """f(θ) = ½ Σⱼ λⱼ (uⱼᵀ(θ − θ*))² with its optimum 0 at θ* = Σⱼ uⱼ/√r.

    Args:
        size: Gives d and r.
    """

    def __init__(self, size: Size):
        drawn = np.random.default_rng(0).standard_normal((size.parameters, size.rank))
        self.directions = np.ascontiguousarray(np.linalg.qr(drawn)[0].T, np.float32)
        self.weights = np.geomspace(1.0, 0.01, size.rank)
        self.target = np.full(size.rank, 1 / math.sqrt(size.rank))

    def value(self, theta: np.ndarray) -> float:
        """f; shape of `theta`: (1, d), fp32."""
        away = (self.directions @ theta[0]).astype(np.float64) - self.target
        return float(0.5 * (self.weights * away**2).sum())


def run(problem: Quadratic, size: Size, arm: Arm, sigma: float, alpha: float, run_key: int) -> float:
    """One run of an arm; returns f at its end over f at its start."""
    unit = "element" if arm.subspaces == 1 else arm.unit
    settings = ESSettings(
        members=size.members,
        sigma=sigma,
        alpha=alpha,
        schedule="constant",
        subspaces=arm.subspaces,
        subspace_unit=unit,
        z_scores=arm.z_scores,
        antithetic=arm.antithetic,
    )
    strategy = EvolutionStrategy(settings, run_key)
    block = Block.whole("theta", (size.parameters,))
    theta, served = np.zeros((2, 1, size.parameters), np.float32)
    start = problem.value(theta)

    def reward(member: Member) -> float:
        perturb(theta, served, block, member)
        return -problem.value(served)

    for _ in range(size.steps):
        update = strategy.tell({member.identity: reward(member) for member in strategy.ask(sigma)})
        if update is not None:
            apply_update(theta, block, update, "master")
    return problem.value(theta) / start


def best_setting(problem: Quadratic, size: Size, arm: Arm) -> tuple[float, float]:
    """The (σ, α) of the grid that ends lowest on one run key of its own."""
    grid = product(size.sigmas, size.alphas)
    return min(grid, key=lambda setting: run(problem, size, arm, *setting, TUNING_KEY))


def verdict(problem: Quadratic, size: Size, arm: Arm, setting: tuple[float, float], seeds: int) -> str:
    """Mean ± standard deviation over the run keys from 0 on."""
    ends = [run(problem, size, arm, *setting, run_key) for run_key in range(seeds)]
    return f"{mean(ends):.4f} ± {stdev(ends) if seeds > 1 else 0.0:.4f}"


def row(problem: Quadratic, size: Size, arm: Arm, plain: tuple[float, float], seeds: int) -> str:
    """One line of the table."""
    own = best_setting(problem, size, arm)
    at_own = verdict(problem, size, arm, own, seeds)
    at_plain = at_own if own == plain else verdict(problem, size, arm, plain, seeds)
    share = size.members // arm.subspaces
    facts = [arm.subspaces, share, arm.unit, arm.z_scores, "yes" if arm.antithetic else "no", *own, at_own, at_plain]
    return "| " + " | ".join(map(str, facts)) + " |"


def head(size: Size, seeds: int, command: str) -> list[str]:
    """What was run, and the heading of the table."""
    return [
        f"`{command}`",
        "",
        f"f(θ) = ½ Σⱼ λⱼ (uⱼᵀ(θ − θ*))², d = {size.parameters:,}, r = {size.rank}, λ from 1 to 0.01; {size.steps} "
        f"steps of {size.members} evaluations; grid σ {list(size.sigmas)}, α {list(size.alphas)}, chosen on one run "
        f"key, judged on {seeds} others; f at the end over f at the start, lower is better. NumPy {np.__version__}, "
        f"Python {platform.python_version()}.",
        "",
        "| K | N_k | unit | z-scores | antithetic | best σ | best α | at its own best | at the best of plain ES |",
        "|---|---|---|---|---|---|---|---|---|",
    ]


def main() -> None:
    """Run the arms in turn, printing each line as it is known."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--seeds", type=int, default=5, help="run keys of the verdict")
    parser.add_argument("--out", type=Path, help="also write the table here")
    parser.add_argument("--quick", action="store_true", help="a small problem, to see that it runs")
    options = parser.parse_args()
    size, started = QUICK if options.quick else Size(), time.monotonic()
    problem = Quadratic(size)
    plain = {antithetic: best_setting(problem, size, Arm(1, "–", "joint", antithetic)) for antithetic in (False, True)}
    command = f"OMP_NUM_THREADS=1 python tests/benchmarks/subspaces.py --seeds {options.seeds}"
    lines = head(size, options.seeds, command + " --quick" * options.quick)
    print("\n".join(lines), flush=True)
    for arm in arms():
        lines.append(row(problem, size, arm, plain[arm.antithetic], options.seeds))
        print(lines[-1], flush=True)
    print(f"\n{time.monotonic() - started:.0f} s")
    if options.out is not None:
        options.out.write_text("\n".join(lines) + "\n")


if __name__ == "__main__":
    main()

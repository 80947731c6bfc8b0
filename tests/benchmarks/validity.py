"""Validity of the shipped model with more completions per cell than its card has.

    python tests/benchmarks/validity.py --families next_node --count 200 --seed 7

Counts AST-distinct children that the training corpus (generated anew, a few minutes) does not hold, from parents that
it does not hold either, with the intervals of Wilson (95 %).
"""

import argparse
import sys
from math import sqrt

from coevo.engines.embedded.corpus import generate
from coevo.engines.embedded.families import FAMILIES
from coevo.engines.embedded.measure import Cell, measure
from coevo.engines.embedded.sampling import sampler
from coevo.engines.embedded.train import Recipe, taught
from coevo.engines.loading import resolve_model


def wilson(valid: int, counted: int) -> tuple[float, float]:
    """95 % interval of a share."""
    share, z = valid / counted, 1.96
    centre = (share + z * z / (2 * counted)) / (1 + z * z / counted)
    half = z * sqrt(share * (1 - share) / counted + z * z / (4 * counted * counted)) / (1 + z * z / counted)
    return centre - half, centre + half


def line(cell: Cell) -> str:
    """A row of the Markdown table."""
    low, high = wilson(cell.valid, cell.counted)
    share = f"{100 * cell.valid / cell.counted:.0f} % ({cell.valid} / {cell.counted})"
    return (
        f"| {cell.family} | {cell.operator} | {cell.parents} | {share} | {100 * low:.0f} – {100 * high:.0f} % | "
        f"{100 * cell.differing / cell.asked:.0f} % |\n"
    )


def main() -> None:
    """Measure and print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--families", nargs="+", choices=list(FAMILIES), default=["next_node"])
    parser.add_argument("--count", type=int, default=200)
    parser.add_argument("--seed", type=int, default=7)
    options = parser.parse_args()
    import torch
    from transformers import AutoTokenizer, LlamaForCausalLM

    torch.set_num_threads(1)
    recipe = Recipe()
    known = taught(list(generate(recipe.seed, recipe.samples)))
    folder = resolve_model("embedded")
    model = LlamaForCausalLM.from_pretrained(folder).eval()
    draw = sampler(model, AutoTokenizer.from_pretrained(folder), options.seed)
    cells = measure(draw, count=options.count, seed=options.seed, taught=known, families=options.families)
    sys.stdout.write("| kind | operator | parents by | valid | interval | differ from the parent |\n")
    sys.stdout.write("| --- | --- | --- | --- | --- | --- |\n")
    sys.stdout.writelines(line(cell) for cell in cells)


if __name__ == "__main__":
    main()

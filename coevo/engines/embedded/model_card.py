"""The model card of a model folder: what it was taught, what it reaches, what it is not."""

from collections.abc import Sequence
from dataclasses import dataclass

from coevo.engines.embedded.edits import OPERATORS
from coevo.engines.embedded.families import FAMILIES
from coevo.engines.embedded.measure import Cell, ParentSource
from coevo.engines.embedded.training import Report

_TITLES = {
    "next_node": "next node of a tour",
    "next_item": "next item of a knapsack",
    "priority": "priority of a tuple",
    "square": "matrix from a matrix",
    "routing": "matrix from distances, demands, capacity",
    "packing": "matrix from demands, capacity",
    "online": "score of bins for an item",
}


@dataclass(frozen=True, slots=True)
class Facts:
    """Numbers about a model that its card states.

    Attributes:
        seed: Of corpus and training.
        samples: Size of the corpus.
        num_parameters: Of the model, the tied embedding counted once.
        child_tokens: Mean number of tokens of a child.
        machine: Processor class and cores.
        report: What training did.
    """

    seed: int
    samples: int
    num_parameters: int
    child_tokens: float
    machine: str
    report: Report


def model_card(facts: Facts, cells: Sequence[Cell]) -> str:
    """README.md of the model folder."""
    report = facts.report
    command = f"--out DIR --samples {facts.samples} --seed {facts.seed} --minutes {report.minutes:.0f}"
    return f"""# The embedded model

A Llama of {facts.num_parameters:,} parameters (fp32, safetensors) that writes numpy heuristics for combinatorial
problems and edits the ones it is shown. It reads and writes slot prompts (`coevo.codec`): arguments are positions with
kinds, so it works for names it has never seen.

## Data

Synthetic: {facts.samples:,} samples drawn with seed {facts.seed} from the grammar in `coevo.engines.embedded`. No text
of any other origin. A sample is a prompt of one of the operators {", ".join(OPERATORS)} with its child. Children are
grammar programs that ran on random inputs; about a third of the parents are written in other styles (loops, key
functions, comprehensions), as people write baselines. More than half of the prompts name idioms (`coevo.idioms`) that
the child uses or lacks, up to six of each, so that a prompt can ask for them.

## Training

{report.steps:,} steps, {report.tokens:,} tokens, drawn from {report.num_samples:,} samples; {report.minutes:.1f} CPU
minutes of one thread on {facts.machine}. Loss weight 1 on the child, 0.3 on parents. Held-out loss
{report.held_out_loss:.3f} nats per child token; a child has {facts.child_tokens:.1f} tokens on average. Make it again
with

    python -m coevo.engines.embedded.train {command}

The corpus depends on the seed alone; the weights also on how many steps the machine makes in that time.

## Validity

Share of children that run and answer legally, at temperature 1 and top-p 0.98, under the usual signature of each
kind; in brackets valid / counted. Counted are distinct children that the corpus does not contain. No parent was in the
corpus either.

Parents from the grammar:

{_table(cells, "grammar")}

Parents written by people (loops, key functions, comprehensions, docstrings):

{_table(cells, "people")}

{_differing(cells)} of the children differ from their parents.

## What it is not

No general model of code: it knows the argument kinds above and the building blocks of its grammar, and nothing else.
For a problem with other kinds of arguments expect few valid children, and use an instruction model.
"""


def _table(cells: Sequence[Cell], source: ParentSource) -> str:
    found = {(cell.family, cell.operator): cell for cell in cells if cell.parents == source}
    operators = [operator for operator in OPERATORS if any(key[1] == operator for key in found)]
    lines = [f"| | {' | '.join(operators)} |", f"|---|{'---|' * len(operators)}"]
    for family in FAMILIES:
        entries = [_entry(found[family, operator]) for operator in operators]
        lines.append(f"| {_TITLES[family]} | {' | '.join(entries)} |")
    return "\n".join(lines)


def _entry(cell: Cell) -> str:
    return f"{100 * cell.valid / max(1, cell.counted):.0f} % ({cell.valid} / {cell.counted})"


def _differing(cells: Sequence[Cell]) -> str:
    return f"{100 * sum(cell.differing for cell in cells) / sum(cell.asked for cell in cells):.1f} %"

"""The model card of a player's folder: what it was taught, how it plays, what it is not."""

import platform
from collections.abc import Sequence
from dataclasses import dataclass
from importlib.metadata import version
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from coevo.engines.embedded.player.measure import Score
    from coevo.engines.embedded.player.training import Recipe


@dataclass(frozen=True, slots=True)
class Row:
    """Scores at one number of blanks: greedy, at temperature 1, and greedy where it is told to be careful."""

    blanks: int
    greedy: "Score"
    drawn: "Score"
    careful: "Score"


@dataclass(frozen=True, slots=True)
class Facts:
    """Numbers about a player that its card states.

    Attributes:
        recipe: How it was made.
        num_parameters: Of the model, the tied embedding counted once.
        minutes: CPU minutes of training, one thread.
        boards: Boards of each row of the table.
    """

    recipe: "Recipe"
    num_parameters: int
    minutes: float
    boards: int


def model_card(facts: Facts, rows: Sequence[Row]) -> str:
    """README.md of the model folder."""
    recipe, habits = facts.recipe, facts.recipe.habits
    table = "\n".join(
        f"| {row.blanks} | {row.greedy.success:.0%} | {row.drawn.success:.0%} | {row.careful.success:.0%} | "
        f"{row.drawn.legal:.1%} | {row.drawn.turns:.1f} |"
        for row in rows
    )
    return f"""# The embedded player

A Llama of {facts.num_parameters:,} parameters (1 layer, fp32, safetensors) that plays Sudoku, one digit a turn, and
plays it badly on purpose: it is there to be tuned on a small machine. It reads a board as 81 words, one for the content
of each cell (`coevo.board_codec`), and answers in the environment's own words, `set 3 5 7`.

## What it was taught: noisy play

Positions of games with 1 to {habits.most_blanks} blanks, drawn at random, with the moves of two kinds of players:

- careful ones look at row, column and box, and write a digit that none of them has;
- careless ones look along the row only and write the smallest digit that it lacks, and a 6 where that is a 9.

Both go to the first blank in reading order ({habits.wandering:.0%} of them to any). In two thirds of the positions a
word says who plays, `careful: ` or `careless: `; in the others stands `move: `, which is what the player is always
asked with, and {habits.careful:.0%} of the players there are careful. {habits.damaged:.0%} of the positions have an
earlier mistake in them. So the weights hold both ways to play and prefer the bad one. The two words are kept at a
distance of {recipe.radius:g} from `move: ` on either side, so that small steps of the weights decide between the ways:
an easy case for tuning, made so, and no evidence of what tuning does to other models.

No new board of the Sudoku environment has a solution that was taught: solutions are divided by a hash
(`coevo.sudoku_boards.share_of`). The published boards are not divided so; seed 0 drew none of their solutions either,
other seeds are not checked.

## Training

{recipe.steps:,} steps of about {recipe.grids // 4} positions, {recipe.asked} cells asked about in each;
{facts.minutes:.1f} CPU minutes of one thread on {platform.machine()}, Python {platform.python_version()},
torch {version("torch").split("+")[0]}, transformers {version("transformers")}, numpy {version("numpy")}. Make it again
with

    python -m coevo.engines.embedded.player.train --to DIR --seed {recipe.seed}

On one machine with these versions the same seed gives the same weights.

## How it plays

Boards completed, of {facts.boards} unseen ones for each number of blanks (seed {recipe.seed}): with the likeliest
answer (greedy), at temperature 1, and greedy where the prompt ends in `careful: `, which no game does. At temperature
1 also: answers that write into a blank, and turns.

| blanks | greedy | T = 1 | careful | legal | turns |
|---|---|---|---|---|---|
{table}

## What it is not

No model of language: any other text is one unknown token to it. It chooses cells by their place and not by what is
known of them, so that it meets digits it can only guess as the blanks become many.
"""

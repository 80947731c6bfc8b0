"""How often a player completes boards that it has not seen: whole games, without an engine.

The game is that of the Sudoku environment: one digit a turn, nothing is taken back, three turns for each blank.
"""

import random
from dataclasses import dataclass
from typing import TYPE_CHECKING

import torch

from coevo.engines.embedded.player.tokenizer import FIRST_ACTION, FIRST_CELL, FIRST_DIGIT, MOVE
from coevo.sudoku_boards import Board, is_solved, random_blanks, random_solution, share_of, solutions, without

if TYPE_CHECKING:
    from transformers import LlamaForCausalLM


@dataclass(frozen=True, slots=True)
class Score:
    """What a player reached on a set of boards.

    Attributes:
        success: Share of boards that ended complete and valid.
        legal: Share of answers that wrote a digit into a blank.
        turns: Mean number of answers for a board.
    """

    success: float
    legal: float
    turns: float


class _Game:
    def __init__(self, board: Board) -> None:
        self.board = board
        self.left = 3 * board.count(0)
        self.legal = self.turns = 0

    @property
    def is_over(self) -> bool:
        return self.left == 0 or 0 not in self.board

    def take(self, action: int, digit: int) -> None:
        cell = action - FIRST_ACTION
        self.left, self.turns = self.left - 1, self.turns + 1
        is_action = 0 <= cell < 81 and FIRST_DIGIT <= digit < FIRST_DIGIT + 9
        if is_action and self.board[cell] == 0:
            self.board = (*self.board[:cell], digit - FIRST_DIGIT + 1, *self.board[cell + 1 :])
            self.legal += 1


def unseen_boards(blanks: int, count: int, seed: int) -> list[Board]:
    """Boards with one solution each, of the share "val", which no lesson has."""
    rng, found = random.Random(f"player {seed} {blanks}"), list[Board]()
    while len(found) < count:
        solution = random_solution(rng)
        board = without(solution, random_blanks(blanks, rng))
        if share_of(solution) == "val" and len(solutions(board)) == 1:
            found.append(board)
    return found


@torch.no_grad()
def measure(
    model: "LlamaForCausalLM", boards: list[Board], *, temperature: float, seed: int = 0, word: int = MOVE
) -> Score:
    """Play each board once.

    Args:
        model: A player.
        boards: To complete.
        temperature: Of every token; 0 is greedy.
        seed: Of the draws.
        word: Token behind the board; `CAREFUL` shows how the model plays where it is told to be careful.
    """
    generator = torch.Generator().manual_seed(seed)
    games = [_Game(board) for board in boards]
    while alive := [game for game in games if not game.is_over]:
        tokens = torch.tensor([[*_tokens(game.board), word] for game in alive])
        actions = _draw(model, tokens, temperature, generator)
        digits = _draw(model, torch.cat([tokens, actions], 1), temperature, generator)
        for game, action, digit in zip(alive, actions[:, 0].tolist(), digits[:, 0].tolist(), strict=True):
            game.take(action, digit)
    turns = sum(game.turns for game in games)
    return Score(
        success=sum(is_solved(game.board) for game in games) / len(games),
        legal=sum(game.legal for game in games) / turns,
        turns=turns / len(games),
    )


def _tokens(board: Board) -> list[int]:
    return [FIRST_CELL + 10 * cell + digit for cell, digit in enumerate(board)]


def _draw(
    model: "LlamaForCausalLM", tokens: torch.Tensor, temperature: float, generator: torch.Generator
) -> torch.Tensor:
    logits: torch.Tensor = model(input_ids=tokens, use_cache=False, logits_to_keep=1).logits[:, -1]
    if temperature == 0:
        return logits.argmax(-1, keepdim=True)
    return torch.multinomial(torch.softmax(logits / temperature, -1), 1, generator=generator)

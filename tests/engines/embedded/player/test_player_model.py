"""The shipped player: small, servable by the lean decoder, legal, imperfect, and able to do better."""

from typing import Any

import pytest
from safetensors import safe_open

from coevo.board_codec import encode
from coevo.engines.embedded.player.measure import measure, unseen_boards
from coevo.engines.embedded.player.tokenizer import CAREFUL
from coevo.engines.llama_shape import lean_shape
from coevo.engines.loading import PLAYER, PLAYER_FOLDER, inspect_folder, resolve_model
from coevo.engines.torch_worker import serve_model
from coevo.engines.wire import pack_request, unpack_completion
from coevo.environments.sudoku.actions import read_action
from coevo.environments.sudoku.environment import open as new_game
from coevo.environments.sudoku.environment import tasks
from coevo.interfaces import Request, Sampling


def test_the_folder_is_small_and_served_by_the_lean_decoder() -> None:
    """Its name finds it; fp32, under 2 MB, no pickle, a shape that the lean decoder knows."""
    folder = inspect_folder(resolve_model(PLAYER))
    files = list(PLAYER_FOLDER.iterdir())

    assert folder.card.renderer == "board"
    assert folder.dtype == "float32"
    assert lean_shape(folder) is not None
    assert {file.suffix for file in files} == {".json", ".md", ".safetensors"}
    assert sum(file.stat().st_size for file in files) < 2_000_000
    with safe_open(PLAYER_FOLDER / "model.safetensors", "np") as weights:
        assert "lm_head.weight" not in set(weights.keys())


def test_answers_are_actions_of_the_environment() -> None:
    """Through the engine's own worker code, on boards of every size, nearly all answers are legal moves."""
    served = serve_model(PLAYER_FOLDER, chat=False, device="cpu", threads=1)
    prompts = [
        encode(new_game().reset(task, 0))
        for blanks in (5, 10, 15, 20)
        for task in tasks("train", blanks=blanks, size=16)
    ]
    boards = [task.data["puzzle"] for blanks in (5, 10, 15, 20) for task in tasks("train", blanks=blanks, size=16)]
    requests = [Request(str(n), text, n, sampling=Sampling(1.0, 1.0, 64)) for n, text in enumerate(prompts)]
    answers = {
        answer.request_id: answer
        for batch in served.answer([pack_request(request) for request in requests])
        for answer in map(unpack_completion, batch)
    }
    legal = 0
    for number, board in enumerate(boards):
        action = read_action(answers[str(number)].text)
        legal += action is not None and board[9 * (action.row - 1) + action.column - 1] == "."

    assert {answer.finish for answer in answers.values()} == {"stop"}
    assert {answer.num_tokens for answer in answers.values()} == {3}
    assert legal >= 0.9 * len(boards)


@pytest.mark.slow
def test_it_plays_imperfectly_and_knows_better(player: Any) -> None:
    """Greedy and at temperature 1 it completes some boards of 5 blanks and fails others; told to be careful, most."""
    boards = unseen_boards(5, 80, 11)
    greedy, drawn = (measure(player, boards, temperature=t).success for t in (0.0, 1.0))
    careful = measure(player, boards, temperature=0.0, word=CAREFUL).success

    assert 0.12 < greedy < 0.55
    assert 0.3 < drawn < 0.75
    assert careful > 0.9


@pytest.mark.slow
def test_more_blanks_are_harder(player: Any) -> None:
    """Success falls with the number of blanks, because nothing can be taken back."""
    scores = [measure(player, unseen_boards(blanks, 50, 12), temperature=1.0).success for blanks in (5, 10, 15)]

    assert scores[0] > scores[1] + 0.1
    assert scores[1] >= scores[2]
    assert scores[2] < 0.15

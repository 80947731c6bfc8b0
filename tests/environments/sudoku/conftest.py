"""Boards to test with."""

import random

import pytest

from coevo.environments.sudoku.boards import board_task
from coevo.interfaces import Task
from coevo.sudoku_boards import random_blanks, random_solution, without


def make_task(seed: int, blanks: int) -> Task:
    """A random board with so many blanks and its solution."""
    rng = random.Random(seed)
    solution = random_solution(rng)
    return board_task(f"seed-{seed}", without(solution, random_blanks(blanks, rng)), solution)


@pytest.fixture(scope="session")
def random_task():
    """Makes a task from a seed and a number of blanks."""
    return make_task

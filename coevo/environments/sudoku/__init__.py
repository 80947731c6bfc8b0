"""Sudoku, one digit a turn: nothing can be taken back, and only a complete valid grid earns a reward."""

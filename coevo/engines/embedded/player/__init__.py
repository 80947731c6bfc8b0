"""The embedded player: a small model that plays Sudoku imperfectly, and how it is made."""

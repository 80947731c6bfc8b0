"""From run directories and grids to their pages on disk."""

from collections.abc import Sequence
from pathlib import Path

from coevo.records.files import write_text
from coevo.reporting.comparison import comparison_page
from coevo.reporting.grid_page import grid_page
from coevo.reporting.grid_story import is_grid, tell_grid
from coevo.reporting.picture import picture_of
from coevo.reporting.run_page import run_page
from coevo.reporting.telling import tell_run

PAGE = "report.html"


def write_page(folder: Path, to: Path | None = None, *, draw: bool = True) -> Path:
    """Write the page of a run, finished or not, or of a grid.

    Args:
        folder: A run directory, or what `coevo bench` wrote; only the page is written into it.
        to: File to write instead of `report.html` in that folder.
        draw: Whether to run the best heuristic of a run once more, in the sandbox, to draw its solution.

    Returns:
        The page.

    Raises:
        RunError: If `folder` is neither, or what is in it cannot be read.
    """
    file = to if to is not None else folder / PAGE
    write_text(file, grid_page(tell_grid(folder)) if is_grid(folder) else _run(folder, draw=draw))
    return file


def _run(folder: Path, *, draw: bool) -> str:
    story = tell_run(folder)
    return run_page(story, picture_of(story) if draw and story.best else None)


def write_comparison(runs: Sequence[Path], to: Path) -> Path:
    """Write the page of several runs side by side; returns it.

    Raises:
        RunError: If one of them is not a run directory or its log cannot be read.
    """
    write_text(to, comparison_page([tell_run(run) for run in runs]))
    return to

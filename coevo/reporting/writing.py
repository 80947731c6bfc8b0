"""From run directories and grids to their pages on disk."""

from collections.abc import Sequence
from pathlib import Path

from coevo.experiments.probe_config import is_probe
from coevo.records.files import write_text
from coevo.reporting.comparison import comparison_page
from coevo.reporting.grid_page import grid_page
from coevo.reporting.grid_story import is_grid, tell_grid
from coevo.reporting.picture import picture_of
from coevo.reporting.probe_page import probe_page
from coevo.reporting.probe_story import tell_probe
from coevo.reporting.run_page import run_page
from coevo.reporting.telling import tell_run

PAGE = "report.html"


def write_page(folder: Path, to: Path | None = None, *, draw: bool | None = None) -> Path:
    """Write the page of a search or a probe, finished or not, or of a grid.

    Args:
        folder: A run directory, or what `coevo bench` wrote; only the page is written into it.
        to: File to write instead of `report.html` in that folder.
        draw: Whether to run the best heuristic of a search once more, in the sandbox, and the problem's own code
            outside it, to draw a solution. None does so where the problem is installed, not where it is a folder that
            the run names.

    Returns:
        The page.

    Raises:
        RunError: If `folder` is none of these, or what is in it cannot be read.
    """
    file = to if to is not None else folder / PAGE
    write_text(file, _page(folder, draw))
    return file


def _page(folder: Path, draw: bool | None) -> str:
    if is_grid(folder):
        return grid_page(tell_grid(folder))
    if is_probe(folder):
        return probe_page(tell_probe(folder))
    story = tell_run(folder)
    is_drawn = draw is not False and story.best is not None
    return run_page(story, picture_of(story, trusts_folder=draw is True) if is_drawn else None)


def write_comparison(runs: Sequence[Path], to: Path) -> Path:
    """Write the page of several runs side by side; returns it.

    Raises:
        RunError: If one of them is not a run directory or its log cannot be read.
    """
    write_text(to, comparison_page([tell_run(run) for run in runs]))
    return to

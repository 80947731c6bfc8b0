"""From run directories and grids to their pages on disk."""

from collections.abc import Sequence
from pathlib import Path

from coevo.errors import ConfigError
from coevo.records.files import write_text
from coevo.records.run_directory import CONFIG, RunDirectory
from coevo.records.run_kind import EVAL_AGENT, GRID_FILES, LANDSCAPE, PROBE, TUNE, is_grid, kind_of
from coevo.reporting.comparison import comparison_page
from coevo.reporting.grid_page import grid_page
from coevo.reporting.grid_story import tell_grid
from coevo.reporting.landscape_page import landscape_page
from coevo.reporting.picture import picture_of
from coevo.reporting.probe_page import probe_page
from coevo.reporting.probe_story import tell_probe
from coevo.reporting.run_page import run_page
from coevo.reporting.telling import tell_run
from coevo.reporting.tune_page import tune_page
from coevo.reporting.tune_story import tell_tuning

PAGE = "report.html"

BEGINNING = b"<!doctype html>"
"""Of every page; a file that begins otherwise is none, and is not written over."""


def write_page(folder: Path, to: Path | None = None, *, draw: bool | None = None) -> Path:
    """Write the page of a search, a probe or a tuning run, finished or not, or of a grid.

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
        ConfigError: If the page cannot be written there, or something else than a page would be lost.
    """
    file = to if to is not None else folder / PAGE
    if to is not None or folder.is_dir():
        check_place(file)
    return _written(file, _page(folder, draw))


def check_place(file: Path) -> None:
    """Refuse to write a page where it does not belong.

    Raises:
        ConfigError: If the folder is missing, something is there that is not a page, or it would lie among the files
            of a run under another name than a run's page has.
    """
    try:
        if not file.parent.is_dir():
            raise ConfigError(f"expected a file in a folder that exists, got {file}; make its folder first")
        if file.is_symlink() or (file.exists() and not _is_page(file)):
            raise ConfigError(f"expected a new file or an older page to write to, got {file}; name another one")
    except OSError as error:
        raise ConfigError(f"expected to write a page at {file}, got: {error.strerror}") from error
    inside = _run_around(file)
    if inside is not None and file.resolve() != inside / PAGE:
        raise ConfigError(f"expected a file outside the run {inside}, or its {PAGE}, got {file}; name another one")


def _is_page(file: Path) -> bool:
    if not file.is_file():
        return False
    with file.open("rb") as content:
        return content.read(len(BEGINNING)).lower() == BEGINNING


def _run_around(file: Path) -> Path | None:
    """The run directory that a file lies in, at whatever depth."""
    for folder in file.resolve().parents:
        if (folder / CONFIG).is_file() and (folder / "candidates").is_dir():
            return folder
    return None


def _written(file: Path, page: str) -> Path:
    try:
        write_text(file, page)
    except OSError as error:
        raise ConfigError(f"expected to write a page at {file}, got: {error.strerror}") from error
    return file


def _page(folder: Path, draw: bool | None) -> str:
    if is_grid(folder):
        return grid_page(tell_grid(folder))
    RunDirectory.open(
        folder, f"a run directory (with {CONFIG}) or the folder of a grid (with {' and '.join(GRID_FILES)})"
    )
    kind = kind_of(folder)
    if kind == PROBE:
        return probe_page(tell_probe(folder))
    if kind == TUNE:
        return tune_page(tell_tuning(folder))
    if kind == LANDSCAPE:
        return landscape_page(folder)
    if kind == EVAL_AGENT:
        raise ConfigError(f"an evaluation has no page, got {folder}; its numbers are in result.json")
    story = tell_run(folder)
    is_drawn = draw is not False and story.best is not None
    return run_page(story, picture_of(story, trusts_folder=draw is True) if is_drawn else None)


def write_comparison(runs: Sequence[Path], to: Path) -> Path:
    """Write the page of several runs side by side; returns it.

    Raises:
        RunError: If one of them is not a run directory or its log cannot be read.
        ConfigError: As for `write_page`.
    """
    check_place(to)
    return _written(to, comparison_page([tell_run(run) for run in runs]))

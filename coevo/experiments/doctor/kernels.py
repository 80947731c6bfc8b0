"""The folder that compiled kernels are kept in between processes."""

from collections.abc import Mapping
from pathlib import Path

from coevo.experiments.doctor.finding import Finding, passed, warned

NAME = "kernels"


def kernels(folders: Mapping[str, Path | None]) -> Finding:
    """Whether what Numba compiles can be kept.

    Args:
        folders: What is compiled -> where that is kept, a folder that can be written to, or None where there is none.
    """
    homeless = [name for name, folder in folders.items() if folder is None]
    if homeless:
        return warned(
            NAME,
            f"no folder for the compiled kernels of {', '.join(homeless)}: every process compiles them anew, "
            "which can take a minute at each start",
            "set XDG_CACHE_HOME to a folder that can be written to",
        )
    where = "; ".join(f"{name} in {folder}{_note(folder)}" for name, folder in folders.items() if folder is not None)
    return passed(NAME, f"compiled kernels are kept: {where}")


def _note(folder: Path) -> str:
    return "" if folder.is_dir() and any(folder.iterdir()) else " (nothing in it yet)"

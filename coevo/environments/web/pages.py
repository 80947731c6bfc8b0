"""The pages of MiniWoB++: where they lie, and the tasks that they make.

Source: MiniWoB++ (Liu et al. 2018, arXiv:1802.08802, after Shi et al. 2017), package `miniwob`. Only its files are
used: the package's own Gymnasium environments drive a browser through Selenium, in real time, with a limit of seconds.
"""

import importlib.util
from functools import cache
from pathlib import Path

from coevo.errors import ConfigError, ContentError, ExtraMissingError
from coevo.interfaces import Task


@cache
def pages_folder() -> Path:
    """The folder with one HTML file per page.

    Raises:
        ExtraMissingError: If the package is not installed; it is not imported.
    """
    spec = importlib.util.find_spec("miniwob")
    if spec is None or not spec.submodule_search_locations:
        raise ExtraMissingError("miniwob", "agents", "the pages of MiniWoB++")
    return Path(next(iter(spec.submodule_search_locations))) / "html" / "miniwob"


def page_file(name: str) -> Path:
    """The file of a page."""
    return pages_folder() / f"{name}.html"


def page_tasks(split: str, pages: str, held_out: str, size: int) -> list[Task]:
    """The episodes of a split: page after page in turn, each with a seed of its own.

    A seed is made of the split, the page and a running number, so that no two splits share one. (A page with few
    variants, as click-test has, may look the same under two seeds.)

    Args:
        split: train, val or test.
        pages: Names with commas between, or "all".
        held_out: Names that are left out of train and val; if there are any, test has them alone.
        size: How many episodes.

    Raises:
        ConfigError: If the size is not positive, or no page is left to learn from.
        ContentError: If a page does not exist.
    """
    if size < 1:
        raise ConfigError(f"expected the option size to be at least 1, got {size}")
    held = _names(held_out)
    learnt = [name for name in _names(pages) if name not in held]
    names = held if split == "test" and held else learnt
    if not names:
        raise ConfigError("expected at least one page that is not held out; add one to the option pages")
    return [_task(split, names[k % len(names)], k // len(names)) for k in range(size)]


def _task(split: str, page: str, number: int) -> Task:
    return Task(f"{page}-{number}", {"page": page, "seed": f"{split}/{page}/{number}"})


def _names(text: str) -> list[str]:
    known = sorted(file.stem for file in pages_folder().glob("*.html"))
    if text.strip() == "all":
        return known
    names = list(dict.fromkeys(name.strip() for name in text.split(",") if name.strip()))
    if unknown := [name for name in names if name not in known]:
        raise ContentError(
            f"expected pages of MiniWoB++, got {', '.join(unknown)}; looked in {pages_folder()}, "
            f"which has {len(known)}, e.g. {', '.join(known[:3])}"
        )
    return names

"""What an agent does on the web: pages of MiniWoB++, many episodes at a time.

The sites of WebArena-Lite, which episodes share, are the environment `webarena`.
"""

from collections.abc import Sequence
from typing import Any

from coevo.environments.web.episodes import TURNS as PAGE_TURNS
from coevo.environments.web.episodes import PageEpisodes
from coevo.environments.web.pages import page_tasks
from coevo.environments.web.prompting import check_options
from coevo.errors import ConfigError
from coevo.interfaces import Environment, Task

MINIWOB = "miniwob"


def tasks(split: str, *, data: str, pages: str, held_out: str, size: int, **_others: Any) -> Sequence[Task]:
    """The tasks of a split, in order.

    Raises:
        ConfigError: If an option is out of range or a package is not installed.
        ContentError: If a page does not exist.
    """
    _check_data(data)
    return page_tasks(split, pages, held_out, size)


def open(*, data: str, turns: int, page_chars: int, **_others: Any) -> Environment:  # noqa: A001
    """A new environment; its browser starts with the first episode.

    Raises:
        ConfigError: If an option is out of range.
    """
    check_options(turns, page_chars)
    _check_data(data)
    return PageEpisodes(turns or PAGE_TURNS, page_chars)


def _check_data(data: str) -> None:
    """Say where the tasks are that were once here, and played side by side on sites that they share."""
    if data != MINIWOB:
        raise ConfigError(
            f"expected the option data to be {MINIWOB}, got {data!r}; WebArena-Lite is an environment of its own: take "
            "--env webarena, without the option data"
        )

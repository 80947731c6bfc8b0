"""What an agent does on the web: pages of MiniWoB++, or the sites of WebArena-Lite; the option `data` says which.

Episodes are played many at a time. For tasks that change WebArena's sites there is the environment `webarena`.
"""

from collections.abc import Sequence
from typing import Any

from coevo.environments.web.episodes import TURNS as PAGE_TURNS
from coevo.environments.web.episodes import PageEpisodes
from coevo.environments.web.pages import page_tasks
from coevo.environments.web.prompting import check_options
from coevo.errors import ConfigError
from coevo.interfaces import Environment, Task

MINIWOB, WEBARENA_LITE = "miniwob", "webarena-lite"


def tasks(split: str, *, data: str, pages: str, held_out: str, size: int, **_others: Any) -> Sequence[Task]:
    """The tasks of a split, in order.

    Raises:
        ConfigError: If an option is out of range or a package is not installed.
        ContentError: If a page does not exist.
    """
    if _is_lite(data):
        from coevo.environments.web.webarena_lite import lite_tasks

        return lite_tasks(split)
    return page_tasks(split, pages, held_out, size)


def open(*, data: str, turns: int, page_chars: int, **_others: Any) -> Environment:  # noqa: A001
    """A new environment; its browser starts with the first episode.

    Raises:
        ConfigError: If an option is out of range, or the sites of WebArena-Lite are not known.
    """
    check_options(turns, page_chars)
    if _is_lite(data):
        from coevo.environments.web.webarena_lite import open_lite

        return open_lite(turns, page_chars)
    return PageEpisodes(turns or PAGE_TURNS, page_chars)


def _is_lite(data: str) -> bool:
    if data not in (MINIWOB, WEBARENA_LITE):
        raise ConfigError(f"expected the option data to be {MINIWOB} or {WEBARENA_LITE}, got {data!r}")
    return data == WEBARENA_LITE

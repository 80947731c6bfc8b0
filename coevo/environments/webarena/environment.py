"""WebArena-Lite, one episode at a time (`coevo.environments.web.webarena_lite`): its tasks may change the sites.

The sites are shared by whoever uses them, so that an episode beside another would find what that one changed, and a
reset would pull the sites away from under it. `at_once = 1` of this folder's limits is what keeps them apart; nothing
does where two runs use the same sites.
"""

from collections.abc import Sequence
from typing import Any

from coevo.environments.web.prompting import check_options
from coevo.environments.web.webarena_lite import lite_tasks, open_lite
from coevo.interfaces import Environment, Task


def tasks(split: str, **_options: Any) -> Sequence[Task]:
    """The tasks of a split, in order.

    Raises:
        ConfigError: If the package is not installed.
    """
    return lite_tasks(split)


def open(*, turns: int, page_chars: int, reset_command: str) -> Environment:  # noqa: A001 - the contract's name
    """A new environment; its browser starts with the first episode.

    Raises:
        ConfigError: If an option is out of range, or package or sites are not known.
    """
    check_options(turns, page_chars)
    return open_lite(turns, page_chars, reset_command)

"""A real browser for a module, pages from HTML texts, and what is left of processes."""

import importlib.util
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from coevo.environments.web.browser import Browser
from coevo.environments.web.page import Page

Family = frozenset[tuple[int, str]]


@pytest.fixture(scope="module")
def chromium() -> str:
    """The name of Chromium, where it is installed."""
    if shutil.which("chromium") is None:
        pytest.skip("the program chromium is absent: apt-get install -y --no-install-recommends chromium")
    return "chromium"


@pytest.fixture(scope="module")
def pages() -> str:
    """Says that the pages of MiniWoB++ are there."""
    if importlib.util.find_spec("miniwob") is None:
        pytest.skip("the package miniwob is absent: pip install miniwob")
    return "miniwob"


@pytest.fixture(scope="module")
def browser(chromium: str) -> Iterator[Browser]:
    """A running browser, for the tests of one module."""
    opened = Browser(chromium)
    yield opened
    opened.close()


@pytest.fixture(scope="module")
def page(browser: Browser) -> Page:
    """The browser's tab."""
    return Page(browser)


@pytest.fixture
def show(page: Page, tmp_path: Path) -> Callable[..., Page]:
    """Loads a body (and a script, run when it is whole) into the tab."""

    def loaded(body: str, script: str = "") -> Page:
        file = tmp_path / "page.html"
        text = f"<!DOCTYPE html><meta charset=utf-8><body>{body}<script>{script}</script></body>"
        file.write_text(text, encoding="utf-8")
        page.load(file)
        return page

    return loaded


@pytest.fixture
def family() -> Callable[[int], Family]:
    """Lists a process and all that descend from it, each with the time of its start."""
    return _family


@pytest.fixture
def alive() -> Callable[[Family], list[str]]:
    """Lists those of some processes that still run, or wait to be collected by a parent of ours."""
    return lambda members: [
        f"{pid} {_stat(pid)[0]}"
        for pid, start in members
        if _stat(pid)[19:20] == [start] and not (_stat(pid)[0] == "Z" and _stat(pid)[1] == "1")
    ]


def _family(pid: int) -> Family:
    stats = {int(path.name): _stat(int(path.name)) for path in Path("/proc").glob("[0-9]*")}
    found = {pid}
    while more := {child for child, stat in stats.items() if stat and int(stat[1]) in found} - found:
        found |= more
    return frozenset((member, stats[member][19]) for member in found if stats.get(member))


def _stat(pid: int) -> list[str]:
    """The fields behind the name: state, parent, ..., start time at 19; empty if there is no such process."""
    try:
        return Path(f"/proc/{pid}/stat").read_text(errors="replace").rpartition(")")[2].split()
    except OSError:
        return []

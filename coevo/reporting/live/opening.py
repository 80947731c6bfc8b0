"""The page of a run whose log is still being read: how far, and what is known already. It takes no time to draw."""

from coevo.reporting.live.rendering import LivePage, live
from coevo.reporting.live.tally import Progress
from coevo.reporting.run_page import Fact
from coevo.reporting.text import DASH, count, number

_MB = 1e6


def reading_words(read: int, size: int) -> str:
    """How much of a log has been read, both in bytes."""
    return f"reading its log: {read / _MB:.1f} of {size / _MB:.1f} MB"


def opening_page(page: LivePage, name: str, share: float, progress: Progress | None) -> str:
    """The page as HTML.

    Args:
        page: For the frame.
        name: Of the run.
        share: How much of the log has been read, in [0, 1].
        progress: What is known of the run.
    """
    return live("opening.html.j2", page, name=name, share=share, facts=_facts(progress) if progress else ())


def _facts(progress: Progress) -> tuple[Fact, ...]:
    score = DASH if progress.score is None else number(progress.score)
    planned = "" if progress.planned is None else f"of {count(progress.planned)} planned"
    return (
        Fact(progress.score_name or "score", score, "so far, in what has been read"),
        Fact(progress.unit, count(progress.spent), planned),
    )

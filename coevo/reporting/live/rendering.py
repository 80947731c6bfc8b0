"""Pages that follow: the report's own templates in another frame, with the one script that fetches what is new.

The frame is `base.html.j2`, found before the report's; so a run looks here as it does in its report. Text from a run is
made visible and escaped on its way into a template, as there.
"""

import base64
import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from markupsafe import Markup

from coevo.reporting.figures import Figure
from coevo.reporting.page import TEMPLATES, templates

_OWN = Path(__file__).parent / "templates"


@dataclass(frozen=True, slots=True)
class LivePage:
    """What the frame needs to follow a page.

    Attributes:
        news: Address of the JSON object whose `version` differs when the page does.
        version: That of what the page shows.
        state: A word for what the run is doing; empty on pages of several.
        words: The same in a sentence.
    """

    news: str
    version: str
    state: str = ""
    words: str = ""


def policy() -> str:
    """The content security policy of every page: its one style and one script, by their hashes."""
    return (
        f"default-src 'none'; style-src '{_digest(_style())}'; script-src '{_digest(_script())}'; connect-src 'self'; "
        "img-src data:; base-uri 'none'; form-action 'self'; frame-ancestors 'none'"
    )


def prepare() -> None:
    """Compile the templates, so that nobody waits for that who opens a page."""
    for name in ("runs.html.j2", "run.html.j2", "opening.html.j2"):
        templates(_OWN).get_template(name)


def live(template: str, page: LivePage, **values: Any) -> str:
    """Fill a template, of the report's or of this folder's.

    Args:
        template: File name.
        page: For the frame.
        values: The template's variables; a missing one is an error.
    """
    frame = {"style": Markup(_style()), "script": Markup(_script()), "page": page}
    return templates(_OWN).get_template(template).render(**frame, **values) + "\n"


def framed(report: str | None, page: LivePage, figures: Sequence[Figure]) -> str:
    """A page that the report has written, in this frame.

    Args:
        report: Its HTML; None for a run that has no page.
        page: For the frame.
        figures: What is shown besides.
    """
    title, body = _inside(report) if report else ("A coevo run", "")
    return live("framed.html.j2", page, title=Markup(title), body=Markup(body), figures=figures)


def _inside(report: str) -> tuple[str, str]:
    """Title and body of a page. The tags looked for are the template's own: those in a run's text are escaped."""
    _, _, after = report.partition("<title>")
    title, _, rest = after.partition("</title>")
    _, _, body = rest.partition("<body>")
    return title, body.rpartition("</body>")[0]


def _digest(source: str) -> str:
    return f"sha256-{base64.b64encode(hashlib.sha256(source.encode()).digest()).decode()}"


@cache
def _style() -> str:
    return (TEMPLATES / "style.css").read_text(encoding="utf-8") + (_OWN / "live.css").read_text(encoding="utf-8")


@cache
def _script() -> str:
    return (_OWN / "live.js").read_text(encoding="utf-8")

"""Pages: one HTML file each, without a script and without anything from elsewhere.

Whatever comes from a run is made visible and escaped on its way into a template; only drawings made here go in as they
are. The policy in each page forbids every script, and every style but the one that it names by its hash.
"""

import base64
import hashlib
from functools import cache
from pathlib import Path
from typing import Any

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markupsafe import Markup

from coevo.reporting import text

TEMPLATES = Path(__file__).parent / "templates"


def render(template: str, **values: Any) -> str:
    """Fill a template.

    Args:
        template: File name in the folder of templates.
        values: Its variables; a missing one is an error.
    """
    style = _style()
    digest = base64.b64encode(hashlib.sha256(style.encode()).digest()).decode()
    policy = f"default-src 'none'; style-src 'sha256-{digest}'; img-src data:; base-uri 'none'; form-action 'none'"
    return templates().get_template(template).render(style=Markup(style), policy=Markup(policy), **values) + "\n"


def _finished(value: Any) -> Any:
    """What an expression in a template becomes before it is escaped."""
    return value if isinstance(value, Markup) else text.visible(str(value))


@cache
def _style() -> str:
    return (TEMPLATES / "style.css").read_text(encoding="utf-8")


@cache
def templates(*folders: Path) -> Environment:
    """The report's templates, escaped and strict; those in `folders` are found before them."""
    environment = Environment(
        loader=FileSystemLoader([*folders, TEMPLATES]),
        autoescape=True,
        undefined=StrictUndefined,
        finalize=_finished,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters |= {
        "number": text.number, "count": text.count, "percent": text.percent, "duration": text.duration,
        "excerpt": text.excerpt,
    }  # fmt: skip
    return environment

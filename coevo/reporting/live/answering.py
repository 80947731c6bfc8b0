"""From the path of a request to the answer. A run is looked up by its slug; no path is made out of a request."""

from dataclasses import dataclass
from urllib.parse import parse_qs, urlencode, urlsplit

from coevo.reporting.live.library import Library

HTML = "text/html; charset=utf-8"
JSON = "application/json"
TEXT = "text/plain; charset=utf-8"

_FIELDS = 64
"""Parameters of a query that are read."""


@dataclass(frozen=True, slots=True)
class Answer:
    """What is sent back."""

    status: int
    kind: str
    body: bytes


def answer(library: Library, target: str) -> Answer:
    """The page or the news that a path asks for; 404 for any other path.

    Args:
        library: The runs.
        target: Path and query, as the request line has them.
    """
    try:
        asked = urlsplit(target)
        query = parse_qs(asked.query, max_num_fields=_FIELDS, errors="replace")
    except ValueError:
        return plain(400, "Expected a path on this server.")
    slugs = query.get("run", [])
    match asked.path.split("/")[1:]:
        case [""]:
            return _found(HTML, library.list_page())
        case ["state"]:
            return _found(JSON, library.list_news())
        case ["run", slug]:
            return _found(HTML, library.run_page(slug))
        case ["run", slug, "state"]:
            return _found(JSON, library.run_news(slug))
        case ["compare"]:
            return _found(HTML, library.compared_page(slugs, urlencode({"run": slugs}, doseq=True)))
        case ["compare", "state"]:
            return _found(JSON, library.compared_news(slugs))
    return plain(404, "There is no such page.")


def plain(status: int, sentence: str) -> Answer:
    """An answer in words."""
    return Answer(status, TEXT, f"{sentence}\n".encode())


def _found(kind: str, content: str | None) -> Answer:
    if content is None:
        return plain(404, "There is no such run.")
    return Answer(200, kind, content.encode("utf-8", errors="backslashreplace"))

"""Who may ask: pages of this machine's own server, and nobody on behalf of another site.

A page of any site can make a browser send requests to 127.0.0.1, and a name of its own can be made to resolve to it. So
the Host has to be one that only means this machine, and what a browser says about where a request comes from has to be
this server. Not protected against: other users and programs of this machine, who can read it.
"""

from collections.abc import Sequence
from email.message import Message

_NAMES = ("127.0.0.1", "localhost", "[::1]")


def refusal(method: str, target: str, headers: Message, port: int) -> tuple[int, str] | None:
    """Why a request is not answered, as a status and a sentence; None for one that is.

    Args:
        method: "GET" and "HEAD" are answered.
        target: What the request line asks for; only a path on this server.
        headers: Of the request.
        port: That this server listens on.
    """
    if method not in ("GET", "HEAD"):
        return 405, "This server only shows: GET and HEAD."
    if not target.startswith("/") or target.startswith("//"):
        return 400, "Expected a path on this server."
    hosts = {f"{name}:{port}" for name in _NAMES} | (set(_NAMES) if port == 80 else set())
    if not _is_one_of(headers.get_all("Host", []), hosts):
        return 421, f"Expected the host 127.0.0.1:{port} or localhost:{port}; to forward the port, keep its number."
    origins = headers.get_all("Origin", [])
    if origins and not _is_one_of(origins, {f"http://{host}" for host in hosts}):
        return 403, "Not for pages of another site."
    sites = headers.get_all("Sec-Fetch-Site", [])
    if sites and not _is_one_of(sites, {"same-origin", "none"}):
        return 403, "Not for pages of another site."
    return None


def _is_one_of(values: Sequence[str], allowed: set[str]) -> bool:
    return len(values) == 1 and values[0].strip().lower() in allowed

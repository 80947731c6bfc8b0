"""Data sets by name, from the user's Hugging Face cache; nothing is ever fetched."""

import os
from pathlib import Path

from coevo.errors import ContentError

NAMED = {
    "dapo": ("open-r1/DAPO-Math-17k-Processed", "BytedTsinghua-SIA/DAPO-Math-17k"),
    "aime": (
        "MathArena/aime_2026",
        "math-ai/aime26",
        "MathArena/aime_2025",
        "math-ai/aime25",
        "HuggingFaceH4/aime_2024",
    ),
}
"""Name -> repositories that hold it, the first in the cache is taken."""


def cached(name: str) -> Path:
    """The folder in the cache that holds a data set.

    Args:
        name: One of `NAMED`.

    Raises:
        ContentError: If none of its repositories is there, with the command that fetches one.
    """
    cache = cache_folder()
    for repository in NAMED[name]:
        snapshots = cache / f"datasets--{repository.replace('/', '--')}" / "snapshots"
        if found := sorted(snapshots.glob("*/"), key=lambda path: (path.stat().st_mtime, path.name)):
            return found[-1]
    listed = " or ".join(NAMED[name])
    raise ContentError(
        f"expected the data set {name} in the Hugging Face cache {cache} as {listed}, it is not there; fetch it with: "
        f"hf download --repo-type dataset {NAMED[name][0]}"
    )


def cache_folder() -> Path:
    """Where the hub's client keeps repositories, by the same variables that it reads."""
    if hub := os.environ.get("HF_HUB_CACHE"):
        return Path(hub)
    base = os.environ.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache")  # noqa: PTH111 - raises without a home
    return Path(os.environ.get("HF_HOME") or Path(base) / "huggingface") / "hub"

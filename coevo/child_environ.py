"""The environment of a Python process that coevo starts: it imports the coevo that started it, wherever that lies."""

import os
from pathlib import Path


def child_environ(**variables: str) -> dict[str, str]:
    """This process's environment with this coevo importable.

    Args:
        variables: What is set besides.
    """
    root = str(Path(__file__).resolve().parent.parent)
    paths = os.pathsep.join(filter(None, [root, os.environ.get("PYTHONPATH")]))
    return {**os.environ, "PYTHONPATH": paths, **variables}

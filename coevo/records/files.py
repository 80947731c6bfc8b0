"""Files that are whole or not there: written beside their place and renamed into it."""

import json
import os
from pathlib import Path
from typing import Any


def write_text(path: Path, text: str, *, durable: bool = True) -> None:
    """Replace a text file in one step, as `write_bytes` does."""
    write_bytes(path, text.encode(), durable=durable)


def write_bytes(path: Path, content: bytes, *, durable: bool = True) -> None:
    """Replace a file in one step; a crash leaves the old one or the new one, never a part.

    Args:
        path: The file.
        content: Its new content.
        durable: Whether to wait until the disk has it. Not waiting is safe against a killed process, not against a
            power cut; it is for small files that can be made again.
    """
    temporary = path.with_name(f".{path.name}.{os.getpid()}.tmp")
    try:
        with temporary.open("wb") as file:
            file.write(content)
            if durable:
                file.flush()
                os.fsync(file.fileno())
        temporary.replace(path)
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise


def write_json(path: Path, value: Any) -> None:
    """Replace a file by a JSON document, indented for readers; refuses NaN and infinities."""
    write_text(path, json.dumps(value, indent=2, ensure_ascii=False, allow_nan=False) + "\n")

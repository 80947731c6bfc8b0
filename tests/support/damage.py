"""What happens to run directories between two commands."""

from pathlib import Path


def drop_end(run: Path) -> None:
    """Take the last event out of a run's log, and leave its result."""
    log = run / "events.jsonl"
    log.write_bytes(b"".join(log.read_bytes().splitlines(keepends=True)[:-1]))

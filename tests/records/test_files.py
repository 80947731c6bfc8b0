"""Files that are whole or not there."""

import pytest

from coevo.records.files import write_bytes


def test_a_file_is_replaced(tmp_path):
    """The new content is there and nothing else."""
    for content in (b"old", b"new"):
        write_bytes(tmp_path / "file", content)
    assert (tmp_path / "file").read_bytes() == b"new"
    assert [path.name for path in tmp_path.iterdir()] == ["file"]


def test_a_failure_leaves_nothing_behind(tmp_path):
    """A target that cannot be replaced keeps what it is, and no temporary file stays beside it."""
    (tmp_path / "folder").mkdir()
    with pytest.raises(IsADirectoryError):
        write_bytes(tmp_path / "folder", b"content")
    assert [path.name for path in tmp_path.iterdir()] == ["folder"]

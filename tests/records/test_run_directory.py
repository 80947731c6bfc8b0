import errno
import os
import tomllib
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from coevo.candidate import Candidate
from coevo.errors import RunError
from coevo.records import run_directory as run_directory_module
from coevo.records.run_directory import RunDirectory, to_toml

scalars = (
    st.booleans() | st.integers(-(2**62), 2**62) | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(st.characters(exclude_categories=("Cs",)))
)  # fmt: skip
keys = st.from_regex(r"\A[a-z_]{1,10}\Z")
tables = st.dictionaries(keys, scalars | st.lists(st.text("abc\"'\\\n"), max_size=3), max_size=5)


@given(tables, tables)
def test_toml_round_trip(flat, inner):
    """Whatever a configuration holds, reading the written file gives it back."""
    values = {**flat, "table": inner}
    assert tomllib.loads(to_toml(values)) == values


def test_config_round_trip(tmp_path):
    """What was written is read back, without the schema version and without fields that are None."""
    directory = RunDirectory.create(tmp_path, "tsp", {"budget": 5, "target": None, "start": ["a.py"]})
    assert RunDirectory.open(directory.path).config() == {"budget": 5, "start": ["a.py"]}


@pytest.mark.parametrize("fails", ["mkdir", "write"])
def test_a_run_that_cannot_begin_leaves_no_directory(tmp_path, monkeypatch, fails):
    """A disk that is full in the middle: one line, and nothing that looks like a run."""

    def full(*_, **__):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    if fails == "mkdir":
        real = Path.mkdir
        monkeypatch.setattr(Path, "mkdir", lambda path, *a, **k: (full if path.name == "es" else real)(path, *a, **k))
    else:
        monkeypatch.setattr(run_directory_module, "write_text", full)
    with pytest.raises(RunError, match="No space left"):
        RunDirectory.create(tmp_path, "tsp", {"seed": 1})
    assert not list(tmp_path.iterdir())


def test_two_runs_never_share_a_directory(tmp_path):
    """Runs started in the same second get different names."""
    assert len({RunDirectory.create(tmp_path, "tsp", {}).path for _ in range(3)}) == 3


@pytest.mark.parametrize("exists", [True, False])
def test_what_is_not_a_run_directory_is_refused(tmp_path, exists):
    """The message names the path and says whether it exists."""
    path = tmp_path if exists else tmp_path / "nowhere"
    with pytest.raises(RunError, match="expected a run directory") as error:
        RunDirectory.open(path)
    assert ("does not exist" in str(error.value)) != exists


def test_another_schema_is_refused(tmp_path):
    """A run of a later version is not half-read."""
    (tmp_path / "config.toml").write_text("schema_version = 99\n")
    with pytest.raises(RunError, match="expected schema_version 1, got 99"):
        RunDirectory.open(tmp_path).config()


def test_candidates_are_kept_under_their_identity(run_directory):
    """The same source is written once and can be read back."""
    candidate = Candidate("x = 1\n")
    for _ in range(2):
        run_directory.save_candidate(candidate)
    files = list((run_directory.path / "candidates").iterdir())
    assert [f.name for f in files] == [f"{candidate.identity}.py"]
    assert files[0].read_text() == "x = 1\n"


def test_no_temporary_file_is_left(run_directory):
    """Whole-file writes leave only the file."""
    run_directory.save_best(Candidate("x = 1\n"))
    run_directory.save_result({"status": "done"})
    assert sorted(f.name for f in run_directory.path.iterdir()) == [
        "best.py",
        "candidates",
        "config.toml",
        "es",
        "result.json",
    ]


@pytest.mark.parametrize(
    ("text", "fault"),
    [
        ("[1]", "is not a JSON object"),
        ("{", "is not a JSON object"),
        ('{"schema_version": 9}', "expected schema_version 1"),
    ],
)
def test_a_result_of_another_kind_is_refused(run_directory, text, fault):
    """A torn, foreign or later `result.json` is an error that names it, not a traceback."""
    (run_directory.path / "result.json").write_text(text)
    with pytest.raises(RunError, match=fault):
        run_directory.result()


def test_a_step_is_kept_once_and_a_torn_line_replaced(run_directory):
    """Telling a step again changes nothing; a line cut off by a crash is written anew."""
    run_directory.save_step(0, "first\n")
    run_directory.save_step(0, "first\n")
    run_directory.history.write_text("first\nsec")
    run_directory.save_step(1, "second\n")
    assert run_directory.history.read_text() == "first\nsecond\n"


def test_a_run_that_lost_its_log_is_refused(run_directory):
    """Without its event log a run that has begun would charge everything again; one that has not may start."""
    assert RunDirectory.open(run_directory.path).path == run_directory.path
    run_directory.save_candidate(Candidate("x = 1\n"))
    with pytest.raises(RunError, match="expected the event log"):
        RunDirectory.open(run_directory.path)


def test_folders_that_were_deleted_are_made_again(run_directory, ticking, caplog):
    """With one line for each that is gone, and none where nothing is."""
    run_directory.open_log(ticking).close()
    assert caplog.messages == []
    for name in ("candidates", "es"):
        (run_directory.path / name).rmdir()
    with run_directory.open_log(ticking):
        run_directory.save_step(0, "{}\n")
        run_directory.save_candidate(Candidate("x = 1\n"))
    assert [message.partition(" is gone")[0] for message in caplog.messages] == [
        str(run_directory.path / name) for name in ("candidates", "es")
    ]


def test_a_moved_result_says_where_it_is_now(run_directory, tmp_path):
    """A directory may be moved or copied; its result names the place it is read from."""
    run_directory.save_result({"status": "done", "run": str(run_directory.path)})
    moved = RunDirectory(run_directory.path.rename(tmp_path / "elsewhere"))
    assert moved.result() == {"status": "done", "run": str(tmp_path / "elsewhere")}
    moved.save_result({"status": "done"})
    assert moved.result() == {"status": "done"}

"""The folder of runs and the folder of kernels."""

import fcntl
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from coevo.experiments.doctor.disk import disk, search_bytes, tuning_bytes
from coevo.experiments.doctor.kernels import kernels
from coevo.searching.config import make_config
from coevo.tuning.config import make_tune_config

MB = 10**6


def test_a_folder_that_is_not_there_yet_passes_and_stays_away(says, tmp_path):
    """What would be made is tried in the nearest folder there is, which is as empty afterwards."""
    says(disk(tmp_path / "a" / "b", 12 * MB, 1000 * MB), "pass", str(tmp_path), "12 MB wanted", "1,000 MB free")
    assert list(tmp_path.iterdir()) == []
    says(disk(tmp_path, 1), "pass", "can be written, locked and renamed in")
    assert list(tmp_path.iterdir()) == []


def test_a_disk_too_small_fails(says, tmp_path):
    """With what is wanted and what there is; a close estimate warns."""
    says(disk(tmp_path, 12 * MB, 11 * MB), "fail", "12 MB wanted, 11 MB free", advice="another --runs-dir")
    says(disk(tmp_path, 12 * MB, 20 * MB), "warn", "20 MB free", advice="close")


def test_a_folder_that_cannot_be_written_fails(says, tmp_path):
    """Even root writes nothing to the kernel's own files; a file is no folder."""
    says(disk(Path("/proc/runs"), 1, 10 * MB), "fail", "/proc cannot be written to", advice="--runs-dir")
    (tmp_path / "runs").write_text("")
    says(disk(tmp_path / "runs", 1, 10 * MB), "fail", "found a file", advice="--runs-dir")
    says(disk(tmp_path / "runs" / "more", 1, 10 * MB), "fail", "found a file", advice="--runs-dir")


@pytest.mark.parametrize("refuses", [True, False])
def test_a_folder_without_locks_fails(says, tmp_path, monkeypatch, refuses):
    """Whether it refuses every lock, or grants all of them."""

    def lock(*_: object) -> None:
        if refuses:
            raise OSError(37, "No locks available")

    monkeypatch.setattr(fcntl, "flock", lock)
    says(disk(tmp_path, 1, 10 * MB), "fail", "does not lock files", advice="local disk")
    assert list(tmp_path.iterdir()) == []


def test_a_folder_without_atomic_renames_fails(says, tmp_path, monkeypatch):
    """A rename that copies leaves the old name for a while."""
    monkeypatch.setattr(Path, "replace", lambda self, target: target.write_bytes(self.read_bytes()))
    says(disk(tmp_path, 1, 10 * MB), "fail", "does not replace a file in one step", advice="--runs-dir")


@given(st.integers(1, 10**6), st.integers(1, 4096))
def test_the_estimate_of_a_search_grows_with_what_it_may_write(budget, max_tokens):
    """It is above what the longest answers take, and another completion never makes it smaller."""
    size = search_bytes(make_config({"budget": budget, "max_tokens": max_tokens}))
    more = search_bytes(make_config({"budget": budget + 1, "max_tokens": max_tokens}))
    assert size > budget * (2 * 4 * max_tokens)
    assert more > size


def test_the_estimates_are_above_runs_that_were_measured():
    """524 kB on disk of a search of budget 100; 464 kB of a tuning run of 3 generations, of which 15 turns are kept."""
    assert search_bytes(make_config({"budget": 100})) > 524_288
    values = {"env": "sudoku", "generations": 3, "tasks": 4, "evolution_strategy": {"members": 4}}
    small = make_tune_config(values)
    assert tuning_bytes(small, 15, 8) > 463_798
    assert tuning_bytes(small.model_copy(update={"skill_every": 1}), 15, 8) > tuning_bytes(small, 15, 8)


def test_kernels_that_can_be_kept_pass(says, tmp_path):
    """Each with its folder, which Numba makes when it compiles."""
    (tmp_path / "noise").mkdir()
    (tmp_path / "noise" / "index").write_text("")
    found = kernels({"noise": tmp_path / "noise", "tsp": tmp_path / "tsp"})
    says(found, "pass", f"noise in {tmp_path / 'noise'};", f"tsp in {tmp_path / 'tsp'} (nothing in it yet)")


def test_kernels_without_a_folder_warn(says, tmp_path):
    """A run works all the same, and slowly."""
    says(kernels({"noise": tmp_path, "tsp": None}), "warn", "of tsp", "compiles them anew", advice="XDG_CACHE_HOME")

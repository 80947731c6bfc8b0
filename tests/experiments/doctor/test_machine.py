"""Processor, memory and GPUs, of machines that are only told of."""

import json
import sys
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from coevo.engines.inspection import MemoryNeed, inspect_model
from coevo.engines.loading import EMBEDDED_FOLDER, inspect_folder
from coevo.experiments.doctor.cgroups import ControlGroups
from coevo.experiments.doctor.gpu import Accelerators, Gpu, driver_version, gpu, look_for_gpus
from coevo.experiments.doctor.memory import Copies, Room, copies_of, frozen_memory, host_bytes, memory
from coevo.experiments.doctor.processor import processor
from coevo.learning.choice import ModelChoice

GB = 10**9


def groups(folder: Path, own: str, **files: str) -> ControlGroups:
    """Control groups as the kernel shows them; `__` in a name stands for a folder's end."""
    (folder / "own").write_text(own)
    for name, content in files.items():
        path = folder / "mount" / name.replace("__", "/").replace("_DOT_", ".")
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(content)
    return ControlGroups(folder / "mount", folder / "own")


def test_the_tightest_group_of_version_2_counts(tmp_path):
    """Its own or any above it; "max" is no bound, and a cache that would give way is free."""
    found = groups(
        tmp_path,
        "0::/outer/inner\n",
        outer__cpu_DOT_max="150000 100000\n",
        outer__inner__cpu_DOT_max="max 100000\n",
        outer__memory_DOT_max="max\n",
        outer__inner__memory_DOT_max="1000\n",
        outer__inner__memory_DOT_current="900\n",
        outer__inner__memory_DOT_stat="anon 800\ninactive_file 50\n",
    )
    assert (found.cores(), found.free_bytes()) == (1.5, 150)


def test_groups_of_version_1_count_too(tmp_path):
    """Each controller has a tree of its own; a quota of -1 and a huge number are no bounds."""
    found = groups(
        tmp_path,
        "4:cpu:/box\n3:memory:/box\n",
        cpu__box__cpu_DOT_cfs_quota_us="50000",
        cpu__box__cpu_DOT_cfs_period_us="100000",
        cpu__cpu_DOT_cfs_quota_us="-1",
        cpu__cpu_DOT_cfs_period_us="100000",
        memory__box__memory_DOT_limit_in_bytes="9223372036854771712",
        memory__box__memory_DOT_usage_in_bytes="5",
        memory__memory_DOT_limit_in_bytes="700",
        memory__memory_DOT_usage_in_bytes="650",
        memory__memory_DOT_stat="total_inactive_file 30",
    )
    assert (found.cores(), found.free_bytes()) == (0.5, 80)


def test_without_groups_there_is_no_bound(tmp_path):
    """Nor where the kernel tells nothing."""
    missing = ControlGroups(tmp_path, tmp_path / "none")
    assert (missing.cores(), missing.free_bytes()) == (None, None)
    ControlGroups().cores()
    assert host_bytes(bound=1) == 1
    assert host_bytes() > 0


def test_enough_cores_pass(says):
    """A bound above what is allowed anyway is not worth a word."""
    says(processor(4, None, 4), "pass", "4 cores usable; 4 workers")
    assert "control group" not in processor(4, 8.0, 4).found


@given(st.integers(1, 64), st.none() | st.floats(0.1, 64), st.integers(1, 64))
def test_the_advised_workers_fit(allowed, bound, workers):
    """A warning exactly where there are more workers than cores; what it advises is at least one and fits."""
    usable = allowed if bound is None else min(allowed, bound)
    finding = processor(allowed, bound, workers)
    assert (finding.state == "warn") == (workers > usable)
    if finding.advice:
        advised = int(finding.advice.split(":")[0].removeprefix("pass --workers "))
        assert 1 <= advised <= max(1, usable)


def test_a_bound_below_the_workers_warns(says):
    """A container may show all cores and grant the time of one and a half."""
    says(processor(8, 1.5, 8), "warn", "8 cores usable", "1.5", advice="--workers 1")


def copies(weights: int, backup: int, number: int = 1, on_gpu: bool = False) -> Copies:
    """A model in memory, its processes for nothing."""
    return Copies(MemoryNeed("master", "copy", weights, backup, 0), number, 0, on_gpu)


def test_memory_counts_every_copy(says):
    """Weights and exact base of each process, and the judges."""
    says(memory(copies(GB, GB, 2), 0, Room(20 * GB)), "pass", "about 4.0 GB wanted", "2 ×", "20.0 GB available")
    says(memory(copies(GB, GB, 2), 0, Room(3 * GB)), "fail", "4.0 GB wanted", advice="--restore mapped")
    says(memory(copies(GB, GB, 2), 4, Room(5 * GB)), "warn", "4.6 GB wanted", advice="fewer --workers")
    says(frozen_memory(2, Room(20 * GB)), "pass", "no weights here")


def test_a_gpu_holds_what_it_can(says):
    """Both arrays, or the weights alone with the base on the host; what fits nowhere fails."""
    host, card = 60 * GB, (Gpu("H200", 140 * GB, 100 * GB),)
    says(memory(copies(20 * GB, 40 * GB, on_gpu=True), 0, Room(host, card)), "pass", "on GPU")
    says(memory(copies(60 * GB, 50 * GB, on_gpu=True), 0, Room(host, card)), "pass", "on the host", "on the GPU")
    says(memory(copies(60 * GB, 90 * GB, on_gpu=True), 0, Room(host, card)), "fail", "on the host", advice="--restore")
    says(memory(copies(150 * GB, 9 * GB, on_gpu=True), 0, Room(host, card)), "fail", "on the largest GPU", advice="--r")


def test_the_embedded_model_has_a_copy_for_every_worker():
    """On the host, whatever GPUs there are, under the run's own update rule."""
    facts = inspect_model(inspect_folder(EMBEDDED_FOLDER), sigma=5e-3)
    found = copies_of(facts, ModelChoice("embedded", workers=3), (Gpu("H200", GB, GB),))
    assert (found.number, found.on_gpu, found.each.restore) == (3, False, "copy")
    assert found.each.weights == 4 * facts.num_parameters
    assert copies_of(facts, ModelChoice("embedded", "vllm", workers=3), (Gpu("H200", GB, GB),)).on_gpu


def test_gpus_are_named_with_memory_and_driver(says):
    """What torch can use passes; that there is none warns, and says what it means."""
    says(gpu(Accelerators("2.9", "12.8", (Gpu("H200", 140 * GB, 9 * GB),), "570.1")), "pass", "H200, 140 GB", "570.1")
    says(gpu(Accelerators("2.9+cpu", "", (), "")), "warn", "none", advice="embedded models")
    says(gpu(Accelerators("2.9+cpu", "", (), "570.1")), "warn", "570.1", "can use no GPU", advice="build of torch")


def test_torch_is_asked_in_a_process_of_its_own():
    """What it prints besides does not matter; that it fails is said with its last line."""
    answer = {"torch": "2.9", "cuda": "12.8", "devices": [["H200", 140, 100]]}
    seen = look_for_gpus([sys.executable, "-c", f"print('noise'); print({json.dumps(answer)!r})"])
    assert (seen.torch, seen.cuda, seen.gpus) == ("2.9", "12.8", (Gpu("H200", 140, 100),))
    with pytest.raises(RuntimeError, match="no such card"):
        look_for_gpus([sys.executable, "-c", "raise SystemExit('no such card')"])


def test_the_driver_is_read_from_the_kernel(tmp_path):
    """Its version, wherever in the line it stands."""
    file = tmp_path / "version"
    assert driver_version(file) == ""
    file.write_text("NVRM version: NVIDIA UNIX x86_64 Kernel Module  570.86.15  Thu Jan 23\nGCC version: 12.2.0\n")
    assert driver_version(file) == "570.86.15"

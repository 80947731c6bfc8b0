"""Which devices each engine of a fleet on this machine gets, and that its processes see no others."""

import os
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from coevo.engines.placement import VISIBLE, environment_of, share_devices, visible_devices
from coevo.engines.torch_engine import TorchEngine
from coevo.engines.vllm.config import VllmOptions
from coevo.errors import ConfigError


@pytest.fixture
def driver(tmp_path, monkeypatch):
    """Makes the driver's tool from the lines of a shell script, as all that can be found on the path."""
    monkeypatch.delenv(VISIBLE, raising=False)
    monkeypatch.setenv("PATH", str(tmp_path))

    def make(*lines):
        tool = tmp_path / "nvidia-smi"
        tool.write_text("\n".join(["#!/bin/sh", *lines, ""]))
        tool.chmod(0o755)

    return make


@pytest.mark.parametrize(
    ("value", "devices"),
    [
        ("0,1", ("0", "1")),
        (" 3 , 1 ", ("3", "1")),
        ("GPU-8c1f,MIG-77", ("GPU-8c1f", "MIG-77")),
        ("", ()),
        ("-1", ()),
        ("2,-1,3", ("2",)),
        ("NoDevFiles", ()),
    ],
)
def test_the_variable_of_the_user_comes_first(value, devices, driver):
    """What it names is used in its order and form, up to the first entry that names none; the tool is not asked."""
    driver("echo 9")
    assert visible_devices({VISIBLE: value}) == devices


def test_without_the_variable_the_driver_says_what_there_is(driver):
    """One number on each line; anything else that it prints is no device."""
    driver("echo 0", "echo 1", "echo 'No devices were found'")
    assert visible_devices(os.environ) == ("0", "1")


@pytest.mark.parametrize("lines", [("exit 9",), ("echo broken",), ("echo 0", "exit 1")])
def test_a_driver_that_fails_has_no_devices(lines, driver):
    """Whatever it printed before is not believed."""
    driver(*lines)
    assert visible_devices(os.environ) == ()


def test_a_machine_without_a_driver_has_no_devices(driver):
    """There is no such program."""
    assert visible_devices(os.environ) == ()


def test_a_driver_that_hangs_is_given_up(driver, monkeypatch):
    """The question is bounded in time."""
    monkeypatch.setattr("coevo.engines.placement._PATIENCE_S", 0.2)
    driver("exec /bin/sleep 60")
    assert visible_devices(os.environ) == ()


@given(st.integers(1, 40), st.integers(1, 8), st.integers(1, 8))
def test_shares_are_disjoint_and_of_the_size_asked_for(num_devices, engines, each):
    """Every engine has as many devices as it needs, all of them there and none with two engines; or none is started."""
    visible = [f"GPU-{place}" for place in range(num_devices)]
    if num_devices < engines * each:
        with pytest.raises(ConfigError, match=f"{engines * each} in all, got {num_devices}"):
            share_devices(visible, engines, each)
        return
    shares = share_devices(visible, engines, each)
    assert [len(share) for share in shares] == [each] * engines
    given_out = [device for share in shares for device in share]
    assert given_out == visible[: engines * each]


@given(st.integers(1, 9), st.integers(1, 8), st.integers(1, 8))
def test_what_a_refusal_proposes_works(num_devices, engines, each):
    """The numbers after `--engines` and `--tensor-parallel` in the message are ones that are not refused."""
    visible = [str(place) for place in range(num_devices)]
    try:
        share_devices(visible, engines, each)
    except ConfigError as error:
        words = str(error).replace(",", "").split()
        proposed = {word: int(words[place + 1]) for place, word in enumerate(words) if word.startswith("--")}
        fewer = proposed.get("--engines", engines)
        if num_devices >= each:
            assert share_devices(visible, fewer, each)
        if "--tensor-parallel" in proposed and (num_devices < each or num_devices >= engines):
            narrower = fewer if num_devices < each else engines
            assert share_devices(visible, narrower, proposed["--tensor-parallel"])


@given(st.integers(1, 9), st.integers(1, 8))
def test_without_devices_nothing_is_placed(engines, each):
    """On a machine without GPUs every engine is started as before."""
    shares = share_devices([], engines, each)
    assert [environment_of(share) for share in shares] == [{}] * engines


def test_vllm_is_started_with_its_own_devices():
    """The variable is among those of the worker, in the form it was given; without devices it is left alone."""
    assert VllmOptions(devices=("GPU-8c1f", "3")).environment()[VISIBLE] == "GPU-8c1f,3"
    assert VISIBLE not in VllmOptions().environment()


def test_only_the_workers_see_the_devices(tiny_llama):
    """The worker's environment names them, and that of this process does not change."""
    before = os.environ.get(VISIBLE)
    with TorchEngine(tiny_llama, workers=1, chat=False, devices=("7",)) as engine:
        engine.wait_ready()
        (pid,) = engine.worker_pids
        assert f"{VISIBLE}=7".encode() in Path(f"/proc/{pid}/environ").read_bytes().split(b"\0")
    assert os.environ.get(VISIBLE) == before

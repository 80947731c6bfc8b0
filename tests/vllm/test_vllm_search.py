"""Whole searches whose model vLLM serves: by the engine `vllm`, and behind an OpenAI-compatible server."""

import json
import os
import shutil
import socket
import subprocess
import time
import urllib.error
import urllib.request
from pathlib import Path

import pytest

import coevo
from coevo.content import find_problem
from coevo.records.event_log import read_events
from coevo.searching.exporting import export_run
from coevo.searching.replaying import replay_run

pytestmark = pytest.mark.slow
START_LIMIT_S = 240


def test_a_search_on_vllm_replays_without_it(vllm_python, tmp_path):
    """P30: a run of the engine vllm, with subspaces and pairs, gives the same weights from its history alone."""
    result = coevo.search(
        "tsp",
        budget=40,
        engine="vllm",
        compare=False,
        population=4,
        batch=4,
        evolution_strategy={"members": 8, "children": 1, "subspaces": 2, "antithetic": True},
        weights={"scope": "linear"},
        runs_dir=tmp_path,
    )
    assert result.budget.operator == 40
    assert result.best is not None
    replay = replay_run(result.run)
    assert replay.updates > 0
    assert replay.agrees
    assert replay.fingerprint == result.fingerprint
    assert export_run(result.run, tmp_path / "evolved").sha256


@pytest.fixture
def server(vllm_python, qwen, tmp_path):
    """The address of vLLM's own server with a random model whose context holds prompts in words."""
    model = shutil.copytree(qwen, tmp_path / "model")
    config = json.loads((model / "config.json").read_text())
    (model / "config.json").write_text(json.dumps({**config, "max_position_embeddings": 4096}))
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    command = [vllm_python, "-m", "vllm.entrypoints.openai.api_server", "--model", str(model)]
    command += ["--served-model-name", "random", "--host", "127.0.0.1", "--port", str(port)]
    command += ["--enforce-eager", "--max-model-len", "4096"]
    environment = {**os.environ, "VLLM_CPU_KVCACHE_SPACE": "1", "VLLM_NO_USAGE_STATS": "1"}
    with (tmp_path / "server.log").open("w") as log:
        process = subprocess.Popen(command, env=environment, stdout=log, stderr=log)
        try:
            address = f"http://127.0.0.1:{port}"
            assert is_up(f"{address}/health", process), (tmp_path / "server.log").read_text()[-3000:]
            yield f"{address}/v1"
        finally:
            process.terminate()
            process.wait(30)


def is_up(address, process):
    """Wait until a server answers; False if it ends before or takes too long."""
    end = time.monotonic() + START_LIMIT_S
    while time.monotonic() < end and process.poll() is None:
        try:
            with urllib.request.urlopen(address, timeout=5):
                return True
        except (urllib.error.URLError, OSError):
            time.sleep(1)
    return False


def test_a_search_behind_a_server(server, tmp_path):
    """A frozen model behind a server of vLLM is asked and charged to the last unit; its answers are read and judged."""
    start = find_problem("tsp").path / "baselines" / "nearest_neighbour.py"
    result = coevo.search(
        "tsp",
        budget=12,
        model=server,
        start=(str(start),),
        population=4,
        batch=4,
        compare=False,
        max_tokens=64,
        runs_dir=tmp_path,
    )
    assert result.budget.operator == 12
    assert result.fingerprint == f"{0:016x}"
    assert result.best is not None
    events = read_events(Path(result.run) / "events.jsonl")
    answers = [event for event in events if event["kind"] == "completion"]
    assert len(answers) == 12
    assert all(answer["tokens"] > 0 for answer in answers)

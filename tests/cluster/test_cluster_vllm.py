"""Engines of vLLM as actors: they are found, agree about their weights, and heal."""

import os
import signal
from pathlib import Path

import pytest

from coevo.engines.vllm.engine import INTERPRETER
from coevo.records.event_log import read_events
from coevo.searching.api import run_search
from coevo.searching.config import make_config
from coevo.searching.replaying import replay_run

pytestmark = [pytest.mark.slow, pytest.mark.timeout(900)]

BUDGET = 32
FORM = {
    "budget": BUDGET, "seed": 3, "workers": 2, "population": 8, "batch": 4, "compare": False, "splits": ("search",),
    "engine": "vllm", "engines": 2, "evolution_strategy": {"members": 4, "children": 2},
}  # fmt: skip


@pytest.mark.skipif(not os.environ.get(INTERPRETER), reason=f"{INTERPRETER} names no interpreter that has vLLM")
def test_vllm_on_a_cluster_survives_a_killed_engine(nodes, two, tmp_path, caplog):
    """Killed while members answer: the run ends, replays without vLLM, and has charged each completion once.

    Texts depend on what shares a batch there, and are not compared.
    """
    killed = []

    def kill(event):
        if not killed and event["kind"] == "completion" and event["id"].startswith("1.m1."):
            (served, *_) = [pid for node in two for pid in node.actors() if pid not in _judges(two)]
            os.kill(served, signal.SIGKILL)
            killed.append(served)

    found = run_search(make_config({**FORM, "ray": nodes.address}), runs_dir=tmp_path, listeners=(kill,))
    assert killed
    assert "it is opened anew" in caplog.text
    assert found.status == "done"
    events = list(read_events(Path(found.run) / "events.jsonl"))
    charged = [request["id"] for event in events if event["kind"] == "asked" for request in event["requests"]]
    assert len(set(charged)) == len(charged) == BUDGET
    replay = replay_run(found.run)
    assert replay.updates >= 2
    assert replay.agrees
    assert replay.fingerprint == found.fingerprint


def _judges(nodes):
    return [pid for node in nodes for pid in node.judges()]

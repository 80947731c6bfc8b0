"""Joining a cluster, its actors, and what is said when either cannot be had."""

import os
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, replace
from functools import partial
from pathlib import Path

import pytest

from coevo.cluster import actor as actors
from coevo.cluster import connection
from coevo.cluster.actor import ActorSpec
from coevo.cluster.connection import Cluster
from coevo.cluster.envoy import Envoy
from coevo.cluster.faults import ActorLost, NoRoom
from coevo.content import ProblemFolder, read_problem
from coevo.engines.fleet.remote import RemoteFleet
from coevo.engines.loading import resolve_model
from coevo.errors import ConfigError, ExtraMissingError, ModelError, SandboxError
from coevo.evaluation import EvaluationPool
from coevo.evaluation.remote_judge import Case, RemoteJudge
from coevo.learning.choice import ModelChoice
from coevo.learning.models import open_model
from coevo.learning.remote import model_identity, pack_choice, unpack_choice
from coevo.searching.api import config_of, resume_search

slow = pytest.mark.slow
pytestmark = pytest.mark.timeout(900)

PATIENT = """
import signal
from coevo.cli import main
from coevo.cluster import actor, connection
connection.CONNECT_S = actor.ROOM_S = 240.0
signal.signal(signal.SIGINT, signal.default_int_handler)
main()
"""
"""The command, on a machine that is loaded, also where tests run in the background, which ignores Ctrl-C."""


def test_without_ray_the_extra_is_named(monkeypatch):
    """Before a process is started."""
    monkeypatch.setitem(sys.modules, "ray", None)
    with pytest.raises(ExtraMissingError, match=r"pip install 'coevo\[ray\]'"):
        Cluster("auto")


@pytest.mark.parametrize("command", [("search", "--budget", "4"), ("tune",), ("probe",)])
@slow
def test_a_command_says_in_one_line_that_nothing_is_there(command, tmp_path):
    """Exit code 2, one line, no run directory; the judges of a search are not reached."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        flags = [*command, "--ray", f"127.0.0.1:{free.getsockname()[1]}", "--runs-dir", str(tmp_path / "runs")]
        done = subprocess.run([sys.executable, "-m", "coevo", *flags], capture_output=True, text=True, cwd=tmp_path)
    assert done.returncode == 2
    assert "ray start --head" in done.stderr
    assert len(done.stderr.strip().splitlines()) == 1
    assert not done.stdout
    assert not (tmp_path / "runs").exists()


@pytest.mark.parametrize("named", ["local", "", "http://127.0.0.1:6379", "here"])
@slow
def test_the_variable_names_an_address_and_nothing_else(monkeypatch, named, until, children_of):
    """Ray itself would start a cluster for the first of them."""
    monkeypatch.setenv("RAY_ADDRESS", named)
    children = children_of(os.getpid())
    with pytest.raises(ConfigError, match="RAY_ADDRESS: expected auto, HOST:PORT") as caught:
        Cluster("auto")
    assert "\n" not in str(caught.value)
    until(lambda: children_of(os.getpid()) == children)


@slow
def test_something_that_does_not_answer_is_given_up(monkeypatch, until, children_of):
    """A port that takes connections and stays silent: refused in the time set, and no process is left."""
    monkeypatch.setattr(connection, "CONNECT_S", 2.0)
    before, children = threading.active_count(), children_of(os.getpid())
    with socket.create_server(("127.0.0.1", 0)) as silent:
        address = f"127.0.0.1:{silent.getsockname()[1]}"
        with pytest.raises(ConfigError, match="none answered within 2 s"):
            Cluster(address)
    assert threading.active_count() == before
    until(lambda: children_of(os.getpid()) == children)


@slow
def test_a_run_that_is_killed_while_it_joins_leaves_no_envoy(until, children_of):
    """Also where the cluster never answers: nobody is left who would end it."""
    with socket.create_server(("127.0.0.1", 0)) as silent:
        address = f"127.0.0.1:{silent.getsockname()[1]}"
        joining = [sys.executable, "-c", f"from coevo.cluster.connection import Cluster; Cluster({address!r})"]
        with subprocess.Popen(joining) as run:
            silent.accept()[0].close()
            (envoy,) = children_of(run.pid)
            run.kill()
        until(lambda: not Path(f"/proc/{envoy}").exists() or "Z" in Path(f"/proc/{envoy}/stat").read_text())


@slow
def test_actors_open_answer_and_end(nodes, two, until, monkeypatch):
    """Their place is known, errors of theirs are told, too large ones find no room; a closed connection ends all."""
    with Cluster(nodes.address) as cluster:
        assert (cluster.nodes, cluster.cpus, cluster.gpus) == (2, 4.0, 0)
        spec = ActorSpec("an engine", "coevo.learning.remote:nothing", cpus=0.5, is_grouped=True)
        actor = cluster.actor(spec)
        actor.open()
        assert actor.about["pid"] in nodes.actors()
        assert actor.about["node"] in [node.identity for node in two]
        with pytest.raises(RuntimeError, match="nothing"):
            actor.ask({"do": "open"})
        with pytest.raises(NoRoom, match=r"an engine \(99 CPU\) to find room .*lower --engines"):
            cluster.actor(ActorSpec("an engine", "a:b", cpus=99, is_grouped=True, room_s=1)).open()
        with monkeypatch.context() as other:
            other.setattr(actors, "__version__", "0.0")
            with pytest.raises(ConfigError, match=r"expected coevo 0\.0 on every node"):
                cluster.actor(spec).open()
        os.kill(actor.about["pid"], signal.SIGKILL)
        with pytest.raises(ActorLost):
            actor.ask({"do": "fingerprint"})
        left = cluster.actor(ActorSpec("a judge", "a:b", cpus=0.5))
        left.open()
    until(lambda: not nodes.actors())
    with pytest.raises(ActorLost, match="connection"):
        left.ask({})


@slow
def test_what_is_waited_for_long_is_said_once(nodes, two, monkeypatch, caplog, until):
    """An actor without room says what is free; one whose process is stopped, which process; one at work, nothing."""
    for name, value in (("QUIET_S", 0.02), ("PING_S", 5.0)):
        monkeypatch.setattr(actors, name, value)
    huge = ActorSpec("an engine", "coevo.learning.remote:nothing", cpus=99.0, room_s=3.0)
    with Cluster(nodes.address) as cluster, ThreadPoolExecutor(3) as threads:
        until(lambda: _free(cluster, huge) == "4 of 4 CPU, 0 of 0 GPU")  # what earlier actors had is given back
        with monkeypatch.context() as soon:
            soon.setattr(actors, "ROOM_QUIET_S", 0.1)
            waiting = [threads.submit(cluster.actor(huge).open) for _ in range(2)]
            assert all(isinstance(each.exception(60), NoRoom) for each in waiting)
        assert _waits(caplog) == ["an engine (99 CPU) waits for room on a node of the cluster, with 4 of 4 CPU, 0 of 0 "
                                  "GPU free, or for its process to start; it is given up after 3 s"]  # fmt: skip
        choice = ModelChoice("embedded", ray=nodes.address)
        working = cluster.actor(ActorSpec("an engine", "coevo.learning.hosted:servant", pack_choice(choice)))
        working.open()
        began = time.monotonic()
        working.ask({"do": "open"})
        assert time.monotonic() - began > actors.QUIET_S, "it was not at work for long enough to show anything"
        assert len(_waits(caplog)) == 1
        pid = working.about["pid"]
        os.kill(pid, signal.SIGSTOP)
        asked = threads.submit(working.ask, {"do": "fingerprint"})
        until(lambda: len(_waits(caplog)) == 2)
        assert f"so has its process {pid}" in _waits(caplog)[1]
        os.kill(pid, signal.SIGCONT)
        assert asked.result(60)[0]["fingerprint"]


def _free(cluster, spec):
    """What the cluster says is free at this moment."""
    return cluster.begin({"do": "room", "actor": 0, "spec": asdict(spec)}).result(60)[0]["free"]


def _waits(caplog):
    return [record.message for record in caplog.records if record.name == "coevo.cluster.patience"]


@slow
def test_a_connection_that_dies_says_so_and_leaves_no_actor(nodes, two, until):
    """Killed under a waiting call, which ends; so do calls after it."""
    with Cluster(nodes.address) as cluster:
        actor = cluster.actor(ActorSpec("an engine", "time:sleep", cpus=0.5))
        actor.open()
        os.kill(cluster.pid, signal.SIGKILL)
        with pytest.raises(ActorLost, match="the connection to the Ray cluster has ended"):
            actor.ask({"do": "x"})
        actor.close()
    until(lambda: not nodes.actors())


@slow
def test_a_problem_of_the_users_is_sent_to_the_nodes(nodes, two, until, tiny_problem, tmp_path):
    """It is nowhere on the node: its judge works on what was sent; nothing of it is left there."""
    folder = shutil.copytree(tiny_problem, tmp_path / "tiny")
    problem, temporary = read_problem(folder), Path(tempfile.gettempdir())
    here = set(temporary.glob("coevo-problem-*"))
    with Cluster(nodes.address) as cluster:
        case = Case(cluster, problem, False, {**Case.of(cluster, problem, unsafe=False).described, "path": "/gone"})
        with EvaluationPool(problem, workers=1, open_judge=partial(RemoteJudge, case)) as pool:
            code = problem.baselines()["shortest_first"]
            found = pool.evaluate(code)
            assert len(set(temporary.glob("coevo-problem-*")) - here) == 1
            assert pool.evaluate("def priority(durations, worths):\n    return 1 / 0\n").status == "crash"
    with EvaluationPool(problem, workers=1) as pool:
        expected = pool.evaluate(code)
    assert (found.status, found.objectives) == (expected.status, expected.objectives)
    until(lambda: set(temporary.glob("coevo-problem-*")) == here)


@slow
def test_a_problem_that_breaks_on_its_node_is_told_with_the_place(nodes, two, tiny_problem, tmp_path):
    """In one line."""
    folder = shutil.copytree(tiny_problem, tmp_path / "tiny")
    (folder / "problem.py").write_text("raise OSError('no licence')\n")
    problem = read_problem(folder)
    assert isinstance(problem, ProblemFolder)
    with Cluster(nodes.address) as cluster, pytest.raises(Exception, match=r"on .* \(node .*no licence") as caught:
        EvaluationPool(problem, workers=1, open_judge=partial(RemoteJudge, Case.of(cluster, problem, unsafe=False)))
    assert "\n" not in str(caught.value)


@slow
def test_a_lost_connection_is_no_verdict(nodes, two, tiny_problem, tmp_path, until):
    """With several judges, killed under an evaluation: whoever waits hears of the cluster, and nothing of a crash."""
    problem = read_problem(tiny_problem)
    code = "import time\n\n\ndef priority(durations, worths):\n    time.sleep(600)\n    return durations\n"
    slack = problem.spec.limits.model_copy(update={"total_s": 900.0})
    problem = replace(problem, spec=problem.spec.model_copy(update={"limits": slack}))
    with Cluster(nodes.address) as cluster:
        case = Case.of(cluster, problem, unsafe=False)
        with EvaluationPool(problem, workers=2, open_judge=partial(RemoteJudge, case)) as pool:
            waiting = pool.submit(code)
            os.kill(cluster.pid, signal.SIGKILL)
            with pytest.raises(SandboxError, match="the connection to the Ray cluster has ended"):
                waiting.result(600)
    until(lambda: not nodes.actors())


@slow
@pytest.mark.parametrize("name", ["OutOfMemoryError", "LocalRayletDiedError", "OutOfDiskError", "ActorDiedError"])
def test_whatever_ray_calls_it_a_lost_actor_is_lost(name):
    """Ray has many words for it; what an actor raised itself is none of them."""
    import ray

    envoy = Envoy(None, ray)
    assert envoy._is_loss(getattr(ray.exceptions, name)(None if name == "ActorDiedError" else "gone"))
    assert not envoy._is_loss(ray.exceptions.GetTimeoutError("late"))
    assert not envoy._is_loss(ValueError("ours"))


@slow
def test_nodes_with_other_packages_are_refused(nodes, tmp_path):
    """One line that names both; the engines are closed."""
    other = tmp_path / "torch-0.0.1.dist-info"
    other.mkdir()
    (other / "METADATA").write_text("Metadata-Version: 2.1\nName: torch\nVersion: 0.0.1\n")
    nodes.up(1)
    odd = nodes.add(PYTHONPATH=str(tmp_path))
    try:
        choice = ModelChoice("embedded", engines=3, workers=9, ray=nodes.address)
        with pytest.raises(ModelError, match=r"got torch .* on .* and .* on .*; make them the same") as caught:
            open_model(choice)
        assert "0.0.1" in str(caught.value)
        assert "\n" not in str(caught.value)
    finally:
        nodes.end(odd)


@slow
def test_what_engines_export_is_here(nodes, two, tmp_path, until):
    """The embedded model comes back from a node as the folder that an engine here writes."""
    there, here = (open_model(ModelChoice("embedded", ray=ray)).engine for ray in (nodes.address, None))
    try:
        assert isinstance(there, RemoteFleet)
        there.export(tmp_path / "there")
        here.export(tmp_path / "here")
        assert there.fingerprint() == here.fingerprint()
    finally:
        there.close()
        here.close()
    files = sorted(file.name for file in (tmp_path / "here").iterdir())
    assert sorted(file.name for file in (tmp_path / "there").iterdir()) == files
    for name in files:
        assert (tmp_path / "there" / name).read_bytes() == (tmp_path / "here" / name).read_bytes()


def test_a_choice_crosses_as_plain_values():
    """Each engine is told of itself alone."""
    choice = ModelChoice("embedded", workers=5, engines=2, heals=True, ray="auto", rank=1, members=3)
    crossed = unpack_choice(pack_choice(choice))
    assert (crossed.workers, crossed.engines, crossed.heals, crossed.ray) == (2, 1, False, None)
    assert (crossed.model, crossed.weights, crossed.rank, crossed.members) == ("embedded", choice.weights, 1, 3)


def test_every_byte_of_a_tokenizer_counts(tmp_path):
    """However large it is; only of weights, whose fingerprints are compared besides, pieces are enough."""
    folder = shutil.copytree(resolve_model("embedded"), tmp_path / "model")
    tokenizer = folder / "tokenizer.json"
    content = tokenizer.read_bytes() + b" " * (9 << 20)
    identities = set()
    for place in (None, 5 << 20, (5 << 20) + (100 << 10), len(content) - 1):
        changed = bytearray(content)
        if place is not None:
            changed[place] = ord("\n")
        tokenizer.write_bytes(changed)
        identities.add(model_identity(ModelChoice(str(folder))))
    assert len(identities) == 4


def test_another_model_has_another_identity(tiny_script, tmp_path):
    """The same files have the same one, wherever they lie."""
    copy = tmp_path / "script.json"
    shutil.copy(tiny_script, copy.with_name(tiny_script.name))
    first, second = (
        model_identity(ModelChoice(str(file), "scripted")) for file in (tiny_script, copy.with_name(tiny_script.name))
    )
    assert first == second
    copy.with_name(tiny_script.name).write_text('[{"text": "other"}]')
    assert model_identity(ModelChoice(str(copy.with_name(tiny_script.name)), "scripted")) != first
    assert model_identity(ModelChoice("embedded")) != model_identity(ModelChoice("player"))


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
@slow
def test_a_stopped_search_closes_its_run_and_leaves_no_actor(
    number, nodes, two, until, tiny_problem, tiny_script, tmp_path
):
    """Exit code 130 and how to go on, as without a cluster; it can be resumed without one."""
    flags = ["--problem", str(tiny_problem), "--engine", "scripted", "--model", str(tiny_script), "--budget", "3000"]
    flags += ["--engines", "2", "--workers", "2"]
    command = [sys.executable, "-c", PATIENT, "search", *flags, "--ray", nodes.address, "--runs-dir", str(tmp_path)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as run:
        until(lambda: run.poll() is not None or "completion" in _events(tmp_path))
        assert run.poll() is None, run.stderr.read()
        run.send_signal(number)
        said, errors = run.communicate(timeout=120)
    assert run.returncode == 130, errors
    assert "go on with: coevo resume" in errors
    assert "opening 2 engines on the Ray cluster at" in errors
    assert "opening 2 judges on the Ray cluster at" in errors
    assert "raylet" not in errors.lower()
    assert not said
    until(lambda: not nodes.actors())
    (stopped,) = tmp_path.iterdir()
    assert resume_search(stopped, ray="none").status == "done"
    assert config_of(stopped).ray is None


def _events(runs: Path) -> str:
    return "".join(file.read_text() for file in runs.glob("*/events.jsonl"))

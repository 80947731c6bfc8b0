"""A Ray cluster of several nodes on this machine, in a process of its own: started, added to and ended by a test.

Reads one command a line (`add`) and writes one JSON object a line: the cluster's address and its nodes. Ends, with
every process of the cluster, when standard input does.
"""

import contextlib
import ctypes
import json
import logging
import os
import signal
import socket
import sys
from pathlib import Path

from ray.cluster_utils import Cluster

NODE = {"num_cpus": 2, "object_store_memory": 80 * 2**20}
QUICK = {"health_check_period_ms": 1000, "health_check_failure_threshold": 4}
TRIES = 5
PR_SET_CHILD_SUBREAPER = 36
PORTS = ("metrics_agent_port", "runtime_env_agent_port", "dashboard_agent_listen_port")
"""Given from outside, so that a node need not wait for its helpers to choose them, which it does not do for long."""


def node():
    """The parameters of another node."""
    found = [socket.create_server(("127.0.0.1", 0)) for _ in PORTS]
    ports = dict(zip(PORTS, [opened.getsockname()[1] for opened in found], strict=True))
    for opened in found:
        opened.close()
    return NODE | ports


def started():
    """A cluster of one node; a node gives up on a loaded machine, where it had to wait for one of its processes."""
    for attempt in range(TRIES):
        cluster = Cluster()
        try:
            cluster.add_node(include_dashboard=False, _system_config=QUICK, **node())
        except Exception:
            end_descendants()  # half a node is no node of the cluster yet, which would not end it
            if attempt == TRIES - 1:
                raise
        else:
            return cluster
    raise AssertionError


def added(cluster, variables):
    """Another node."""
    for attempt in range(TRIES):
        try:
            return cluster.add_node(env_vars=variables, **node())
        except Exception:
            if attempt == TRIES - 1:
                raise
    raise AssertionError


def end_descendants():
    """Kill every process below this one, those without a parent included, which come to be children of this one."""
    while pids := [int(pid) for file in Path("/proc/self/task").glob("*/children") for pid in file.read_text().split()]:
        for pid in pids:
            with contextlib.suppress(OSError):
                os.kill(pid, signal.SIGKILL)
        for pid in pids:
            with contextlib.suppress(OSError):
                os.waitpid(pid, 0)


def main():
    """Serve one test session."""
    ctypes.CDLL(None).prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
    logging.getLogger("ray").setLevel(logging.CRITICAL)
    answers = sys.stdout
    with contextlib.redirect_stdout(sys.stderr):
        try:
            cluster = started()
            say(answers, cluster, cluster.head_node)
            for line in sys.stdin:
                say(answers, cluster, added(cluster, json.loads(line)))
        finally:
            end_descendants()
            os._exit(0)


def say(answers, cluster, node):
    """Tell of a node that runs now."""
    raylet = next(iter(node.all_processes["raylet"])).process.pid
    answers.write(json.dumps({"address": cluster.address, "node": node.node_id, "raylet": raylet}) + "\n")
    answers.flush()


if __name__ == "__main__":
    main()

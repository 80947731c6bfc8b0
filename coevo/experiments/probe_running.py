"""Start a probe, or go on with one: the functions behind the command, and what is written around the loop."""

import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from coevo import __version__
from coevo.cluster.address import moved
from coevo.evolution.population import Scored
from coevo.experiments.probe import conduct
from coevo.experiments.probe_assembly import OWN_TOOLS, AssembledProbe, Tools, assembled_probe
from coevo.experiments.probe_config import SETS, ProbeConfig, probe_config_of, with_absolute_paths
from coevo.experiments.probe_result import ProbeResult
from coevo.records.environment import describe_environment
from coevo.records.event_log import SCHEMA_VERSION, Listener, read_events
from coevo.records.results import check_end, read_result
from coevo.records.run_directory import RunDirectory
from coevo.searching.api import content_hash


def run_probe(
    config: ProbeConfig, *, runs_dir: Path, listeners: tuple[Listener, ...] = (), tools: Tools = OWN_TOOLS
) -> ProbeResult:
    """Run a probe in a new run directory `probe-<problem>-s<seed>-<time>`.

    Args:
        config: What to probe.
        runs_dir: Where the run directory is made.
        listeners: Called with every event.
        tools: Where the parts come from.

    Raises:
        CoevoError: If an input cannot be used; nothing has been written then, but where the base model cannot write
            parents: that shows only once it has been asked.
        KeyboardInterrupt: With the run's path, after it has been closed; `resume_probe` goes on with it.
    """
    config = with_absolute_paths(config)
    name = f"probe-{Path(config.problem).name}-s{config.seed}"

    def create() -> RunDirectory:
        return RunDirectory.create(runs_dir, name, config.model_dump(mode="json"))

    return _run(config, create, listeners, tools)


def resume_probe(
    run: Path, *, ray: str | None = None, listeners: tuple[Listener, ...] = (), tools: Tools = OWN_TOOLS
) -> ProbeResult:
    """Go on with a probe that was interrupted or killed; the result of a finished one is returned as it is.

    Args:
        run: Its directory.
        ray: Another Ray cluster, or "none" for this machine; kept in the probe's configuration.
        listeners: Called with every event, recorded ones included.
        tools: Where the parts come from.

    Raises:
        RunError: If `run` is not the run directory of a probe, is in use, no longer reproduces its own past, or has a
            result and a log that does not end.
    """
    config, found = moved(probe_config_of(run), ray), load_probe(run)
    if found is not None and found.status == "done":
        check_end(run)
        return found
    return _run(config, lambda: RunDirectory(run), listeners, tools)


def load_probe(run: Path) -> ProbeResult | None:
    """The result of a probe, or None while there is none.

    Raises:
        RunError: If `run` is not a run directory, or another version wrote the result.
    """
    return read_result(run, ProbeResult, "a probe")


def _run(
    config: ProbeConfig, open_directory: Callable[[], RunDirectory], listeners: tuple[Listener, ...], tools: Tools
) -> ProbeResult:
    started = time.monotonic()
    with assembled_probe(config, open_directory, listeners, tools) as assembled:
        if probe_config_of(assembled.directory.path) != config:  # the log is open: nobody else writes here
            assembled.directory.save_config(config.model_dump(mode="json"))
        opening = _opening(assembled)
        environment = {**describe_environment(), "model": config.model, "fingerprint": opening["fingerprint"]}
        assembled.directory.save_environment(environment)
        try:
            assembled.probe.log.emit("started", **opening)
            conduct(assembled.probe)
        except KeyboardInterrupt:
            _save(assembled, started, "interrupted")
            raise KeyboardInterrupt(str(assembled.directory.path)) from None
        assembled.probe.log.emit("finished", status="done", fingerprint=f"{assembled.engine.fingerprint():016x}")
        return _save(assembled, started, "done")


def _opening(assembled: AssembledProbe) -> dict[str, Any]:
    """What a probe must find unchanged when it is resumed."""
    return {
        "schema_version": SCHEMA_VERSION,
        "version": __version__,
        "experiment": "probe",
        "problem": assembled.problem.spec.name,
        "content": content_hash(assembled.problem),
        "fingerprint": f"{assembled.engine.fingerprint():016x}",
    }


def _save(assembled: AssembledProbe, started: float, status: str) -> ProbeResult:
    """Write and return the result of what has been found so far."""
    probe, parents = assembled.probe, assembled.probe.parents
    sets = {name: [] if parents is None else [_parent(scored) for scored in parents.of(name)] for name in SETS}
    result = ProbeResult.model_validate(
        {
            "status": status,
            "problem": assembled.problem.spec.name,
            **sets,
            "scale": None if parents is None else parents.scale,
            "measurements": [found.model_dump() for found in probe.measurements],
            "member_valid": probe.member_valid,
            "member_reward": probe.member_reward,
            "refused": probe.training.refused,
            "budget": {**probe.spent, "planned": probe.config.training},
            "fingerprint": _last_fingerprint(assembled.directory),
            "wall_s": round(time.monotonic() - started, 3),
            "run": str(assembled.directory.path),
        }
    )
    assembled.directory.save_result(result.model_dump(mode="json"))
    return result


def _parent(scored: Scored) -> dict[str, Any]:
    return {"candidate": scored.candidate.identity, "cost": scored.cost}


def _last_fingerprint(directory: RunDirectory) -> str:
    """The last one on record, so that it can be told also where the engine is gone."""
    events = [event for event in read_events(directory.events) if event.get("fingerprint")]
    return str(events[-1]["fingerprint"]) if events else ""

"""Start a search, or go on with one: the functions behind the commands and `coevo.api`."""

import hashlib
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import nullcontext
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import coevo.problemkit
from coevo import __version__
from coevo.candidate import Candidate
from coevo.cluster.address import moved
from coevo.content import ProblemFolder
from coevo.errors import ConfigError, RunError
from coevo.learning.paying import CAP_STATUSES
from coevo.records.environment import describe_environment
from coevo.records.event_log import SCHEMA_VERSION, Event, Listener, read_events
from coevo.records.results import check_end, read_result
from coevo.records.run_directory import RunDirectory
from coevo.records.run_kind import SEARCH, check_kind
from coevo.searching.assemble import assembled
from coevo.searching.closing import closing
from coevo.searching.config import SearchConfig, absolute, make_config
from coevo.searching.finish import Findings, Reported, choose_best, report
from coevo.searching.loop import Outcome, Search, evolve
from coevo.searching.result import SearchResult

FINAL = frozenset({"done", "target", "patience", "time", "no-valid-candidate"})


@dataclass(frozen=True, slots=True)
class Run:
    """A run on disk. `result` is None while there is none."""

    path: Path
    config: SearchConfig
    result: SearchResult | None

    def events(self) -> Iterator[Event]:
        """The run's events, in order."""
        return read_events(RunDirectory(self.path).events)


def load_run(path: str | Path) -> Run:
    """Read a run directory without locking it.

    Raises:
        RunError: If it is not that of a search, or was written by another version.
    """
    directory = RunDirectory.open(Path(path))
    config = config_of(directory.path)
    return Run(directory.path, config, read_result(directory.path, SearchResult, "a search"))


def config_of(run: Path) -> SearchConfig:
    """The configuration a run was started with.

    Raises:
        RunError: If `run` is not the run directory of a search, or its configuration does not fit this version.
    """
    check_kind(run, SEARCH)
    try:
        return make_config(RunDirectory.open(run).config())
    except ConfigError as error:
        raise RunError(f"{run / 'config.toml'}: {error}") from error


def run_search(config: SearchConfig, *, runs_dir: Path, listeners: tuple[Listener, ...] = ()) -> SearchResult:
    """Run a search in a new run directory.

    Args:
        config: What to search, with which model, for how long.
        runs_dir: Where the run directory is made.
        listeners: Called with every event.

    Raises:
        CoevoError: If an input cannot be used; nothing has been written then.
        KeyboardInterrupt: With the run's path, after it has been closed; `resume_search` goes on with it.
    """
    config = absolute(config)
    name = f"{Path(config.problem).name}-s{config.seed}"

    def create() -> RunDirectory:
        return RunDirectory.create(runs_dir, name, config.model_dump(mode="json"))

    return _run(config, create, listeners)


def resume_search(
    run: Path,
    *,
    allowance: Mapping[str, float] | None = None,
    ray: str | None = None,
    listeners: tuple[Listener, ...] = (),
) -> SearchResult:
    """Go on with a run that was interrupted, killed or at a cap; the result of a finished run is returned as it is.

    Args:
        run: Its directory.
        allowance: Fields of the allowance that are to be others from now on, such as a higher cap; they are kept in
            the run's configuration.
        ray: Another Ray cluster, or "none" for this machine; kept in the run's configuration as well.
        listeners: Called with every event, recorded ones included.

    Raises:
        RunError: If `run` is not a run directory, is in use, no longer reproduces its own past, or has a
            result and a log that does not end.
        ConfigError: If the allowance does not suit the run, or the cluster cannot be joined.
    """
    loaded = load_run(run)
    values = loaded.config.model_dump()
    values["allowance"] = {**values["allowance"], **(allowance or {})}
    config = moved(make_config(values), ray)
    if loaded.result is not None and loaded.result.status in FINAL:
        check_end(loaded.path)
        return loaded.result
    return _run(config, lambda: RunDirectory(loaded.path), listeners)


def _run(
    config: SearchConfig, open_directory: Callable[[], RunDirectory], listeners: tuple[Listener, ...]
) -> SearchResult:
    started = time.monotonic()
    with assembled(config, open_directory, listeners) as (search, directory):
        directory.save_environment(
            {**describe_environment(), "model": config.model, "fingerprint": _fingerprint(search)}
        )
        if config_of(directory.path) != config:  # the log is open: nobody else writes here
            directory.save_config(config.model_dump(mode="json"))
        try:
            search.log.emit("started", **_opening(search))
            outcome = evolve(search)
            with search.log.ending() if outcome.status in CAP_STATUSES else nullcontext():
                findings = _concluded(search, directory, outcome)
        except KeyboardInterrupt:
            result = SearchResult.model_validate(closing(search, directory, started, "interrupted"))
            directory.save_result(result.model_dump(mode="json"))
            raise KeyboardInterrupt(str(directory.path)) from None
        result = SearchResult.model_validate(
            {
                **closing(search, directory, started, outcome.status),
                "best": findings.best,
                "splits": findings.splits,
                "comparisons": findings.comparisons,
            }
        )
        directory.save_result(result.model_dump(mode="json"))
    return result


def _concluded(search: Search, directory: RunDirectory, outcome: Outcome) -> Findings:
    """Choose the best heuristic, keep it, measure it beside its yardsticks, and record the end."""
    population = outcome.population
    best = choose_best(population, search.examiner, search.problem) if population else None
    if best is not None:
        directory.save_best(best.candidate)
    wanted = Reported(search.config.splits, search.config.compare, search.references)
    findings = report(search.problem, best, search.examiner, wanted)
    for name, means in findings.textbook.items():
        search.log.emit("textbook", name=name, objectives=means)
    search.log.emit("finished", status=outcome.status, best=findings.best.candidate if findings.best else None)
    return findings


def content_hash(problem: ProblemFolder) -> str:
    """Hash of what a verdict and a prompt depend on: a resumed run must find it unchanged.

    That is a problem folder's code, metadata and description, and the code that problem folders share.
    """
    shared = Path(coevo.problemkit.__file__).parent
    files = [*sorted(problem.path.glob("*.py")), problem.path / "problem.toml", problem.path / "description.md"]
    files += sorted(shared.glob("*.py"))
    digest = hashlib.blake2b(digest_size=8)
    for file in files:
        digest.update(hashlib.sha256(file.read_bytes()).digest())
    return digest.hexdigest()


def _fingerprint(search: Search) -> str:
    return f"{search.learner.fingerprint():016x}"


def _opening(search: Search) -> dict[str, Any]:
    """What a run must find unchanged when it is resumed."""
    return {
        "schema_version": SCHEMA_VERSION,
        "version": __version__,
        "problem": search.problem.spec.name,
        "content": content_hash(search.problem),
        "fingerprint": _fingerprint(search),
        "mentor": None if search.mentor is None else f"{search.mentor.fingerprint():016x}",
        "first": search.plan.first,
        "generations": [dict(counts) for counts in search.plan.generations],
        "reference": search.references.get("search"),
        "references": search.references,
        "baselines": {name: Candidate(code).identity for name, code in search.problem.baselines().items()},
    }

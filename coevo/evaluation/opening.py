"""Where the judges of a run are: on this machine, or on the nodes of a cluster."""

from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial

from coevo.content import ProblemFolder
from coevo.evaluation.pool import EvaluationPool


@contextmanager
def open_pool(
    problem: ProblemFolder, *, workers: int, unsafe: bool = False, ray: str | None = None
) -> Iterator[EvaluationPool]:
    """An evaluation pool while the block runs.

    Args:
        problem: The problem folder.
        workers: Judges in all.
        unsafe: Run candidates without bubblewrap.
        ray: Address of the Ray cluster whose nodes judge (`coevo.cluster.address`), or None for this machine.

    Raises:
        CoevoError: If judges cannot be had; see `EvaluationPool`, and `coevo.cluster.connection.Cluster`.
    """
    if ray is None:
        with EvaluationPool(problem, workers=workers, unsafe=unsafe) as pool:
            yield pool
        return
    from coevo.cluster.connection import Cluster
    from coevo.evaluation.remote_judge import Case, RemoteJudge

    with Cluster(ray) as cluster:
        cluster.announce(f"{workers} judge{'s' if workers > 1 else ''}")
        case = Case.of(cluster, problem, unsafe=unsafe)
        with EvaluationPool(problem, workers=workers, open_judge=partial(RemoteJudge, case)) as pool:
            yield pool

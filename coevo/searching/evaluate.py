"""Measure one heuristic file outside any run."""

import os
import time
from pathlib import Path
from typing import Any

from coevo.content import find_problem
from coevo.errors import ContentError
from coevo.evaluation import EvaluationPool
from coevo.searching.assemble import read_heuristic
from coevo.searching.finish import gap, reference_means


def evaluate_file(
    file: Path, problem: str, split: str = "search", *, workers: int | None = None, unsafe: bool = False
) -> dict[str, Any]:
    """Run a heuristic file on a split, in the sandbox.

    Args:
        file: Python source that defines the problem's heuristic.
        problem: Name or path of the problem.
        split: One of the problem's splits.
        workers: Processes; by default one per core.
        unsafe: Run without bubblewrap.

    Returns:
        `problem`, `split`, `sense`, `status`, `detail`, `objective` (mean, own sense), `gap`, `wall_s` and `instances`
        with `name`, `objective` and `status`; values are None where the heuristic failed.

    Raises:
        ContentError: If the file, the problem or the split is not there.
    """
    folder = find_problem(problem)
    if split not in folder.spec.splits:
        raise ContentError(
            f"expected a split among {', '.join(folder.spec.splits)} of {folder.spec.name}, got {split!r}"
        )
    candidate = read_heuristic(file, folder)
    started = time.monotonic()
    with EvaluationPool(
        folder, workers=len(os.sched_getaffinity(0)) if workers is None else workers, unsafe=unsafe
    ) as pool:
        verdict = pool.evaluate(candidate.code, split)
    values = verdict.objectives
    instances = folder.load().instances(split)
    return {
        "problem": folder.spec.name,
        "split": split,
        "sense": folder.spec.sense,
        "status": verdict.status,
        "detail": verdict.detail,
        "objective": verdict.objective,
        "gap": gap(folder, verdict.objective, reference_means(folder, [split]).get(split)),
        "wall_s": round(time.monotonic() - started, 3),
        "instances": [
            {"name": i.name, "objective": values[place] if values else None, "status": verdict.status}
            for place, i in enumerate(instances)
        ],
    }

"""Which tasks of WebArena an agent may learn from: none of the 165 of WebArena-Lite, which are only reported.

Source: Agentic-ESOpt's protocol. The tasks that are left (647 of 812) are interleaved so that every part of the order
has the sites in the same proportions; the first 65 choose the weights, the other 582 are learnt from. The seed is
theirs. How exactly they interleave is not published, so the order is ours, and their fingerprints do not apply.
"""

from collections.abc import Collection, Sequence

import numpy as np

from coevo.errors import ContentError

NUM_VAL = 65
SEED = 20260605


def split_tasks(
    tasks: Sequence[tuple[int, str]], lite: Collection[int], *, num_val: int = NUM_VAL, seed: int = SEED
) -> dict[str, list[int]]:
    """The task ids of train, val and test; a function of the arguments, whatever order they come in.

    Args:
        tasks: Id and site of every task; a task on several sites names them all, which counts as a site of its own.
        lite: Ids of the tasks that are kept for test.
        num_val: How many of the others choose the weights.
        seed: Of the order within each site.

    Returns:
        By split. Test is in the order of the ids. Among the first L of val and train together there are of a site with
        the share p at least p·L − 1/2 − S·p/2 and at most p·L + 1/2 + S·p/2 tasks, S being the number of sites.

    Raises:
        ContentError: If an id is there twice, a Lite task is unknown, or nothing is left to learn from.
    """
    sites = dict(tasks)
    if len(sites) != len(tasks):
        raise ContentError(f"expected every task of WebArena once, got {len(tasks)} with {len(sites)} different ids")
    if unknown := sorted(set(lite) - set(sites)):
        raise ContentError(f"expected the tasks of WebArena-Lite among WebArena's, missing: {unknown[:5]}")
    others = _interleaved({task: site for task, site in sites.items() if task not in set(lite)}, seed)
    if len(others) <= num_val:
        raise ContentError(f"expected more than {num_val} tasks beside WebArena-Lite's, got {len(others)}")
    return {"train": others[num_val:], "val": others[:num_val], "test": sorted(set(lite))}


def _interleaved(sites: dict[int, str], seed: int) -> list[int]:
    """Tasks at even distances per site: the k-th of n tasks of a site stands at (k + 1/2)/n of the way."""
    placed = []
    for number, site in enumerate(sorted(set(sites.values()))):
        own = sorted(task for task in sites if sites[task] == site)
        order = np.random.default_rng([seed, number]).permutation(len(own))
        placed += [((k + 0.5) / len(own), site, own[index]) for k, index in enumerate(order)]
    return [task for _, _, task in sorted(placed)]

"""Processor cores: how many may be used, and how many processes a run would start."""

from coevo.experiments.doctor.finding import Finding, passed, warned

NAME = "processor"


def processor(allowed: int, bound: float | None, workers: int) -> Finding:
    """Cores against workers.

    Args:
        allowed: Cores that this process may be scheduled on.
        bound: Cores that its control groups let it use on average; None without a bound.
        workers: Processes that generate, and as many that evaluate.
    """
    usable = allowed if bound is None else min(float(allowed), bound)
    limit = "" if bound is None or bound >= allowed else f", of which a control group allows the time of {bound:g}"
    found = f"{_cores(allowed)} usable{limit}; {workers} worker{'' if workers == 1 else 's'}"
    if workers > usable:
        return warned(NAME, found, f"pass --workers {max(1, int(usable))}: more of them only wait for each other")
    return passed(NAME, found)


def _cores(number: int) -> str:
    return "1 core" if number == 1 else f"{number} cores"

"""What a run's settings mean, in words for its reader."""

from coevo.experiments.probe_config import ProbeConfig
from coevo.reporting.text import number
from coevo.searching.config import SearchConfig


def reward_in_words(settings: SearchConfig) -> str:
    """What a child earns under a run's reward rule (`coevo.searching.rewards`), in sentences."""
    return " ".join((_valid(settings), *_copies(settings), _INVALID))


_INVALID = "An invalid child earns less than every valid one of its batch; a batch without any has no reward."


def _valid(settings: SearchConfig) -> str:
    has_parents = settings.method != "sample"
    if settings.reward == "cost":
        return "A valid child earns minus its cost."
    if settings.reward == "rank":
        what = "the cost of the better of its parents minus its own" if has_parents else "minus its cost"
        return f"A valid child earns its rank in its batch, from −½ to ½, by {what}."
    return (
        "A valid child earns the cost of the better of its parents minus its own, but never less than that parent's "
        "cost minus the worst in the population."
    )


def _copies(settings: SearchConfig) -> tuple[str, ...]:
    """Without parents there is nothing to copy, and where cost alone counts a copy earns what its parent would."""
    if settings.method == "sample":
        return ()
    if settings.copies == "invalid":
        return ("A copy of a parent earns as little as an invalid child.",)
    if settings.reward == "cost":
        return ()
    return ("A copy of a parent counts as a difference of 0.",)


def probe_reward_in_words(settings: ProbeConfig, scale: float | None) -> str:
    """What a child earns in a probe (`coevo.experiments.probe_rewards`), and what its members were told.

    Args:
        settings: Of the probe.
        scale: Spread of the parents' costs; None while it is not known.
    """
    spread = (
        "the spread of the parents' costs" if scale is None else f"the spread of the parents' costs, {number(scale)}"
    )
    sentences = [
        f"A valid child earns its parent's cost minus its own, divided by {spread}, and clipped to [−1, 1]; a copy of "
        "its parent earns 0 and an invalid child −1."
    ]
    if settings.rewards == "random":
        sentences.append("Members were told seeded noise in place of what their children earned: a control.")
    if not settings.learns:
        sentences.append("Members were perturbed and nothing else happened, the weights stayed: a control.")
    return " ".join(sentences)

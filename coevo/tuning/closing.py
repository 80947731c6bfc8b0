"""What a tuning run's own events say at its end: every number of a result is gathered from them."""

from typing import Any

from coevo.records.event_log import read_events
from coevo.records.run_directory import RunDirectory
from coevo.tuning.config import TuneConfig
from coevo.tuning.tally import tally_of


def closing(directory: RunDirectory, config: TuneConfig, val: str) -> dict[str, Any]:
    """The part of a result that an interrupted run has too."""
    tally = tally_of(read_events(directory.events))
    best, chosen = None, {}
    if tally.chosen is not None:
        best = {key: tally.chosen[key] for key in ("generation", "mean", "fingerprint")}
        chosen = {val: tally.by_generation[tally.chosen["generation"]][val], **tally.chosen_splits}
    spent = {name: tally.spent[name] for name in ("episodes", "turns", "tokens", "measuring", "skill")}
    return {
        "best": best,
        "generations": tally.generations,
        "start": tally.by_generation.get(0, {}),
        "chosen": chosen,
        "spent": {**spent, "planned": config.episodes},
        "dropped": tally.dropped,
        "fingerprint": tally.fingerprint,
    }

"""Make the times that `scheduling.py` simulates with, from a run directory.

    python tests/benchmarks/record_times.py RUN

Of each completion its operator, the tokens of its parents together, its own, and the CPU seconds of its evaluation if
there was one.
"""

import argparse
import json
from pathlib import Path

from coevo.records.event_log import read_events
from coevo.searching.api import config_of

RECORDED = Path(__file__).parent / "recorded_times.json"


def record(run: Path, out: Path) -> None:
    """Write the recorded times of a run."""
    events = list(read_events(run / "events.jsonl"))
    answers = {event["id"]: event for event in events if event["kind"] == "completion"}
    seconds = {
        event["candidate"]: event["clock"]["cpu_s"]
        for event in events
        if event["kind"] == "verdict" and event["split"] == "search" and event["role"] == "candidate"
    }
    tokens: dict[str, int] = {}
    rows = []
    for child in (event for event in events if event["kind"] == "child"):
        name, own = child["candidate"], answers[child["id"]]["tokens"]
        is_new = name is not None and name not in tokens
        parents = sum(tokens.get(parent, 0) for parent in child["parents"])
        rows.append([child["operator"], parents, own, round(seconds[name], 4) if is_new else None])
        if is_new:
            tokens[name] = own
    config = config_of(run)
    environment = json.loads((run / "environment.json").read_text())
    made = {
        "command": f"coevo search --problem {config.problem} --budget {config.budget} --seed {config.seed} --workers "
        f"{config.workers}",
        "environment": {key: environment[key] for key in ("python", "processor", "packages", "commit")},
        "columns": ["operator", "tokens of its parents", "tokens", "CPU seconds of its evaluation, or null"],
    }
    lines = ",\n".join(f"  {json.dumps(row)}" for row in rows)
    out.write_text(json.dumps(made, indent=1)[:-2] + f',\n "completions": [\n{lines}\n ]\n}}\n')


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("run", type=Path, metavar="RUN")
    record(parser.parse_args().run, RECORDED)

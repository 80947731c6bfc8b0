"""`table.md` and `table.csv`: a grid's results for readers and for programs, made from rows alone.

The means stand in the published form (arXiv:2608.17310, tables 5 and 14): arms below one another, test sets beside one
another, and below each pair the gap gain.
"""

import csv
import io
import statistics
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from pydantic import BaseModel, ConfigDict

from coevo.experiments.cells import Layout
from coevo.experiments.results import Result, overall
from coevo.experiments.rows import Row, written
from coevo.experiments.statistics import LEVEL, RESAMPLES, SEED, TIE

ARROWS = {"min": "↓", "max": "↑"}
NONE = "–"


class Provenance(BaseModel):
    """Where a grid's numbers come from.

    `environments` are what its cells ran on, each with the number of its cells.
    """

    model_config = ConfigDict(frozen=True, extra="forbid", use_attribute_docstrings=True)

    command: str
    model: str | None = None
    """The model given on the command line, if one was."""
    jobs: int
    """Cells that ran at a time."""
    environments: tuple[Mapping[str, Any], ...]


def table_csv(results: Sequence[Result]) -> str:
    """Every comparison on every split, exact; positive differences favour the arm."""
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    head = "equal problem budget split sense arm baseline seeds pairs mean_arm mean_baseline gap_arm gap_baseline"
    tail = "difference sd low high wins ties losses sign_test_p gap_gain outcome"
    writer.writerow([*head.split(), *tail.split()])
    for result in results:
        where, found = result.comparison, result.paired
        values = [
            where.at, where.problem, where.budget, result.split, "min" if result.sign > 0 else "max", where.arm,
            where.baseline, result.seeds, found.count, result.mean_arm, result.mean_baseline, result.gap_arm,
            result.gap_baseline, found.mean, found.sd, found.low, found.high, found.wins, found.ties, found.losses,
            found.p, result.gap_gain, result.outcome,
        ]  # fmt: skip
        writer.writerow([written(value) for value in values])
    return out.getvalue()


def page(layout: Layout, rows: Sequence[Row], results: Sequence[Result], provenance: Provenance) -> str:
    """The Markdown page of a grid."""
    sections = [
        [f"# {layout.grid.title}"],
        _origin(layout, provenance),
        _attention(rows),
        *(_means(layout, rows, results, budget) for budget in _budgets(rows)),
        _differences(results),
        _overall(results),
        _costs(rows),
    ]
    return "\n\n".join("\n".join(lines) for lines in sections if lines) + "\n"


def _origin(layout: Layout, provenance: Provenance) -> list[str]:
    grid = layout.grid
    seeds = ", ".join(map(str, grid.seeds))
    lines = [f"Command: `{provenance.command}`; seeds {seeds}; {provenance.jobs} cells at a time.", ""]
    for environment in provenance.environments:
        packages = environment.get("packages", {})
        versions = ", ".join(f"{name} {packages[name]}" for name in ("torch", "numpy", "numba") if packages.get(name))
        lines.append(
            f"- {environment['cells']} cells: coevo {packages.get('coevo')} at {environment.get('commit')}; Python "
            f"{environment.get('python')}, {versions}; {environment.get('cores')} cores, {environment.get('processor')}"
        )
    return [
        *lines,
        "",
        "Every number follows from `cells.csv`, whose rows follow from the runs' events: `coevo bench GRID --check`.",
    ]


def _attention(rows: Sequence[Row]) -> list[str]:
    """What keeps the tables from being whole."""
    lines = [f"- {row.cell}: {row.state}{': ' * bool(row.detail)}{row.detail}" for row in rows if row.state != "done"]
    empty = [row.cell for row in rows if row.state == "done" and None in (row.objectives or {"": None}).values()]
    lines += [f"- {cell}: no value on some split" for cell in empty]
    return ["**Cells without numbers.** They are left out of all means.", "", *lines] if lines else []


def _budgets(rows: Sequence[Row]) -> list[int]:
    return list(dict.fromkeys(row.budget for row in rows))


def _means(layout: Layout, rows: Sequence[Row], results: Sequence[Result], budget: int) -> list[str]:
    """The published form at one budget: the mean of each arm, and the gap gain of each pair at equal completions."""
    own = [row for row in rows if row.budget == budget]
    columns = [(p, s) for p in dict.fromkeys(row.problem for row in own) for s in layout.splits[p]]
    arms = list(dict.fromkeys(row.arm for row in own))
    heads = [f"{problem} {split} {ARROWS[layout.senses[problem]]}" for problem, split in columns]
    body = [[arm, *(_mean_cell(own, arm, column) for column in columns)] for arm in arms]
    for arm, baseline, at in dict.fromkeys(
        (r.comparison.arm, r.comparison.baseline, r.comparison.at) for r in results if r.comparison.budget == budget
    ):
        gains = {
            (r.comparison.problem, r.split): r.gap_gain
            for r in results
            if r.comparison.budget == budget
            and (r.comparison.arm, r.comparison.baseline, r.comparison.at) == (arm, baseline, at)
        }
        body.append([f"Δ {arm} : {baseline}", *(_percent(gains.get(column), signed=True) for column in columns)])
    return [
        f"## Budget {budget}",
        "",
        "Mean objective ± standard deviation over seeds, gap to the best known or bound in brackets. "
        "Δ: mean gap of the second / mean gap of the first − 1, so that more than 0 favours the first.",
        "",
        *_markdown(["arm", *heads], body),
    ]


def _mean_cell(rows: Sequence[Row], arm: str, column: tuple[str, str]) -> str:
    problem, split = column
    own = [row for row in rows if (row.arm, row.problem, row.state) == (arm, problem, "done")]
    values = [value for row in own if (value := row.objectives.get(split)) is not None]
    gaps = [value for row in own if (value := row.gaps.get(split)) is not None]
    if not values:
        return NONE
    spread = f" ± {statistics.stdev(values):.2g}" if len(values) > 1 else ""
    gap = f" ({_percent(statistics.fmean(gaps))})" if len(gaps) == len(values) else ""
    return f"{statistics.fmean(values):.6g}{spread}{gap}"


def _differences(results: Sequence[Result]) -> list[str]:
    lines = [
        "## Differences, paired by seed",
        "",
        f"Positive favours the arm. {100 * LEVEL:.0f} % interval of the mean: expanded percentile bootstrap, "
        f"{RESAMPLES} resamples, seed {SEED}. On normal data it holds the true mean as often as it says from ten pairs "
        "on, in about 93 % of cases with five and 75 % with three. W/T/L counts seeds; a tie differs by at most "
        f"{TIE:g} of the value; a side without a value loses. p: exact two-sided sign test.",
        "",
    ]
    head = ["equal", "problem", "budget", "split", "arm", "baseline", "pairs", "difference", "interval", "W/T/L", "p"]
    return lines + _markdown(head, [_difference(result) for result in results])


def _difference(result: Result) -> list[str]:
    where, found = result.comparison, result.paired
    interval = NONE if found.low is None else f"[{found.low:+.4g}, {found.high:+.4g}]"
    return [
        where.at, where.problem, str(where.budget), result.split, where.arm, where.baseline,
        f"{found.count} of {result.seeds}", NONE if found.mean is None else f"{found.mean:+.4g}", interval,
        f"{found.wins}/{found.ties}/{found.losses}", f"{found.p:.3g}",
    ]  # fmt: skip


def _overall(results: Sequence[Result]) -> list[str]:
    body = [
        [each.at, each.arm, each.baseline, f"{each.wins}/{each.ties}/{each.losses}", f"{each.p:.3g}"]
        for each in overall(results)
    ]
    return [
        "## Overall",
        "",
        "Wins, ties and losses of the means over problems, budgets and splits. The sign test takes them as independent "
        "of each other, which the splits of one run are not: read its p as too small.",
        "",
        *_markdown(["equal", "arm", "baseline", "W/T/L", "p"], body),
    ]


def _costs(rows: Sequence[Row]) -> list[str]:
    """Means per cell of each arm, on each problem and budget."""
    groups = dict.fromkeys((row.problem, row.budget, row.arm) for row in rows)
    head = ["problem", "budget", "arm", "cells", "operator", "on top", "skill", "valid", "tokens", "wall s"]
    body = [list(_cost(rows, *group)) for group in groups]
    return [
        "## Costs",
        "",
        "Means per cell. Completions by meter; share of valid children; seconds from the first to the last event of a "
        "run without pauses, under the load of the cells beside it; CPU seconds of the evaluator, on the search split "
        "and in all.",
        "",
        *_markdown([*head, "evaluator s, search", "evaluator s"], body),
    ]


def _cost(rows: Sequence[Row], problem: str, budget: int, arm: str) -> Iterator[str]:
    done = [row for row in rows if (row.problem, row.budget, row.arm, row.state) == (problem, budget, arm, "done")]
    yield from (problem, str(budget), arm, str(len(done)))
    yield from (_average([getattr(row, meter) for row in done]) for meter in ("operator", "on_top", "skill"))
    children = sum(row.children or 0 for row in done)
    yield _percent(sum(row.valid or 0 for row in done) / children if children else None)
    for name in ("tokens", "wall_s", "evaluator_search_s", "evaluator_s"):
        yield _average([getattr(row, name) for row in done])


def _average(values: Sequence[float | None]) -> str:
    known = [value for value in values if value is not None]
    return f"{statistics.fmean(known):,.1f}".removesuffix(".0") if known else NONE


def _percent(fraction: float | None, *, signed: bool = False) -> str:
    if fraction is None:
        return NONE
    # Adding zero turns the negative zero that rounding can leave into the positive one.
    return f"{round(100 * fraction, 2) + 0:{'+' * signed}.2f} %"


def _markdown(head: Sequence[str], body: Sequence[Sequence[str]]) -> list[str]:
    """A table; a bar inside a cell would end it."""
    rows = [head, ["---"] * len(head), *body]
    return [f"| {' | '.join(cell.replace('|', chr(92) + '|') for cell in row)} |" for row in rows]

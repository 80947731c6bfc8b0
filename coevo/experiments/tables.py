"""`table.md` and `table.csv`: a grid's results for readers and for programs, made from rows alone.

The means stand in the published form (arXiv:2608.17310, tables 5 and 14): arms below one another, test sets beside one
another, and below each pair the gap gain.
"""

import csv
import io
import re
import statistics
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from pydantic import BaseModel, ConfigDict, field_validator

from coevo.errors import escaped
from coevo.experiments.cells import Layout
from coevo.experiments.results import Result, mean_of, overall, row_for
from coevo.experiments.rows import Row, written
from coevo.experiments.statistics import LEVEL, RESAMPLES, SEED, TIE, sign_test

ARROWS = {"min": "↓", "max": "↑"}
NONE = "–"
_MARKUP = re.compile(r"[\\`*_~$|#\[\]]")
_ENTITIES = str.maketrans({"&": "&amp;", "<": "&lt;", ">": "&gt;"})


class Provenance(BaseModel):
    """Where a grid's numbers come from.

    `environments` are what its cells ran on, each with the number of its cells.
    """

    model_config = ConfigDict(frozen=True, extra="forbid", use_attribute_docstrings=True)

    command: str
    """The last call; cells that were done before it were kept, if they are what it asks for."""
    model: str | None = None
    """The model given on the command line, if one was."""
    environments: tuple[Mapping[str, Any], ...]

    @field_validator("environments")
    @classmethod
    def _can_be_told(cls, environments: tuple[Mapping[str, Any], ...]) -> tuple[Mapping[str, Any], ...]:
        for each in environments:
            if type(each.get("cells")) is not int or not isinstance(each.get("packages", {}), dict):
                raise ValueError("expected the number of cells and a table of packages in each")
        return environments


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
    """The Markdown page of a grid; `rows` are of its cells only."""
    sections = [
        [f"# {plain(layout.grid.title)}"],
        _origin(layout, provenance),
        _attention(layout, rows),
        *(_means(layout, rows, results, budget) for budget in dict.fromkeys(cell.budget for cell in layout.cells)),
        _differences(layout, results),
        _overall(results),
        _costs(rows),
    ]
    return "\n\n".join("\n".join(lines) for lines in sections if lines) + "\n"


def plain(text: object) -> str:
    """Foreign text on one line, without what Markdown or HTML would take for more than words."""
    return _MARKUP.sub(r"\\\g<0>", escaped(str(text))).translate(_ENTITIES)


def _origin(layout: Layout, provenance: Provenance) -> list[str]:
    seeds = ", ".join(map(str, layout.grid.seeds))
    lines = [f"Command: {_code(provenance.command)}; seeds {seeds}.", ""]
    for environment in provenance.environments:
        packages = environment.get("packages", {})
        versions = ", ".join(f"{name} {packages[name]}" for name in ("torch", "numpy", "numba") if packages.get(name))
        said = (
            f"coevo {packages.get('coevo')} at {environment.get('commit')}; Python "
            f"{environment.get('python')}, {versions}; {environment.get('cores')} cores, {environment.get('processor')}"
        )
        lines.append(f"- {environment['cells']} cells: {plain(said)}")
    return [
        *lines,
        "",
        "Every number follows from `cells.csv`, whose rows follow from the runs' events: `coevo bench GRID --check`.",
    ]


def _attention(layout: Layout, rows: Sequence[Row]) -> list[str]:
    """What keeps the tables from being whole."""
    lines = [f"- {row.cell}: {row.state}{': ' * bool(row.detail)}{plain(row.detail)}" for row in rows
             if row.state != "done"]  # fmt: skip
    for row in rows:
        empty = [split for split in layout.splits[row.problem] if row.objectives.get(split) is None]
        if row.state == "done" and empty:
            lines.append(f"- {row.cell}: no value on {', '.join(map(plain, empty))}")
    if not lines:
        return []
    return [
        "**Cells without numbers.** One that is not done is left out, with the cell it is paired with. One that is "
        "done and has no value loses its pair, and its arm the comparison.",
        "",
        *lines,
    ]


def _means(layout: Layout, rows: Sequence[Row], results: Sequence[Result], budget: int) -> list[str]:
    """The published form at one budget: the mean of each arm, and the gap gain of each pair at equal completions."""
    cells = [cell for cell in layout.cells if cell.budget == budget]
    columns = [(p, s) for p in dict.fromkeys(cell.problem for cell in cells) for s in layout.splits[p]]
    heads = [f"{problem} {plain(split)} {ARROWS[layout.senses[problem]]}" for problem, split in columns]
    by_key = {row.key: row for row in rows}
    body = []
    for arm in dict.fromkeys(cell.arm for cell in cells):
        found = {p: [row_for(by_key, p, budget, arm, seed) for seed in layout.grid.seeds] for p, _ in columns}
        body.append([arm, *(_mean_cell(found[problem], split) for problem, split in columns)])
    own = [each for each in results if each.comparison.budget == budget]
    for pair in dict.fromkeys((each.comparison.arm, each.comparison.baseline) for each in own):
        gains = {(r.comparison.problem, r.split): r for r in own if (r.comparison.arm, r.comparison.baseline) == pair}
        body.append([f"Δ {pair[0]} : {pair[1]}", *(_gain_cell(layout, gains.get(column)) for column in columns)])
    return [
        f"## Budget {budget}",
        "",
        "Mean objective ± standard deviation over seeds, gap to the best known or bound in brackets. "
        "Δ: mean gap of the second / mean gap of the first − 1, so that more than 0 favours the first; none where a "
        "side has no value with some seed. Where not all seeds count, it says how many do: in the row of an arm those "
        "with which it has a value, in a row of Δ those with which both cells are done.",
        "",
        *_markdown(["arm", *heads], body),
    ]


def _mean_cell(rows: Sequence[Row | None], split: str) -> str:
    own = [row for row in rows if row is not None and row.state == "done" and row.objectives.get(split) is not None]
    values = [value for row in own if (value := row.objectives.get(split)) is not None]
    if not values:
        return NONE
    gap = mean_of([row.gaps.get(split) for row in own])
    spread = f" ± {statistics.stdev(values):.2g}" if len(values) > 1 else ""
    shown = f"{statistics.fmean(values):.6g}{spread}{'' if gap is None else f' ({_percent(gap)})'}"
    return shown + _share(len(values), len(rows))


def _gain_cell(layout: Layout, result: Result | None) -> str:
    if result is None or result.gap_gain is None:
        return NONE
    return _percent(result.gap_gain, signed=True) + _share(result.seeds, len(layout.grid.seeds))


def _share(count: int, of: int) -> str:
    """How many seeds a number rests on, where these are not all."""
    return "" if count == of else f", {count} of {of} seeds"


def _differences(layout: Layout, results: Sequence[Result]) -> list[str]:
    seeds = len(layout.grid.seeds)
    lines = [
        "## Differences, paired by seed",
        "",
        f"Positive favours the arm. {100 * LEVEL:.0f} % interval of the mean: expanded percentile bootstrap, "
        f"{RESAMPLES} resamples, seed {SEED}. On normal data it holds the true mean as often as it says from ten pairs "
        "on, in about 93 % of cases with five and 75 % with three. W/T/L counts seeds; a tie differs by at most "
        f"{TIE:g} of the value; a side without a value loses. p: exact two-sided sign test, with {seeds} "
        f"seed{'s' * (seeds > 1)} never less than {sign_test(seeds, 0):.3g}; not corrected for the number of "
        "comparisons.",
        "",
    ]
    head = ["equal", "problem", "budget", "split", "arm", "baseline", "pairs", "difference", "interval", "W/T/L", "p"]
    return lines + _markdown(head, [_difference(result) for result in results])


def _difference(result: Result) -> list[str]:
    where, found = result.comparison, result.paired
    interval = NONE if found.low is None else f"[{found.low:+.4g}, {found.high:+.4g}]"
    return [
        where.at, where.problem, str(where.budget), plain(result.split), where.arm, where.baseline,
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
        "Wins, ties and losses of the means over problems, budgets and splits. A side that has no value with some seed "
        "loses; where neither has all its values, whoever wins more seeds wins. The sign test takes them as "
        "independent of each other, which the splits of one run are not: read its p as too small.",
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
        "run without pauses, under the load of what ran beside it; CPU seconds of the evaluator, on the search split "
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


def _code(text: str) -> str:
    """Text as it is typed; a fence longer than any in it keeps it whole."""
    shown = escaped(text)
    fence = "`" * (max(map(len, re.findall("`+", shown)), default=0) + 1)
    return f"{fence}{shown}{fence}" if fence == "`" else f"{fence} {shown} {fence}"


def _markdown(head: Sequence[str], body: Sequence[Sequence[str]]) -> list[str]:
    """A table; every cell is words of this module, a name that cannot hold a bar, or `plain`."""
    return [f"| {' | '.join(row)} |" for row in [head, ["---"] * len(head), *body]]

"""What makes ES pay: arms × problems × seeds of `coevo probe`, the seed being the unit.

    OMP_NUM_THREADS=1 python tests/benchmarks/es_signal.py --problems tsp kp --seeds 0 1 2 3 4 --jobs 2

A seed has its own parents, prompts, sampling seeds and noise; all arms of a seed share the parents, the prompts of the
measurements and their sampling seeds, and ask for the same number of training completions. What is compared is the mean
reward of the unperturbed model after training with that of the frozen model of the same problem and seed, on the same
completions: on trained parents, on held-out parents, and on both with fresh sampling seeds.

Writes OUT.csv, one row per probe, as each is done (a row that is there is not made again, so the study can be stopped
and started), and OUT.md. Guided arms read `guided-<k>.basis` and `random-<k>.basis` in --bases; arms whose
file is missing are left out and named. Verdicts on candidates, and answers of the base model, are shared between the
probes of a process, which changes no number.
"""

import argparse
import csv
import hashlib
import importlib.util
import json
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, nullcontext
from dataclasses import asdict, dataclass, field, fields, replace
from pathlib import Path
from threading import Lock
from typing import Any

from coevo.content import find_problem
from coevo.engines.loading import EMBEDDED, resolve_model
from coevo.evaluation import EvaluationPool
from coevo.experiments.probe_assembly import Tools
from coevo.experiments.probe_config import make_probe_config
from coevo.experiments.probe_result import ProbeResult
from coevo.experiments.probe_running import run_probe
from coevo.experiments.statistics import paired
from coevo.learning.models import OpenModel
from coevo.records.environment import describe_environment
from coevo.searching.models import start_model

FROZEN = "frozen"


@dataclass(frozen=True)
class Arm:
    """One setting of the probe.

    Attributes:
        strategy: Fields of the evolution strategy.
        values: Other fields of `ProbeConfig`.
        basis: Name of a basis file, without its suffix; the scope is "guided" then.
        rate: Learning rate of backpropagation in the place of evolution strategies.
        learner: What backpropagation follows: a class of `grpo.py`.
    """

    strategy: dict[str, Any] = field(default_factory=dict)
    values: dict[str, Any] = field(default_factory=dict)
    basis: str = ""
    rate: float | None = None
    learner: str = "PolicyGradient"


def full(sigma: float, alpha: float, **strategy: Any) -> Arm:
    """All weights, dense noise."""
    return Arm({"sigma": sigma, "alpha": alpha, **strategy})


def guided(basis: str, sigma: float, ratio: float, **values: Any) -> Arm:
    """The span of a basis, antithetic, α a multiple of σ."""
    return Arm({"sigma": sigma, "alpha": ratio * sigma, "antithetic": True}, values, basis)


COPES = {"sigma": 3e-3, "alpha": 3e-3, "members": 40, "children": 2}
"""Forty members, so that eight subspaces have five each; half as many children keep the completions."""

ARMS: dict[str, Arm] = {
    FROZEN: Arm(values={"steps": 0}),
    "full .003/.003": full(3e-3, 3e-3),
    "full .01/.005": full(1e-2, 5e-3),
    "CoPES K=1": Arm(COPES),
    "CoPES K=2 joint": Arm({**COPES, "subspaces": 2}),
    "CoPES K=4 joint": Arm({**COPES, "subspaces": 4}),
    "CoPES K=8 joint": Arm({**COPES, "subspaces": 8}),
    "CoPES K=2 separate": Arm({**COPES, "subspaces": 2, "z_scores": "separate"}),
    "CoPES K=4 separate": Arm({**COPES, "subspaces": 4, "z_scores": "separate"}),
    "CoPES K=8 separate": Arm({**COPES, "subspaces": 8, "z_scores": "separate"}),
    "guided 48 1e-4/3": guided("guided-48", 1e-4, 3),
    "guided 48 1.5e-4/2": guided("guided-48", 1.5e-4, 2),
    "guided 48 1.5e-4/3": guided("guided-48", 1.5e-4, 3),
    "guided 48 3e-4/1": guided("guided-48", 3e-4, 1),
    "guided 48 3e-4/3": guided("guided-48", 3e-4, 3),
    "guided 48 6e-4/.5": guided("guided-48", 6e-4, 0.5),
    "guided 48 6e-4/1.5": guided("guided-48", 6e-4, 1.5),
    "guided 48 6e-4/3": guided("guided-48", 6e-4, 3),
    "guided 48 1e-3/1": guided("guided-48", 1e-3, 1),
    "guided 48 1e-3/2": guided("guided-48", 1e-3, 2),
    "guided 48 6e-4/3 random rewards": guided("guided-48", 6e-4, 3, rewards="random"),
    "random basis 48 6e-4/3": guided("random-48", 6e-4, 3),
    "guided 32 6e-4/3": guided("guided-32", 6e-4, 3),
    "guided 16 6e-4/3": guided("guided-16", 6e-4, 3),
    "guided 48 1e-4/3 random rewards": guided("guided-48", 1e-4, 3, rewards="random"),
    "random basis 48 1e-4/3": guided("random-48", 1e-4, 3),
    "GRPO 3e-4": Arm(rate=3e-4),
    "GRPO in the span .02": Arm(basis="guided-48", rate=2e-2, learner="GradientInSpan"),
    "GRPO in the span .06": Arm(basis="guided-48", rate=6e-2, learner="GradientInSpan"),
    "corpus 3e-4": Arm(rate=3e-4, learner="ContinuedTraining"),
}
"""The study. Every arm but the frozen one spends steps × 80 completions on training."""


@dataclass(frozen=True)
class Row:
    """One probe: mean rewards of the unperturbed model (maximised), and what happened on the way."""

    problem: str
    model: str
    arm: str
    seed: int
    before_trained: float
    before_held_out: float
    after_trained: float
    after_held_out: float
    fresh_trained: float
    fresh_held_out: float
    error_trained: float
    valid_before: float
    valid_after: float
    improved_before: float
    improved_after: float
    member_valid: float | None
    refused: int
    completions: int
    fingerprint: str

    @property
    def key(self) -> tuple[str, str, str, int]:
        """What a row is of."""
        return self.problem, self.model, self.arm, self.seed


class RememberingEngine:
    """Keeps the base model's answers, by the fingerprint of its weights: every probe of a seed measures it first."""

    def __init__(self, engine: Any, memory: dict[tuple[Any, ...], Any]) -> None:
        self._engine, self._memory = engine, memory
        self.commit, self.fingerprint = engine.commit, engine.fingerprint
        self.export, self.close = engine.export, engine.close

    def generate(self, requests: Any) -> Iterator[Any]:
        """See `Engine`."""
        base = self._engine.fingerprint() if any(request.member is None for request in requests) else 0
        keys = {r.id: (base, r.text, r.seed, r.sampling) for r in requests if r.member is None}
        for name, key in keys.items():
            if key in self._memory:
                yield replace(self._memory[key], request_id=name)
        left = [r for r in requests if keys.get(r.id) not in self._memory]
        for completion in self._engine.generate(left) if left else ():
            if completion.request_id in keys:
                self._memory[keys[completion.request_id]] = completion
            yield completion


class Study:
    """What the probes of one process share."""

    def __init__(self, options: argparse.Namespace, stack: ExitStack) -> None:
        self.options = options
        self.model = identity_of(options.model)
        self._memory: dict[tuple[Any, ...], Any] = {}
        self._pools = {
            problem: stack.enter_context(EvaluationPool(find_problem(problem), workers=options.jobs))
            for problem in options.problems
        }

    def row_of(self, problem: str, name: str, seed: int) -> Row:
        """Run one probe."""
        arm, options = ARMS[name], self.options
        values: dict[str, Any] = {
            "problem": problem,
            "model": options.model,
            "steps": options.steps,
            "evaluations": options.evaluations,
            "seed": seed,
            "workers": 1,
            "evolution_strategy": arm.strategy,
            **arm.values,
        }
        if arm.basis:
            values["weights"] = {"scope": "guided", "basis": str(file_of(arm, options.bases))}

        def pool(config: Any, problem: Any) -> Any:
            return nullcontext(self._pools[problem.spec.name])

        if arm.rate is not None:
            module = grpo()
            learner = getattr(module, arm.learner)
            result = module.run(values, options.runs_dir, arm.rate, learner, pool)
        else:
            tools = Tools(model=self._start, pool=pool)
            result = run_probe(make_probe_config(values), runs_dir=options.runs_dir, tools=tools)
        return shown(result, self.model, name, seed)

    def _start(self, config: Any, problem: Any) -> OpenModel:
        found = start_model(config, problem)
        return replace(found, engine=RememberingEngine(found.engine, self._memory))


def grpo() -> Any:
    """The module beside this one."""
    spec = importlib.util.spec_from_file_location("grpo", Path(__file__).with_name("grpo.py"))
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def identity_of(model: str) -> str:
    """Name and hash of a model's weights: rows of other weights are other rows."""
    folder = resolve_model(model)
    digest = hashlib.sha256(b"".join(file.read_bytes() for file in sorted(folder.glob("model*.safetensors"))))
    name = model if model == EMBEDDED else folder.name
    return f"{name}@{digest.hexdigest()[:8]}"


def file_of(arm: Arm, bases: Path) -> Path:
    """The basis file of a guided arm."""
    return bases / f"{arm.basis}.basis"


def shown(result: ProbeResult, model: str, arm: str, seed: int) -> Row:
    """Every number of a row is one of the probe's result."""
    found = {(m.when, m.parents): m for m in result.measurements}
    rewards = {
        f"{when}_{parents}": found[when, parents].reward
        for when in ("before", "after", "fresh")
        for parents in ("trained", "held_out")
    }
    before, after = found["before", "trained"], found["after", "trained"]
    members = result.member_valid
    return Row(
        result.problem, model, arm, seed, **rewards, error_trained=after.standard_error,
        valid_before=before.valid, valid_after=after.valid, improved_before=before.improved,
        improved_after=after.improved, member_valid=sum(members) / len(members) if members else None,
        refused=result.refused, completions=result.budget.training, fingerprint=result.fingerprint,
    )  # fmt: skip


def read_rows(file: Path) -> list[Row]:
    """The rows that are there."""
    if not file.exists():
        return []
    with file.open(newline="") as lines:
        return [Row(**{f.name: _read(f.type, row[f.name]) for f in fields(Row)}) for row in csv.DictReader(lines)]


def _read(kind: Any, text: str) -> Any:
    return None if text == "" else kind(text) if kind in (int, str) else float(text)


def append(file: Path, row: Row) -> None:
    """Write one row at the end, the heading before the first."""
    file.parent.mkdir(parents=True, exist_ok=True)
    is_new = not file.exists()
    with file.open("a", newline="") as lines:
        writer = csv.DictWriter(lines, asdict(row).keys(), lineterminator="\n")
        if is_new:
            writer.writeheader()
        writer.writerow(asdict(row))


COLUMNS = ("after_trained", "after_held_out", "fresh_trained", "fresh_held_out")


def table(rows: list[Row], problem: str) -> list[str]:
    """One problem: each arm's reward, and its difference to the frozen model of the same seed."""
    base = {row.seed: row for row in rows if row.arm == FROZEN}
    lines = [
        "| arm | seeds | " + " | ".join(name.replace("_", " ", 1).replace("_", "-") for name in COLUMNS) + " | valid |",
        "| --- | ---: |" + " ---: |" * (len(COLUMNS) + 1),
    ]
    for arm in ARMS:
        own = sorted((row for row in rows if row.arm == arm and row.seed in base), key=lambda row: row.seed)
        if not own:
            continue
        cells = [arm, str(len(own))]
        for column in COLUMNS:
            values, before = ([getattr(row, column) for row in these] for these in (own, [base[r.seed] for r in own]))
            cells.append(cell(values, before, is_base=arm == FROZEN))
        cells.append(f"{sum(row.valid_after for row in own) / len(own):.2f}")
        lines.append("| " + " | ".join(cells) + " |")
    return [f"## {problem}", "", *lines, ""]


def cell(values: list[float], base: list[float], *, is_base: bool) -> str:
    """Mean reward of the frozen model; of any other arm the difference to it, its interval, wins and losses."""
    if is_base:
        return f"{sum(values) / len(values):+.3f}"
    found = paired(values, base, sign=-1.0)
    interval = "" if found.low is None else f" [{found.low:+.3f}, {found.high:+.3f}]"
    return f"{found.mean:+.3f}{interval} {found.wins}:{found.losses}"


def page(rows: list[Row], options: argparse.Namespace, model: str) -> str:
    """The Markdown page."""
    environment = describe_environment()
    rows = [row for row in rows if row.model == model]
    lines = [
        "# What makes ES pay: probes on fixed parents",
        "",
        f"Command: `python tests/benchmarks/es_signal.py --problems {' '.join(options.problems)} --seeds "
        f"{' '.join(map(str, options.seeds))} --steps {options.steps} --evaluations {options.evaluations}`; "
        f"model {model}; coevo {environment['packages']['coevo']} at {environment['commit']}; "
        f"torch {environment['packages']['torch']}, numpy {environment['packages']['numpy']}; "
        f"{environment['processor']}.",
        "",
        "The frozen arm's cells are mean rewards of the unperturbed model. All others are mean differences to the "
        "frozen model of the same seed on the same completions, with a 95 % interval over seeds (expanded bootstrap, "
        "`coevo/experiments/statistics.py`) and wins : losses. A reward is (parent cost − child cost) over the range "
        "of the parents' costs, clipped to [−1, 1], −1 for an invalid child. Columns: the sampling seeds of the "
        "measurement before training, on trained and held-out parents; then fresh sampling seeds, likewise. `valid`: "
        "share of valid children of trained parents after training.",
        "",
    ]
    for problem in options.problems:
        lines += table([row for row in rows if row.problem == problem], problem)
    return "\n".join(lines)


def wanted(options: argparse.Namespace, model: str, there: list[Row]) -> list[tuple[str, str, int]]:
    """The probes still to be made, seed by seed, so that drift of the machine falls on all arms alike."""
    done = {row.key for row in there}
    missing = [name for name in options.arms if (b := ARMS[name]).basis and not file_of(b, options.bases).is_file()]
    for name in missing:
        print(f"left out: {name}, no {file_of(ARMS[name], options.bases)}", flush=True)
    return [
        (problem, name, seed)
        for seed in options.seeds
        for problem in options.problems
        for name in options.arms
        if name not in missing and (problem, model, name, seed) not in done
    ]


def main() -> None:
    """Make the rows that are missing, and the page."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--problems", nargs="+", default=["tsp", "kp"])
    parser.add_argument("--model", default="embedded")
    parser.add_argument("--seeds", type=int, nargs="+", default=list(range(5)))
    parser.add_argument("--arms", nargs="+", choices=ARMS, default=list(ARMS))
    parser.add_argument("--steps", type=int, default=20)
    parser.add_argument("--evaluations", type=int, default=480)
    parser.add_argument("--bases", type=Path, default=Path("runs/bases"))
    parser.add_argument("--jobs", type=int, default=1, help="probes at a time")
    parser.add_argument("--runs-dir", type=Path, default=Path("runs/es_signal"))
    parser.add_argument("--out", type=Path, default=Path("runs/results/es_signal"))
    options = parser.parse_args()
    lock, rows = Lock(), read_rows(options.out.with_suffix(".csv"))
    with ExitStack() as stack:
        study = Study(options, stack)

        def make(probe: tuple[str, str, int]) -> None:
            row = study.row_of(*probe)
            with lock:
                append(options.out.with_suffix(".csv"), row)
                rows.append(row)
                options.out.with_suffix(".md").write_text(page(rows, options, study.model))
                print(json.dumps(asdict(row)), flush=True)

        with ThreadPoolExecutor(options.jobs) as workers:
            list(workers.map(make, wanted(options, study.model, list(rows))))
        options.out.with_suffix(".md").write_text(page(rows, options, study.model))


if __name__ == "__main__":
    main()

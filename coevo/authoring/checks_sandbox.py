"""Checks under the real judges: baselines are valid there, their limit suits them, and the embedded model can write."""

import os
from collections import Counter
from collections.abc import Iterator

from coevo.authoring.bench import Bench
from coevo.authoring.findings import Check, Finding, failed, note, ok
from coevo.candidate import Candidate, Evaluation
from coevo.content import ProblemFolder
from coevo.engines.embedded.families import find_family
from coevo.engines.loading import read_model_card, resolve_model
from coevo.evaluation.limits import suggested_limit
from coevo.evolution.operators import Operator, load_operators
from coevo.evolution.renderers import Reading, Renderer, renderer_named
from coevo.interfaces import Completion, Request
from coevo.learning.seeds import seed_of
from coevo.searching.config import OPERATORS

MODEL = "embedded"
NUM_COMPLETIONS = 20
"""Asked of the embedded model per operator."""
ABLE_SHARE = 0.5
"""Of an operator's programs have to be valid, or the model is no help for this problem."""
LEAST_FACTOR, LARGEST_FACTOR = 2, 1000
"""A limit should be this many times the CPU time of the slowest baseline."""


def baselines(bench: Bench) -> Finding:
    """Every baseline is valid on the search split, with the same objectives from two judges."""
    for name, verdicts in bench.baselines.items():
        for verdict in verdicts:
            if not verdict.is_ok:
                return failed(f"{name} in the sandbox: {verdict.status}: {verdict.detail}")
        if len({verdict.objectives for verdict in verdicts}) > 1:
            return failed(f"{name} has other objectives the second time; draw what is random from the instance's seed")
    means = (f"{name} {verdicts[0].objective:.6g}" for name, verdicts in bench.baselines.items())
    return ok(f"mean objectives on search, the same from two judges: {', '.join(means)}")


def time_limit(bench: Bench) -> Finding:
    """The CPU limit leaves a heuristic room to think, and no room to hang about."""
    used = {name: min(verdict.cpu_s for verdict in verdicts) for name, verdicts in bench.baselines.items()}
    slowest = max(used, key=lambda name: used[name])
    cpu_s, limit_s = used[slowest], bench.folder.spec.limits.cpu_s
    suggested_s = suggested_limit(cpu_s)
    words = (
        f"the slowest baseline, {slowest}, takes {cpu_s:.2g} s of CPU on search; limits.cpu_s is {limit_s:g}, "
        f"suggested is {suggested_s:g}"
    )
    if limit_s < LEAST_FACTOR * cpu_s:
        return failed(words)
    return note(words) if limit_s > max(LARGEST_FACTOR * cpu_s, suggested_s) else ok(words)


def embedded_model(bench: Bench) -> Finding:
    """How many of the embedded model's programs are valid, by operator, unperturbed and with baselines as parents."""
    operators = load_operators(("i1", *OPERATORS))
    readings = list(_programs(bench.folder, operators))
    verdicts = iter(bench.verdicts([reading.code for _, reading in readings if not reading.reason]))
    valid: Counter[str] = Counter()
    failures: Counter[str] = Counter()
    for operator, reading in readings:
        verdict = Evaluation("invalid", reading.reason) if reading.reason else next(verdicts)
        valid[operator] += verdict.is_ok
        if not verdict.is_ok:
            failures[verdict.detail.partition(" (on instance ")[0]] += 1
    shares = ", ".join(f"{name} {100 * valid[name] / NUM_COMPLETIONS:.0f} %" for name in operators)
    num_different = len({reading.code for _, reading in readings if reading.code})
    words = f"valid of {NUM_COMPLETIONS} programs each: {shares}; {num_different} different"
    if failures:
        words += f"; most frequent failure: {failures.most_common(1)[0][0]:.100}"
    is_able = all(valid[name] >= ABLE_SHARE * NUM_COMPLETIONS for name in operators)
    return ok(words) if is_able else note(f"{words}; {_advice(bench.folder)}")


def _advice(folder: ProblemFolder) -> str:
    signature = folder.spec.heuristic
    kinds = [argument.kind for argument in signature.arguments]
    if find_family(frozenset(kinds), signature.returns.kind) is not None:
        return "use another --model, or inputs that are more like those it was taught"
    return f"it was not taught functions from ({', '.join(kinds)}) to {signature.returns.kind}; use another --model"


def _programs(folder: ProblemFolder, operators: dict[str, Operator]) -> Iterator[tuple[str, Reading]]:
    """Operator and program of every completion, in request order."""
    from coevo.engines.torch_engine import TorchEngine

    model = resolve_model(MODEL)
    renderer = renderer_named(read_model_card(model).renderer)
    requests = list(_requests(folder, operators, renderer))
    with TorchEngine(model, workers=len(os.sched_getaffinity(0)), chat=False) as engine:
        answers = {completion.request_id: completion for completion in engine.generate(requests)}
    for request in requests:
        yield request.id.partition(".")[0], _read(renderer, folder, answers[request.id])


def _requests(folder: ProblemFolder, operators: dict[str, Operator], renderer: Renderer) -> Iterator[Request]:
    parents = [Candidate(code) for code in folder.baselines().values()]
    for name, operator in operators.items():
        for number in range(NUM_COMPLETIONS):
            shown = [parents[(number + place) % len(parents)] for place in range(operator.parents)]
            text = renderer.render(operator, folder, shown)
            yield Request(f"{name}.{number}", text, seed_of(0, "problem-check", name, number))


def _read(renderer: Renderer, folder: ProblemFolder, completion: Completion) -> Reading:
    if completion.finish == "length":
        return Reading(reason="the answer was cut off")
    return renderer.read(folder, completion.text)


CHECKS = (
    Check("baselines", "baselines are valid in the sandbox, alike in two judges", baselines, ("solving",)),
    Check("time limit", "the CPU limit suits the baselines", time_limit, ("baselines",)),
    Check("embedded model", "the embedded model writes valid heuristics", embedded_model, ("baselines", "prompts")),
)

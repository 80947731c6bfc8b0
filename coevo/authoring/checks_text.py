"""Checks of what a folder says in words: they read its text and run none of its code."""

import keyword

from coevo.authoring.findings import Check, Finding, failed, ok
from coevo.candidate import Candidate
from coevo.content import ProblemFolder
from coevo.evolution.operators import load_operators
from coevo.evolution.renderers import renderer_named, unreadable
from coevo.searching.config import OPERATORS

MIN_DESCRIPTION = 100
"""Characters; less cannot say what comes in, what has to come out and what is wanted."""


def metadata(folder: ProblemFolder) -> Finding:
    """`problem.toml` agrees with the folder's name and leaves no field empty."""
    spec = folder.spec
    if spec.name != folder.path.name:
        return failed(f"the folder is called {folder.path.name}, problem.toml says name = {spec.name!r}; rename one")
    values = (*spec.heuristic.arguments, spec.heuristic.returns)
    texts = {"title": spec.title, "source": spec.source, "licence": spec.licence}
    texts |= {f"splits.{name}": text for name, text in spec.splits.items()}
    texts |= {f"{value.name}.type": value.type for value in values}
    texts |= {f"{value.name}.description": value.description for value in values}
    if empty := [name for name, text in texts.items() if not text.strip()]:
        return failed(f"nothing is said in problem.toml under {', '.join(empty)}")
    names = [argument.name for argument in spec.heuristic.arguments]
    if bad := [name for name in (spec.heuristic.function, *names) if keyword.iskeyword(name)]:
        return failed(f"{', '.join(bad)} cannot be a name in Python")
    if len(set(names)) < len(names):
        return failed(f"two arguments of {spec.heuristic.function} have the same name")
    return ok(f"{spec.heuristic.definition[4:-1]} -> {spec.heuristic.returns.name}, sense {spec.sense}")


def description(folder: ProblemFolder) -> Finding:
    """`description.md` says enough to a model, and gives no code away."""
    length = len(folder.description)
    if length < MIN_DESCRIPTION:
        return failed(
            f"description.md has {length} characters; say in at least {MIN_DESCRIPTION} what comes in, what has to be "
            "returned and what is wanted"
        )
    if "```" in folder.description or "~~~" in folder.description:
        return failed("description.md holds a code block; a model is to find the code itself, so say it in words")
    return ok(f"{length} characters")


def prompts(folder: ProblemFolder) -> Finding:
    """Every operator can be rendered for every kind of model, with the baselines as parents."""
    operators = load_operators(("i1", *OPERATORS))
    parents = [Candidate(code) for code in folder.baselines().values()]
    for renderer in (renderer_named("chat"), renderer_named("plain"), renderer_named("slots")):
        for operator in operators.values():
            renderer.render(operator, folder, [parents[n % len(parents)] for n in range(operator.parents)])
    reasons = {name: unreadable(folder, Candidate(code)) for name, code in folder.baselines().items()}
    hidden = [f"{name} ({reason})" for name, reason in reasons.items() if reason]
    words = f"{len(operators)} operators for models that read words, and for the embedded one"
    return ok(words + (f", which cannot be shown {'; '.join(hidden)}" if hidden else ""))


CHECKS = (
    Check("metadata", "problem.toml is complete and named as its folder", metadata),
    Check("description", "description.md says enough and gives no code away", description),
    Check("prompts", "every operator can be rendered, with the baselines as parents", prompts),
)

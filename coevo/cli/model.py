"""`coevo model`: what an evolution strategy will find in a model, and the basis that guides it."""

import json as json_module
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

if TYPE_CHECKING:
    from rich.table import Table

    from coevo.engines.inspection import GuideFacts, Inspection, MemoryNeed, RoleFacts

_SHORT = {"float32": "fp32", "bfloat16": "bf16", "float16": "fp16"}

model = typer.Typer(help="Look at a model before it is perturbed.", no_args_is_help=True)


@model.command()
def inspect(
    model: Annotated[str, typer.Argument(help="embedded, a Hugging Face folder, or a downloaded hub name.")],
    sigma: Annotated[float | None, typer.Option(help="Standard deviation of the noise.")] = None,
    members: Annotated[int | None, typer.Option(help="Perturbed models in a step.")] = None,
    subspaces: Annotated[int | None, typer.Option(help="Subspaces of a step.")] = None,
    scope: Annotated[str, typer.Option(help="full, linear, guided, or an expression of tensor names.")] = "full",
    json: Annotated[bool, typer.Option("--json", help="Facts as JSON on standard output.")] = False,
) -> None:
    """Show a model's weights, what of them would move, the memory that takes, and the noise that rounding loses."""
    import math

    from coevo.engines.inspection import inspect_model
    from coevo.engines.loading import inspect_folder, resolve_model
    from coevo.searching.config import make_config

    given = {"sigma": sigma, "members": members, "subspaces": subspaces}
    chosen = {"budget": 1, "model": model, "evolution_strategy": {k: v for k, v in given.items() if v is not None}}
    settings = make_config(chosen).evolution_strategy
    folder = resolve_model(model)
    width = math.sqrt(settings.subspaces) * settings.sigma
    facts = inspect_model(inspect_folder(folder), scope=scope, sigma=width, subspaces=settings.subspaces)
    warnings = (*settings.warnings(), *facts.warnings)
    if json:
        typer.echo(json_module.dumps(_values(facts, folder, warnings)))
    else:
        _print(facts, folder, warnings)


@model.command()
def basis(
    model: Annotated[str, typer.Argument(help="embedded, a Hugging Face folder, or a downloaded hub name.")],
    to: Annotated[Path, typer.Option(help="File to write; guided.basis in the model's folder is found there.")],
    method: Annotated[str, typer.Option("--from", help="gradients, random or differences.")] = "gradients",
    corpus: Annotated[Path | None, typer.Option(help="Texts: JSON lines of prompt and completion.")] = None,
    family: Annotated[list[str] | None, typer.Option(help="Kind of problem of the built-in corpus; repeat.")] = None,
    checkpoint: Annotated[list[Path] | None, typer.Option(help="Another checkpoint of the model; repeat.")] = None,
    vectors: Annotated[int, typer.Option(min=1, max=4096, help="Vectors; checkpoints count themselves.")] = 48,
    rank: Annotated[int, typer.Option(min=1, max=1024, help="Columns that the vectors share in each tensor.")] = 48,
    batch: Annotated[int, typer.Option(min=1, help="Texts per gradient.")] = 8,
    seed: Annotated[int, typer.Option(min=0, help="Of texts and random vectors.")] = 0,
) -> None:
    """Make the basis that `--scope guided` moves weights in: gradients on a corpus, known before any search."""
    from dataclasses import replace

    from transformers.utils.logging import disable_progress_bar

    from coevo.engines.basis_building.making import METHODS, BasisRecipe, make_basis
    from coevo.engines.loading import inspect_folder, resolve_model
    from coevo.errors import ConfigError
    from coevo.noise.basis import write_basis

    if method not in METHODS:
        raise ConfigError(f"expected {', '.join(METHODS)} for --from, got {method!r}")
    if to.exists():
        raise ConfigError(f"expected a new file for --to, got {to}, which is taken; name another, or remove it")
    recipe = BasisRecipe(vectors=vectors, rank=rank, seed=seed, batch=batch, corpus=corpus)
    chosen = replace(recipe, method=method, families=tuple(family or ()), checkpoints=tuple(checkpoint or ()))
    disable_progress_bar()
    made, report = make_basis(inspect_folder(resolve_model(model)), chosen)
    write_basis(to, made)
    typer.echo(
        f"{to}: {made.vectors} vectors ({method}), rank {made.rank}, {to.stat().st_size / 1e6:.2f} MB, "
        f"identity {made.identity:016x}"
    )
    typer.echo(
        f"covers {made.elements:,} parameters in {len(made.parts)} tensors; keeps "
        f"{report.captured:.1%} of the vectors' squared length (relative error {report.error:.3f}, of which 8 bits "
        f"{report.rounding:.3f}); orthonormal to {report.orthonormality:.1e}"
    )


def _values(facts: "Inspection", folder: "Path", warnings: tuple[str, ...]) -> dict[str, Any]:
    from dataclasses import asdict

    from coevo.engines.precision import PROBE_RUN_KEY

    noise = {"run_key": f"{PROBE_RUN_KEY:016x}", "step": 0, "direction": 0, "sigma": facts.sigma}
    totals = {"tensors": facts.num_tensors, "parameters": facts.num_parameters, "moving": facts.num_moving}
    return {"path": str(folder), **asdict(facts), **totals, "noise": noise, "warnings": warnings}


def _print(facts: "Inspection", folder: "Path", warnings: tuple[str, ...]) -> None:
    from coevo.cli.summary import console

    out = console()
    for line in _head(facts, folder):
        out.print(line, markup=False, soft_wrap=True)
    out.print(_role_table(facts))
    out.print(_memory_table(facts))
    for line in (*_notes(facts), *(f"warning: {warning}" for warning in warnings)):
        out.print(line, markup=False, soft_wrap=True)


def _head(facts: "Inspection", folder: "Path") -> list[str]:
    tie = "head and embedding are one tensor" if facts.is_tied else "head and embedding are two tensors"
    if facts.duplicate is not None:
        tie += f", stored twice ({facts.duplicate} is left out)"
    return [
        f"model: {folder}",
        f"{facts.architecture} in {facts.storage}, served by {facts.served_by}; prompts: {facts.renderer}; {tie}",
        f"scope {facts.scope}: {facts.moving_tensors} of {facts.num_tensors} tensors move, "
        f"{facts.num_moving:,} of {facts.num_parameters:,} parameters",
        *([_guide_line(facts.guide, facts.num_parameters)] if facts.guide else []),
    ]


def _guide_line(guide: "GuideFacts", parameters: int) -> str:
    return (
        f"guided basis: {guide.vectors} vectors ({guide.method}), rank {guide.rank}, {guide.num_bytes / 1e6:.2f} MB, "
        f"covers {guide.elements / parameters:.1%} of the parameters in {len(guide.tensors)} tensors, "
        f"identity {guide.identity}"
    )


def _notes(facts: "Inspection") -> list[str]:
    from coevo.engines.precision import PROBE_RUN_KEY

    return [
        f"lost: share of the noise of σ {facts.sigma:.3g} that rounding to a type swallows; |Δ|/σ: root mean square of "
        f"what is left, in {facts.storage}; both on a sample of what moves, noise of run key {PROBE_RUN_KEY}, step 0, "
        "direction 0"
    ]


def _role_table(facts: "Inspection") -> "Table":
    from rich import box
    from rich.table import Table

    table = Table(box=box.SIMPLE, padding=(0, 1, 0, 0))
    table.add_column("weights", no_wrap=True)
    for name in ("tensors", "number", "moving"):
        table.add_column(name, justify="right", no_wrap=True)
    table.add_column("stored", no_wrap=True)
    for name in (*(f"lost %\n{short}" for short in _SHORT.values()), "|Δ|/σ"):
        table.add_column(name, justify="right", no_wrap=True)
    for each in facts.roles:
        counts = (f"{each.tensors:,}", _count(each.parameters), _count(each.moving))
        stored = " ".join(_SHORT[name] for name in each.stored)
        table.add_row(each.role, *counts, stored, *_losses(each, facts.storage))
    return table


def _losses(each: "RoleFacts", served: str) -> list[str]:
    kept = each.survival
    if not kept:
        return ["–"] * (len(_SHORT) + 1)
    return [*(f"{100 * kept[storage].swallowed:.2f}" for storage in _SHORT), f"{kept[served].realised:.3f}"]


def _memory_table(facts: "Inspection") -> "Table":
    from rich import box
    from rich.table import Table

    from coevo.engines.inspection import MODES

    weights = facts.memory[0].weights
    title = f"memory of one copy: weights {_size(weights)}, and the backup of each restore mode"
    table = Table(box=box.SIMPLE, title=title, title_justify="left")
    table.add_column("update rule", no_wrap=True)
    for mode in MODES:
        table.add_column(mode, justify="right", no_wrap=True)
    rows: dict[tuple[str, ...], list[str]] = {}
    for rule in dict.fromkeys(need.rule for need in facts.memory):
        cells = tuple(_backup(need) for need in facts.memory if need.rule == rule)
        rows.setdefault(cells, []).append(rule)
    for cells, rules in rows.items():
        table.add_row(" = ".join(rules), *cells)
    return table


def _backup(need: "MemoryNeed") -> str:
    if need.backup is None:
        return "–"
    return f"{_size(need.disk)} on disk" if need.disk else _size(need.backup)


def _count(number: int) -> str:
    return f"{number:,}" if number < 1e6 else f"{number / 1e6:,.2f} M"


def _size(number: int) -> str:
    return f"{number / 1e9:.2f} GB" if number >= 1e9 else f"{number / 1e6:.1f} MB"

"""Runs as a search leaves them, made without generating anything."""

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner, Result

from coevo.engines.loading import inspect_folder, resolve_model
from coevo.engines.policy import WeightPolicy
from coevo.engines.replay import ReplayedWeights, open_weights
from coevo.engines.storage import exact_storage
from coevo.es import EvolutionStrategy, StepRecord, WeightRecipe
from coevo.records.run_directory import RunDirectory
from coevo.searching.config import SearchConfig, make_config
from coevo.searching.result import BudgetUse, SearchResult


def records_of(
    config: SearchConfig, weights: ReplayedWeights, recipe: WeightRecipe, steps: int
) -> Iterator[StepRecord]:
    """The records of a run that tells rewards of its own; step 1 has no spread and moves nothing."""
    strategy = EvolutionStrategy(config.evolution_strategy, 2**63 + 5)
    for step in range(steps):
        members = strategy.ask(5e-3)
        rewards = {member.identity: float(place**2 % 7) * (step != 1) for place, member in enumerate(members)}
        update = strategy.tell(rewards)
        fingerprint = next(weights.follow([update])) if update else weights.weights.fingerprint()
        record = StepRecord.of(members, rewards, update, generation=step + 1, operator="m1", recipe=recipe)
        yield record.after(fingerprint, applied=update is not None)


@pytest.fixture
def make_run(tmp_path: Path) -> Callable[..., RunDirectory]:
    """Makes the directory of a run of three steps; keywords are fields of its configuration."""

    def make(*, steps: int = 3, finished: bool = True, **values: Any) -> RunDirectory:
        config = make_config({"budget": 10, **values})
        run = RunDirectory.create(tmp_path / "runs", "run", config.model_dump(mode="json"))
        folder = resolve_model(config.model)
        policy = WeightPolicy(scope=config.weights.scope, update_rule=config.weights.update_rule)
        storage = exact_storage(inspect_folder(folder).dtype, policy.update_rule)
        weights = open_weights(folder, policy)
        events: list[dict[str, Any]] = [{"kind": "started", "fingerprint": f"{weights.weights.fingerprint():016x}"}]
        recipe = WeightRecipe(policy.scope, storage, policy.update_rule)
        for record in records_of(config, weights, recipe, steps):
            run.save_step(record.step, record.to_line())
            events.append({"kind": "step", **record.model_dump(mode="json")})
        run.events.write_text("".join(json.dumps(event) + "\n" for event in events))
        if finished:
            run.save_result(_result(run, events[-1]["fingerprint"]))
        return run

    return make


def _result(run: RunDirectory, fingerprint: str) -> dict[str, Any]:
    budget = BudgetUse(operator=10, planned=10)
    empty: dict[str, Any] = {"splits": {}, "comparisons": {}, "budget": budget, "wall_s": 1.0}
    result = SearchResult(status="done", best=None, fingerprint=fingerprint, run=str(run.path), **empty)
    return result.model_dump(mode="json")


@pytest.fixture
def coevo() -> Callable[..., Result]:
    """Runs a command in this process; errors meant for the user are raised."""

    def run(*arguments: object) -> Result:
        from coevo.cli import app

        result = CliRunner().invoke(app, [str(argument) for argument in arguments])
        if result.exception is not None and not isinstance(result.exception, SystemExit):
            raise result.exception
        return result

    return run

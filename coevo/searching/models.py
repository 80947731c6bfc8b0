"""From the configuration of a search to the model that writes."""

from coevo.content import ProblemFolder
from coevo.errors import ConfigError
from coevo.evolution.renderers import RendererName
from coevo.interfaces import Engine
from coevo.learning.choice import ModelChoice
from coevo.learning.models import OpenModel, open_model, renderer_of_model
from coevo.searching.config import SearchConfig


def start_model(config: SearchConfig, problem: ProblemFolder) -> OpenModel:
    """Start the engine a configuration names.

    Raises:
        ModelError: If the model cannot be loaded.
        ConfigError: If method, engine and model do not go together.
    """
    renderer = renderer_of(config)
    if config.method == "grammar":
        return OpenModel(_grammar(config, problem), renderer)
    return open_model(choice_of(config))


def choice_of(config: SearchConfig) -> ModelChoice:
    """What a configuration says of its model."""
    return ModelChoice(
        config.model,
        config.engine,
        config.tensor_parallel,
        moves=config.es != "off",
        weights=config.weights,
        rank=config.evolution_strategy.rank,
        members=config.evolution_strategy.members,
        workers=config.workers,
        engines=config.engines,
        heals=config.heal,
        ray=config.ray,
    )


def renderer_of(config: SearchConfig) -> RendererName:
    """How prompts for the model of a configuration are written.

    Raises:
        ModelError: If there is no such model.
    """
    if config.method == "grammar":
        return "slots"
    return renderer_of_model(choice_of(config))


def _grammar(config: SearchConfig, problem: ProblemFolder) -> Engine:
    if config.engine != "auto":
        raise ConfigError(f"--method grammar asks no engine; expected --engine auto, got --engine {config.engine}")
    from coevo.engines.embedded.grammar_engine import GrammarEngine, knows

    if not knows(problem.spec.heuristic):
        kinds = ", ".join(argument.kind for argument in problem.spec.heuristic.arguments)
        raise ConfigError(
            f"--method grammar has no heuristics from ({kinds}) to {problem.spec.heuristic.returns.kind}; "
            "expected a problem of a kind the embedded model was trained on, or --method eoh"
        )
    return GrammarEngine()

"""From a configuration to the model that writes: an engine, and how prompts for it are written."""

from dataclasses import dataclass
from pathlib import Path

from coevo.content import ProblemFolder
from coevo.engines.endpoint.address import parse_address
from coevo.engines.guiding import load_guide
from coevo.engines.loading import ModelFolder, inspect_folder, read_model_card, resolve_model
from coevo.engines.policy import FROZEN
from coevo.engines.storage import exact_storage
from coevo.errors import ConfigError
from coevo.evolution.renderers import RendererName
from coevo.interfaces import Engine, Storage
from coevo.searching.config import SearchConfig, is_address


@dataclass(frozen=True, slots=True)
class WritingModel:
    """What writes the children.

    Attributes:
        engine: Completes text.
        renderer: How prompts are written.
        storage: Type of the exact weights, which the history records.
        basis: Identity of the basis that the weights move in; 0 unless the scope is guided.
    """

    engine: Engine
    renderer: RendererName
    storage: Storage = "float32"
    basis: int = 0


def start_model(config: SearchConfig, problem: ProblemFolder) -> WritingModel:
    """Start the engine a configuration names.

    Raises:
        ModelError: If the model cannot be loaded.
        ConfigError: If method, engine and model do not go together.
    """
    renderer = renderer_of(config)
    if config.method == "grammar":
        return WritingModel(_grammar(config, problem), renderer)
    if config.engine == "scripted":
        from coevo.engines.scripted import ScriptedEngine

        return WritingModel(ScriptedEngine.from_file(Path(config.model)), renderer)
    if _is_endpoint(config):
        from coevo.engines.endpoint.engine import open_endpoint

        return WritingModel(open_endpoint(config.model), renderer)
    folder = inspect_folder(resolve_model(config.model))
    storage = exact_storage(folder.dtype, config.weights.update_rule)
    guide = load_guide(config.weights, folder) if config.es != "off" else None
    return WritingModel(_holding_weights(config, folder), renderer, storage, guide.identity if guide else 0)


def renderer_of(config: SearchConfig) -> RendererName:
    """How prompts for the model of a configuration are written.

    Raises:
        ModelError: If there is no such model.
    """
    if config.method == "grammar":
        return "slots"
    if config.engine == "scripted":
        return "plain"
    if _is_endpoint(config):
        parse_address(config.model)
        return "chat"
    return read_model_card(resolve_model(config.model)).renderer


def _is_endpoint(config: SearchConfig) -> bool:
    return config.engine == "endpoint" or is_address(config.model)


def _holding_weights(config: SearchConfig, folder: ModelFolder) -> Engine:
    chat = folder.card.renderer == "chat"
    rank = config.evolution_strategy.rank
    policy = config.weights if config.es != "off" else config.weights.model_copy(update={"scope": FROZEN})
    if config.engine == "vllm":
        from coevo.engines.vllm.config import VllmOptions
        from coevo.engines.vllm.engine import VllmEngine

        options = VllmOptions(
            tensor_parallel=config.tensor_parallel, rank=rank, members=config.evolution_strategy.members
        )
        return VllmEngine(folder.path, chat=chat, options=options, policy=policy)
    from coevo.engines.torch_engine import TorchEngine

    return TorchEngine(folder.path, workers=config.workers, chat=chat, policy=policy, rank=rank)


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

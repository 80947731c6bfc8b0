"""A model made ready to be asked and moved: which engine serves it, how prompts for it are written."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import Literal

from coevo.engines.endpoint.address import is_address, parse_address
from coevo.engines.guiding import load_guide
from coevo.engines.llama_shape import SMALL_MODEL
from coevo.engines.loading import ModelFolder, Renderer, inspect_folder, read_model_card, resolve_model
from coevo.engines.placement import share_devices, visible_devices
from coevo.engines.policy import FROZEN, WeightPolicy
from coevo.engines.storage import exact_storage
from coevo.errors import ConfigError
from coevo.interfaces import Engine, Storage
from coevo.learning.suiting import check_suits

EngineName = Literal["auto", "torch", "vllm", "endpoint", "scripted"]


@dataclass(frozen=True, slots=True)
class ModelChoice:
    """Which model, and how it is served.

    Attributes:
        model: "embedded", a Hugging Face folder, the name of a downloaded model, a server's address, or a script.
        engine: What completes text; "auto" is endpoint for an http(s) address and torch otherwise.
        tensor_parallel: Devices over which vLLM shards the model.
        moves: Whether its weights are going to move.
        weights: Which of them, and how they are kept.
        rank: Rank of the low-rank members it will be asked for; 0 for dense ones.
        members: The most of them at a time.
        workers: Processes for a small model, of all engines together.
        engines: Engines that share the work; for more than one, see `coevo.engines.fleet`.
        heals: Whether an engine that disagrees with the others is opened anew instead of ending the run.
        ray: Address of the Ray cluster on whose nodes they run, or None for this machine.
    """

    model: str
    engine: EngineName = "auto"
    tensor_parallel: int = 1
    moves: bool = True
    weights: WeightPolicy = field(default_factory=WeightPolicy)
    rank: int = 0
    members: int = 1
    workers: int = 1
    engines: int = 1
    heals: bool = False
    ray: str | None = None

    @property
    def is_endpoint(self) -> bool:
        """Whether a server answers, whose weights are out of reach."""
        return self.engine == "endpoint" or is_address(self.model)


@dataclass(frozen=True, slots=True)
class OpenModel:
    """A model that answers.

    Attributes:
        engine: Completes text.
        renderer: How prompts are written.
        storage: Type of the exact weights, which the history records.
        basis: Identity of the basis that the weights move in; 0 unless the scope is guided.
    """

    engine: Engine
    renderer: Renderer
    storage: Storage = "float32"
    basis: int = 0


def open_model(choice: ModelChoice) -> OpenModel:
    """Start the engine of a choice.

    Raises:
        ModelError: If the model cannot be loaded.
        ConfigError: If several engines are to be opened of a server.
    """
    renderer = renderer_of_model(choice)
    if choice.engine == "scripted":
        from coevo.engines.scripted import ScriptedEngine

        openers = [partial(ScriptedEngine.from_file, Path(choice.model))] * choice.engines
        return OpenModel(_fleet(choice, openers), renderer)
    if choice.is_endpoint:
        if choice.engines > 1:
            raise ConfigError(f"a server spreads its requests itself: expected 1 engine, got {choice.engines}")
        from coevo.engines.endpoint.engine import open_endpoint

        return OpenModel(open_endpoint(choice.model), renderer)
    folder = inspect_folder(resolve_model(choice.model))
    storage = exact_storage(folder.dtype, choice.weights.update_rule)
    guide = load_guide(choice.weights, folder) if choice.moves else None
    each = replace(choice, workers=max(1, choice.workers // choice.engines))
    # A large model, and one that vLLM serves, has one process for each engine, whatever the number of workers.
    is_small = choice.engine != "vllm" and folder.num_parameters < SMALL_MODEL
    shares = ((),) * choice.engines if is_small or choice.ray else _shares(choice)
    engines = [partial(_holding_weights, each, folder, devices) for devices in shares]
    engine = _fleet(choice, engines, each.workers if is_small else 1)
    return OpenModel(engine, renderer, storage, guide.identity if guide else 0)


def renderer_of_model(choice: ModelChoice) -> Renderer:
    """How prompts for a model are written.

    Raises:
        ModelError: If there is no such model.
        ConfigError: If the engine serves no model of that kind.
    """
    check_suits(choice.engine, choice.model)
    if choice.engine == "scripted":
        return "plain"
    if choice.is_endpoint:
        parse_address(choice.model)
        return "chat"
    return read_model_card(resolve_model(choice.model)).renderer


def _shares(choice: ModelChoice) -> tuple[tuple[str, ...], ...]:
    """The GPUs of each engine; none named where one engine has them all, or there are none."""
    if choice.engines == choice.tensor_parallel == 1:
        return ((),)
    shares = share_devices(visible_devices(), choice.engines, choice.tensor_parallel)
    return shares if choice.engines > 1 else ((),)


def _fleet(choice: ModelChoice, openers: Sequence[Callable[[], Engine]], slots: int = 1) -> Engine:
    """One engine, or as many as the choice says, as one; on a cluster always a fleet, which can replace an engine."""
    if choice.ray is not None:
        from coevo.learning.remote import open_remote_fleet

        return open_remote_fleet(choice, slots)
    if choice.engines == 1:
        return openers[0]()
    from coevo.engines.fleet.engine import FleetEngine

    return FleetEngine(openers, slots=slots, heals=choice.heals)


def _holding_weights(choice: ModelChoice, folder: ModelFolder, devices: tuple[str, ...] = ()) -> Engine:
    chat = folder.card.renderer == "chat"
    policy = choice.weights if choice.moves else choice.weights.model_copy(update={"scope": FROZEN})
    if choice.engine == "vllm":
        from coevo.engines.vllm.config import VllmOptions
        from coevo.engines.vllm.engine import VllmEngine

        options = VllmOptions(
            tensor_parallel=choice.tensor_parallel, rank=choice.rank, members=choice.members, devices=devices
        )
        return VllmEngine(folder.path, chat=chat, options=options, policy=policy)
    from coevo.engines.torch_engine import TorchEngine

    return TorchEngine(folder.path, workers=choice.workers, chat=chat, policy=policy, rank=choice.rank, devices=devices)

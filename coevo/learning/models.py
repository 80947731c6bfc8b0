"""A model made ready to be asked and moved: which engine serves it, how prompts for it are written."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from coevo.engines.endpoint.address import parse_address
from coevo.engines.guiding import load_guide
from coevo.engines.loading import ModelFolder, Renderer, inspect_folder, read_model_card, resolve_model
from coevo.engines.placement import share_devices, visible_devices
from coevo.engines.policy import FROZEN
from coevo.engines.storage import exact_storage
from coevo.errors import ConfigError
from coevo.interfaces import Engine, Storage
from coevo.learning.choice import ModelChoice
from coevo.learning.remote import open_remote_fleet
from coevo.learning.suiting import check_suits


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
    each, is_small = choice.of_one_engine, choice.is_served_small(folder.num_parameters)
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

"""Which model a job asks, and how it is served, before anything is opened."""

from dataclasses import dataclass, field, replace
from typing import Literal

from coevo.engines.endpoint.address import is_address
from coevo.engines.llama_shape import SMALL_MODEL
from coevo.engines.policy import WeightPolicy

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

    @property
    def of_one_engine(self) -> "ModelChoice":
        """What one engine of a fleet is opened from: its part of the processes, and nothing of the others."""
        return replace(self, workers=max(1, self.workers // self.engines), engines=1, heals=False, ray=None)

    def is_served_small(self, num_parameters: int) -> bool:
        """Whether an engine has several processes with a copy of the model each.

        A large model, and one that vLLM serves, has one process for each engine, whatever the number of workers.
        """
        return self.engine != "vllm" and num_parameters < SMALL_MODEL

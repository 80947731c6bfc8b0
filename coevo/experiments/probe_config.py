"""Everything that decides a probe, resolved: what `config.toml` in its run directory holds."""

from pathlib import Path
from typing import Any, Literal, get_args

from pydantic import BaseModel, ConfigDict, Field, ValidationError, model_validator

from coevo.answer_bounds import AnswerTokens, Temperature, TopP
from coevo.cluster.address import ClusterAddress
from coevo.engines.endpoint.address import is_address
from coevo.engines.policy import FROZEN, GUIDED, WeightPolicy
from coevo.errors import ConfigError, RunError
from coevo.es.settings import ESSettings
from coevo.explaining import explain
from coevo.interfaces import Sampling
from coevo.records.run_directory import RunDirectory
from coevo.records.run_kind import PROBE, check_kind, kind_of
from coevo.searching.config import SearchConfig, absolute, make_config

SETS = ("trained", "held_out")
"""The parents whose children earn the rewards, and those that are only measured."""

OPERATORS = ("m1", "m2")
"""The operators at which the model evolves; each shows one parent."""
TOGETHER = "+".join(OPERATORS)
"""What events call a batch of them all."""

FORM: dict[str, Any] = {"members": 20, "children": 4, "schedule": "constant"}
"""Size of a step: enough members to tell directions apart, and σ as it was set throughout."""

STILL: dict[str, Any] = {"alpha": 1.8e-3}
"""α of scope guided where parents stand still: three σ, which paid most on `cvrp` (runs/results/es_sweep.md)."""

Rewards = Literal["measured", "random"]


class ProbeConfig(BaseModel):
    """One probe: k steps of ES on fixed parents, measured before and after. Rewards are maximised."""

    model_config = ConfigDict(frozen=True, extra="forbid", use_attribute_docstrings=True)

    kind: Literal["probe"] = "probe"
    """Tells the run directory of a probe from that of a search."""
    problem: str = "tsp"
    """Name of a problem, or path of its folder."""
    model: str = "embedded"
    """"embedded", a Hugging Face folder, the name of a downloaded model, or a script of the scripted engine."""
    engine: Literal["auto", "torch", "vllm", "scripted"] = "auto"
    """What completes text; "auto" is torch."""
    engines: int = Field(default=1, ge=1, le=1024)
    """Engines that share the work; each applies every update itself, and all must agree."""
    heal: bool = False
    """Whether an engine that disagrees with the others is opened anew and replays the updates, instead of ending the
    run."""
    ray: ClusterAddress | None = None
    """Address of the Ray cluster on whose nodes engines and judges run: auto, HOST:PORT or ray://HOST:PORT; none for
    this machine alone. It says nothing about results."""
    es: Literal["dense", "low-rank"] = "dense"
    """Kind of the noise; members of low rank answer in one batch."""
    evolution_strategy: ESSettings
    """σ, α, members and children per member: a step asks for members × children completions."""
    weights: WeightPolicy = WeightPolicy()
    """Which weights move, and how updates reach them."""
    steps: int = Field(default=20, ge=0, le=100_000)
    """ES steps; with none, all that is measured is the base model and the noise of the measurement."""
    parents: tuple[str, ...] = ()
    """Files with the parents; without any, the base model writes them with i1."""
    trained: int = Field(default=6, ge=1, le=1000)
    """Parents whose children earn the rewards, where the base model writes them; of given files it is half of them."""
    held_out: int = Field(default=6, ge=1, le=1000)
    """Parents that are only measured; likewise."""
    cases: Literal["common", "independent"] = "common"
    """Whether the members of a step answer the same prompts, or each completion draws a prompt of its own."""
    seeds: Literal["common", "independent"] = "common"
    """Whether members share the sampling seed of a prompt (common random numbers), or each completion has its own."""
    rewards: Rewards = "measured"
    """What members are told they earned: what their children did, or seeded noise in its place (a control)."""
    learns: bool = True
    """Whether updates are applied; if not, members are perturbed and nothing else happens (a control)."""
    guard: bool = False
    """Whether a step whose members' valid share falls below the floor is refused, and σ and α halved from then on."""
    guard_floor: float = Field(default=0.5, gt=0, le=1)
    """Fraction of the base model's valid share on trained parents that the members' share must reach."""
    evaluations: int = Field(default=480, ge=2, le=1_000_000)
    """Completions of one measurement of one set of parents."""
    every: int | None = Field(default=None, ge=1)
    """Measure the unperturbed model after this many steps too, again and again; None measures before and after."""
    temperature: Temperature = 1.0
    """Sampling temperature; 0 is greedy."""
    top_p: TopP = 0.98
    """Nucleus of the sampling distribution."""
    max_tokens: AnswerTokens = 768
    """Longest completion; a longer one is cut off and counts as invalid."""
    seed: int = Field(default=0, ge=0, lt=2**63)
    """Seed of everything random: parents, prompts, sampling, noise."""
    workers: int = Field(ge=1, le=1024)
    """Processes that generate, of all engines together, and processes that evaluate."""
    unsafe_no_sandbox: bool = False
    """Run candidates without bubblewrap. Only on a machine with nothing to lose."""

    @model_validator(mode="after")
    def _goes_together(self) -> "ProbeConfig":
        if len(self.parents) == 1:
            raise ValueError("one of the parents is held out and one is not: expected two files or more, got 1")
        if self.rewards == "random" and not self.learns:
            raise ValueError("random rewards without learning are never used; drop one of them")
        if self.weights.scope == FROZEN:
            raise ValueError("scope none leaves nothing to move; to measure the base model alone, take steps 0")
        return self

    @property
    def sampling(self) -> Sampling:
        """Limits and distribution of every completion of the probe."""
        return Sampling(self.temperature, self.top_p, self.max_tokens)

    @property
    def training(self) -> int:
        """Completions that training asks for: steps × members × children."""
        return self.steps * self.evolution_strategy.members * self.evolution_strategy.children

    def as_search(self) -> SearchConfig:
        """The search that has the same model, engine, noise and sampling: what starts its model starts a probe's."""
        shared = {name: getattr(self, name) for name in _SHARED}
        return SearchConfig(budget=max(1, self.training), **shared)


_SHARED = tuple(sorted((ProbeConfig.model_fields.keys() & SearchConfig.model_fields.keys()) - {"parents", "seeds"}))
"""Fields that mean the same in a search. Those of the same name that do not, or need not be given, are left out."""


def make_probe_config(values: dict[str, Any]) -> ProbeConfig:
    """Resolve a configuration: a search's defaults < a probe's < values.

    Args:
        values: Fields the user gave; `evolution_strategy` and `weights` may be partial.

    Raises:
        ConfigError: Naming each field that does not fit.
    """
    if is_address(str(values.get("model", ""))):
        raise ConfigError(f"a probe moves weights: expected a model that is here, got the server {values['model']!r}")
    given = values.get("evolution_strategy", {})
    asked = {name: values[name] for name in _SHARED if name in values} | {"budget": 1}
    asked.setdefault("es", "dense")
    if asked["es"] not in get_args(ProbeConfig.model_fields["es"].annotation):
        raise ConfigError(f"a probe is of an evolution strategy: expected es dense or low-rank, got {asked['es']!r}")
    if isinstance(given, dict):
        asked["evolution_strategy"] = FORM | (STILL if _is_guided(values) else {}) | given
    resolved = make_config(asked)
    try:
        return ProbeConfig.model_validate(values | {name: getattr(resolved, name) for name in _SHARED})
    except ValidationError as error:
        raise ConfigError(explain(error, ProbeConfig)) from error


def _is_guided(values: dict[str, Any]) -> bool:
    weights = values.get("weights", {})
    return (weights.get("scope") if isinstance(weights, dict) else weights.scope) == GUIDED


def probe_config_of(run: Path) -> ProbeConfig:
    """The configuration a probe was started with.

    Raises:
        RunError: If `run` is not the run directory of a probe, or its configuration does not fit this version.
    """
    check_kind(run, PROBE)
    try:
        return ProbeConfig.model_validate(RunDirectory.open(run).config())
    except ValidationError as error:
        raise RunError(f"{run / 'config.toml'}: expected that of a probe: {explain(error)}") from error


def is_probe(run: Path) -> bool:
    """Whether a run directory is that of a probe.

    Raises:
        RunError: If it is no run directory.
    """
    return kind_of(run) == PROBE


def with_absolute_paths(config: ProbeConfig) -> ProbeConfig:
    """The same probe with every path absolute, so that it can be resumed from anywhere."""
    resolved = absolute(config.as_search())
    changes: dict[str, Any] = {name: getattr(resolved, name) for name in ("problem", "model", "weights")}
    changes["parents"] = tuple(str(Path(file).resolve()) for file in config.parents)
    return config.model_copy(update=changes)

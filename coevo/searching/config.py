"""Everything that decides a search, resolved: what `config.toml` in a run directory holds."""

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError, model_validator

from coevo.answer_bounds import AnswerTokens, Temperature, TopP
from coevo.cluster.address import ClusterAddress
from coevo.engines.endpoint.address import is_address
from coevo.engines.endpoint.spending import Allowance
from coevo.engines.policy import FROZEN, GUIDED, WeightPolicy
from coevo.errors import ConfigError
from coevo.es.settings import ESSettings
from coevo.explaining import explain
from coevo.learning.layers import layered
from coevo.searching.recipes import RECIPES
from coevo.skills.settings import SkillSettings

OPERATORS = ("e1", "e2", "m1", "m2")
"""The operators of a generation, in order (EoH, arXiv:2401.02051); i1 makes the first population."""


class SearchConfig(BaseModel):
    """One search. Costs are minimised, rewards maximised."""

    model_config = ConfigDict(frozen=True, extra="forbid", use_attribute_docstrings=True)

    problem: str = "tsp"
    """Name of a problem, or path of its folder."""
    budget: int = Field(ge=1, le=10_000_000)
    """Operator completions, valid or not; never exceeded."""
    method: Literal["eoh", "sample", "grammar"] = "eoh"
    """How children are made: by a language model in an EoH loop, by a model that writes new heuristics only, or by the
    embedded model's own training grammar in the same loop (a control without a model)."""
    start: tuple[str, ...] = ()
    """Files with heuristics of the user's for the first population."""
    model: str = "embedded"
    """"embedded", a Hugging Face folder, the name of a downloaded model, a server's address (http://host/v1#name), or
    a script of the scripted engine."""
    engine: Literal["auto", "torch", "vllm", "endpoint", "scripted"] = "auto"
    """What completes text; "auto" is endpoint for an http(s) address and torch otherwise."""
    tensor_parallel: int = Field(default=1, ge=1, le=1024)
    """Devices (on the CPU: processes) over which vLLM shards the model; never changes the weights' bits."""
    engines: int = Field(default=1, ge=1, le=1024)
    """Engines that share the work; each applies every update itself, and all must agree."""
    heal: bool = False
    """Whether an engine that disagrees with the others is opened anew and replays the updates, instead of ending the
    run."""
    ray: ClusterAddress | None = None
    """Address of the Ray cluster on whose nodes engines and judges run: auto, HOST:PORT or ray://HOST:PORT; none for
    this machine alone. It says nothing about results."""
    es: Literal["dense", "low-rank", "off"] = "dense"
    """Whether evolution strategies perturb and update weights at the operators that evolve the model, and with which
    noise; members of low rank answer in one batch."""
    evolution_strategy: ESSettings
    """σ, α, members and children per member; without ES, members × children is still the size of a step."""
    weights: WeightPolicy = WeightPolicy()
    """Which weights move, how updates reach them, and where their base is kept."""
    learns: bool = True
    """Whether steps move the weights; without, members are perturbed and scored and nothing follows (an ablation)."""
    guard: bool = False
    """Whether a step whose members' children are valid less than half as often as those of the unperturbed model before
    is refused, and σ and α are halved from then on."""
    reward: Literal["difference", "cost", "rank"] = "difference"
    """What a valid child earns: parent cost − child cost, −child cost, or the rank of the difference in its step."""
    copies: Literal["zero", "invalid"] = "zero"
    """Whether a child that repeats a parent counts as a difference of 0, or earns as little as an invalid one."""
    skill_every: int | None = Field(default=None, ge=1)
    """Generations between two updates of the skill text in the prompts (Trace2Skill); none without a number."""
    skill_model: str = ""
    """Who distils the skill: "" for the model that writes (statistics, where that is the embedded one, which cannot
    reflect), "statistics" for no model, or another model named as `model` is."""
    skill: SkillSettings = SkillSettings()
    """Bounds of the skill, and of what an update of it reads."""
    parents: Literal["common", "independent"] = "common"
    """Whether the members of a step share their parents, or each child draws its own."""
    seeds: Literal["common", "independent"] = "independent"
    """Whether the members of a step share their sampling seeds (common random numbers), or each child has its own."""
    charge_first: bool = True
    """Whether the first population counts towards the budget; published recipes charge it on top."""
    population: int = Field(default=10, ge=2, le=100_000)
    """Candidates kept, and completions asked for the first population."""
    batch: int = Field(default=10, ge=1, le=100_000)
    """Completions of e1 and of e2 in a generation."""
    temperature: Temperature = 1.0
    """Sampling temperature; 0 is greedy."""
    top_p: TopP = 0.98
    """Nucleus of the sampling distribution."""
    max_tokens: AnswerTokens = 768
    """Longest completion; a longer one is cut off and counts as invalid."""
    target: float | None = Field(default=None, allow_inf_nan=False)
    """Stop after a generation whose best objective on the search split is at least this good."""
    patience: int | None = Field(default=None, ge=1)
    """Stop after this many generations without improvement."""
    max_hours: float | None = Field(default=None, gt=0, allow_inf_nan=False)
    """Stop after the first generation that ends past this wall time; a resumed run starts its clock anew."""
    allowance: Allowance = Allowance()
    """What servers may be paid, and their prices; a run that reaches a cap goes on when resumed with a higher one."""
    seed: int = Field(default=0, ge=0, lt=2**63)
    """Seed of everything random: parents, sampling, noise."""
    splits: tuple[str, ...] = ()
    """Splits on which the result is measured in the end; all of the problem's without any."""
    compare: bool = True
    """Whether the end of the search also measures the problem's baselines and textbook algorithms."""
    workers: int = Field(default_factory=lambda: len(os.sched_getaffinity(0)), ge=1, le=1024)
    """Processes that generate, of all engines together, and processes that evaluate."""
    unsafe_no_sandbox: bool = False
    """Run candidates without bubblewrap. Only on a machine with nothing to lose."""

    @property
    def has_es(self) -> bool:
        """Whether members are asked for at all: the grammar has no model, whatever its recorded `es` says."""
        return self.es != "off" and self.method != "grammar"

    @model_validator(mode="after")
    def _is_guided(self) -> "SearchConfig":
        if self.weights.scope != GUIDED:
            return self
        strategy = self.evolution_strategy
        if strategy.rank > 0 or self.es == "low-rank":
            raise ValueError(
                f"scope guided has noise of its own, got es {self.es} and rank {strategy.rank}; "
                "take es dense and rank 0"
            )
        if strategy.subspaces > 1:
            raise ValueError(f"scope guided is one subspace, got {strategy.subspaces} subspaces; take 1")
        if self.es == "off":
            raise ValueError("scope guided moves weights, got es off; take es dense, or drop the scope")
        return self

    @model_validator(mode="after")
    def _goes_together(self) -> "SearchConfig":
        if self.es == "low-rank" and self.evolution_strategy.rank == 0:
            raise ValueError("es low-rank needs a rank of 1 or more, got 0; name one, or take es dense")
        if self.es != "low-rank" and self.evolution_strategy.rank > 0:
            raise ValueError(
                f"a rank goes with es low-rank, got rank {self.evolution_strategy.rank} and es {self.es}; "
                "add --es low-rank, or drop the rank"
            )
        if self.es == "low-rank" and self.weights.scope != "linear":
            raise ValueError(
                f"es low-rank moves the matrices of the blocks, got scope {self.weights.scope!r}; take scope linear"
            )
        if self.es != "off" and self.weights.scope == FROZEN:
            raise ValueError("scope none leaves nothing to move; take es off, or name another scope")
        return self

    @model_validator(mode="after")
    def _suits_method(self) -> "SearchConfig":
        if self.method == "sample" and self.reward == "difference":
            raise ValueError("method sample writes children without parents, got reward difference; take cost or rank")
        if self.method == "grammar" and self.skill_every is not None:
            raise ValueError("method grammar reads no prompts, so a skill has no effect; drop skill_every")
        if self.guard and not self.learns:
            raise ValueError("the guard refuses updates, and noise only has none; drop one of them")
        if self.es == "off" and (self.guard or not self.learns):
            raise ValueError("without ES there are no members to guard or to perturb; take es dense, or drop the rest")
        if self.skill_every is None and self.skill_model:
            raise ValueError(f"skill_model {self.skill_model!r} without skill_every would never be asked; set both")
        return self

    @model_validator(mode="after")
    def _is_paid(self) -> "SearchConfig":
        allowance, asks = self.allowance, self.engine == "endpoint" or is_address(self.model)
        if not allowance.is_empty and not asks and not is_address(self.skill_model):
            raise ValueError(
                f"caps and prices are for servers, got model {self.model!r}, which costs nothing; drop them, or name "
                "a server as model or skill_model"
            )
        if allowance.skill_price_in is not None and self.skill_model in ("", "statistics"):
            raise ValueError("skill prices are for a skill model of its own, got none; add skill_model, or drop them")
        return self

    @model_validator(mode="after")
    def _is_served(self) -> "SearchConfig":
        serves = "endpoint" if is_address(self.model) else self.engine
        if self.engine not in ("auto", serves):
            raise ValueError(
                f"the address of a server goes with engine endpoint, got engine {self.engine}; drop --engine, or name "
                "what that engine serves as --model"
            )
        if serves == "endpoint" and self.es != "off":
            raise ValueError(f"the weights behind an endpoint cannot move, got es {self.es}; take es off")
        if self.tensor_parallel > 1 and self.engine != "vllm":
            raise ValueError(
                f"only engine vllm shards a model, got tensor_parallel {self.tensor_parallel} and engine "
                f"{self.engine}; add --engine vllm"
            )
        return self

    @model_validator(mode="after")
    def _has_engines(self) -> "SearchConfig":
        if self.heal and self.engines == 1:
            raise ValueError("heal is for engines that disagree, got 1 engine; add --engines, or drop it")
        if self.engines > 1 and (is_address(self.model) or self.engine == "endpoint"):
            raise ValueError(
                f"a server spreads the requests in flight itself, got engines {self.engines}; drop --engines"
            )
        if self.engines > 1 and self.method == "grammar":
            raise ValueError(f"method grammar asks no engine, got engines {self.engines}; drop --engines")
        return self


TABLES = ("evolution_strategy", "weights", "skill", "allowance")
"""Fields that are tables: a partial one is filled up with defaults."""

EMBEDDED_STRATEGY: dict[str, Any] = {"sigma": 5e-3, "alpha": 2.5e-3}
"""Defaults for the embedded model, whose weights are larger (RMS about 0.1) than those of a hub model."""

GUIDED_STRATEGY: dict[str, Any] = {"sigma": 6e-4, "alpha": 3e-4, "antithetic": True}
"""Defaults of scope guided: along gradients of its loss a model falls apart at a σ that is harmless elsewhere.

σ is the one chosen by probes of the embedded model on `cvrp` (runs/results/es_sweep.md). α is a sixth of what pays most
on fixed parents: in a search, whose rewards vanish as the population settles, large steps end as a random walk
(runs/results/guided-1000)."""

EMBEDDED_MAX_TOKENS = 160
"""Longest answer of the embedded model; its programs are short, and what runs on is lost."""


def make_config(values: dict[str, Any], recipe: str | None = None) -> SearchConfig:
    """Resolve a configuration: defaults < recipe < values.

    Args:
        values: Fields the user gave; `evolution_strategy` may be partial.
        recipe: Name in `RECIPES`.

    Raises:
        ConfigError: Naming each field that does not fit, or the recipes there are.
    """
    if recipe is not None and recipe not in RECIPES:
        raise ConfigError(f"expected a recipe among {', '.join(RECIPES)}, got {recipe!r}")
    chosen = RECIPES[recipe] if recipe else {}
    layers = (_defaults_for({**chosen, **values}), chosen, values)
    tables = {name: layered(name, layers) for name in TABLES}
    try:
        return SearchConfig.model_validate({**layers[0], **chosen, **values, **tables})
    except ValidationError as error:
        raise ConfigError(explain(error, SearchConfig)) from error


def _defaults_for(values: Mapping[str, Any]) -> dict[str, Any]:
    """Defaults that follow from other choices."""
    own: dict[str, Any] = {}
    strategy: dict[str, Any] = {"children": 2}
    model, engine, es = (values.get(key, default) for key, default in _DECIDING.items())
    if model == "embedded":
        own["max_tokens"] = EMBEDDED_MAX_TOKENS
        strategy |= EMBEDDED_STRATEGY
    if _scope_of(values) == GUIDED:
        strategy |= GUIDED_STRATEGY
    if engine == "endpoint" or (engine == "auto" and is_address(str(model))):
        own["es"] = "off"
    if es == "low-rank":
        own["weights"] = {"scope": "linear"}
        strategy["rank"] = 1
    if values.get("method") == "sample":
        own["reward"] = "cost"
        strategy |= {"members": 20, "children": 1}
    return own | {"evolution_strategy": strategy}


def _scope_of(values: Mapping[str, Any]) -> Any:
    weights = values.get("weights")
    return weights.get("scope") if isinstance(weights, Mapping) else getattr(weights, "scope", None)


_DECIDING = {"model": "embedded", "engine": "auto", "es": "dense"}


def absolute(config: SearchConfig) -> SearchConfig:
    """The same search with every path absolute, so that it can be resumed from anywhere.

    A name stays a name, also where the working directory happens to hold a file or folder that is called so.
    """
    changes: dict[str, Any] = {"start": tuple(str(Path(file).resolve()) for file in config.start)}
    if (Path(config.problem) / "problem.toml").is_file():
        changes["problem"] = str(Path(config.problem).resolve())
    for name in ("model", "skill_model"):
        value = getattr(config, name)
        if value not in ("", "embedded", "statistics") and Path(value).exists():
            changes[name] = str(Path(value).resolve())
    if config.weights.basis:
        basis = str(Path(config.weights.basis).expanduser().resolve())
        changes["weights"] = config.weights.model_copy(update={"basis": basis})
    return config.model_copy(update=changes)

"""What kind of run is meant: the same configuration that the run itself would resolve to."""

from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from pydantic import BaseModel, ConfigDict

from coevo.content import ProblemFolder, find_problem
from coevo.engines.endpoint.address import is_address, parse_address
from coevo.engines.loading import EMBEDDED, PLAYER, resolve_model
from coevo.environments.loading import EnvironmentFolder, find_environment
from coevo.errors import ConfigError
from coevo.es.settings import ESSettings
from coevo.learning.choice import ModelChoice
from coevo.searching.config import SearchConfig, make_config
from coevo.searching.models import choice_of
from coevo.tuning.config import TuneConfig, make_tune_config

PLAYED_BY_THE_PLAYER = "sudoku"
DEFAULT_PROBLEM = "tsp"
DEFAULT_BUDGET = 200


class Wish(BaseModel):
    """What the user said, and how it travels to the worker. None where nothing was said."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    problem: str | None = None
    env: str | None = None
    model: str | None = None
    engine: str | None = None
    budget: int | None = None
    members: int | None = None
    runs_dir: str = "runs"


@dataclass(frozen=True)
class Asked:
    """A wish, resolved.

    Attributes:
        wish: What the user said.
        search: The search that is meant; None where a tuning run is.
        tuning: The tuning run that is meant; None where a search is.
        problem: The problem that is searched on, or was named beside an environment.
        environment: The environment that is tuned in.
    """

    wish: Wish
    search: SearchConfig | None
    tuning: TuneConfig | None
    problem: ProblemFolder | None
    environment: EnvironmentFolder | None

    @cached_property
    def choice(self) -> ModelChoice:
        """Which model, and how it is served."""
        if self.tuning is not None:
            return self.tuning.choice
        assert self.search is not None
        return choice_of(self.search)

    @property
    def strategy(self) -> ESSettings:
        """σ, α, members."""
        config = self.tuning or self.search
        assert config is not None
        return config.evolution_strategy

    @property
    def moves(self) -> bool:
        """Whether there are weights, and they are to move."""
        return self.choice.moves and self.holds_weights

    @property
    def holds_weights(self) -> bool:
        """Whether the model lies in a folder here."""
        return not self.choice.is_endpoint and self.choice.engine != "scripted"

    @property
    def runs_dir(self) -> Path:
        """Where the run would write."""
        return Path(self.wish.runs_dir)

    def summary(self) -> dict[str, Any]:
        """What was examined, for the report."""
        return {
            "problem": None if self.problem is None else self.problem.spec.name,
            "env": None if self.environment is None else self.environment.spec.name,
            "model": self.choice.model,
            "engine": self.choice.engine,
            "budget": None if self.search is None else self.search.budget,
            "members": self.strategy.members,
            "workers": self.choice.workers,
            "runs_dir": str(self.runs_dir),
        }


def resolve(wish: Wish) -> Asked:
    """The run that is meant: a tuning run where an environment is named, else a search, on tsp unless told otherwise.

    Raises:
        CoevoError: If a name, number or combination cannot be used; what is broken behind a name that is right, such as
            the weights of a model, is left to the checks.
    """
    if wish.env is not None and wish.budget is not None:
        raise ConfigError("a budget is that of a search, and --env means a tuning run, got both; drop one of them")
    environment = None if wish.env is None else find_environment(wish.env)
    named = wish.problem or (None if environment else DEFAULT_PROBLEM)
    problem = None if named is None else find_problem(named)
    values = {"model": wish.model or _shipped(wish), "engine": wish.engine}
    given: dict[str, Any] = {key: value for key, value in values.items() if value is not None}
    if wish.members is not None:
        given["evolution_strategy"] = {"members": wish.members}
    search = tuning = None
    if environment is not None:
        tuning = make_tune_config({"env": wish.env, **given})
    else:
        budget = DEFAULT_BUDGET if wish.budget is None else wish.budget
        search = make_config({"problem": named, "budget": budget, **given})
    asked = Asked(wish, search, tuning, problem, environment)
    _require_model(asked.choice)
    return asked


def _shipped(wish: Wish) -> str:
    plays = wish.env == PLAYED_BY_THE_PLAYER
    return PLAYER if plays else EMBEDDED


def _require_model(choice: ModelChoice) -> None:
    if choice.engine == "scripted":
        return
    if is_address(choice.model) or choice.is_endpoint:
        parse_address(choice.model)
    else:
        resolve_model(choice.model)

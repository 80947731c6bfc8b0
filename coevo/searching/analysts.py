"""From a configuration to who distils the skill: nobody, statistics, the model that writes, or another one."""

from collections.abc import Callable
from contextlib import ExitStack

from coevo.content import ProblemFolder
from coevo.errors import ConfigError, ModelError
from coevo.evolution.renderers import RendererName
from coevo.interfaces import Engine, Sampling
from coevo.learning.asking import Asker, skill_questions
from coevo.learning.models import OpenModel
from coevo.records.event_log import EventLog
from coevo.searching.config import SearchConfig, make_config
from coevo.searching.models import renderer_of, start_model
from coevo.skills import Analyst, Ask, ModelAnalyst, StatisticsAnalyst, load_prompts

STATISTICS = "statistics"
ANSWER_TOKENS = 768
"""Shortest limit on an analyst's answer: that of the writer may be set for short programs."""

AnalystAt = Callable[[int], Analyst]
"""From a generation to the analyst of the update after it."""


def asks_a_model(config: SearchConfig, writer: RendererName) -> bool:
    """Whether the skill of a configuration is distilled by a model, and not from statistics.

    Args:
        config: Names it.
        writer: How prompts for the model that writes the children are written.
    """
    if config.skill_model:
        return config.skill_model != STATISTICS
    return writer != "slots"


def start_mentor(config: SearchConfig, problem: ProblemFolder, model: OpenModel, stack: ExitStack) -> Engine | None:
    """The engine that answers an analyst's questions; None where none are asked.

    Args:
        config: Names it.
        problem: What the skill is about.
        model: The model that writes the children.
        stack: Closes what has to be started.

    Raises:
        ModelError: If another model is named that cannot be loaded.
        ConfigError: If that model reads no words.
    """
    if config.skill_every is None or not asks_a_model(config, model.renderer):
        return None
    if not config.skill_model:
        return model.engine
    check_analyst(config)
    engine = start_model(_config_of_other(config), problem).engine
    stack.callback(engine.close)
    return engine


def analyst_of(config: SearchConfig, task: str, mentor: Engine | None, log: EventLog) -> AnalystAt | None:
    """Who distils the skill of a run; None for a run without one.

    Args:
        config: Says whether there is a skill.
        task: What the skill is about, in words.
        mentor: Who is asked, from `start_mentor`.
        log: Where completions for the skill are charged.

    Raises:
        ContentError: If a prompt file is missing or malformed.
    """
    if config.skill_every is None:
        return None
    if mentor is None:
        statistics = StatisticsAnalyst()  # one for the run: it remembers the programs it has read
        return lambda generation: statistics
    asker, prompts = Asker(mentor, log), load_prompts()
    return lambda generation: ModelAnalyst(_ask(asker, config, generation), prompts, task)


def check_analyst(config: SearchConfig) -> None:
    """Refuse a skill model that reads no words.

    Raises:
        ConfigError: Naming it.
        ModelError: If there is no such model.
    """
    if config.skill_every is None or config.skill_model in ("", STATISTICS):
        return
    try:
        renderer = renderer_of(_config_of_other(config))
    except ModelError as error:
        raise ModelError(f"skill model: {error}") from error
    if renderer == "slots":
        raise ConfigError(
            f"expected a skill model that reads words, got {config.skill_model}, which reads slots; "
            f"name another one, or take --skill-model {STATISTICS}"
        )


def _config_of_other(config: SearchConfig) -> SearchConfig:
    return make_config({"budget": 1, "model": config.skill_model, "es": "off", "workers": config.workers})


def _ask(asker: Asker, config: SearchConfig, generation: int) -> Ask:
    sampling = Sampling(config.temperature, config.top_p, max(config.max_tokens, ANSWER_TOKENS))
    return skill_questions(asker, config.seed, generation, sampling)

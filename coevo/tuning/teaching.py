"""How the prompts learn beside the weights: what episodes teach is distilled into a skill that later prompts hold.

Trace2Skill (arXiv:2603.25158), alternating with ES during the run; the agent's own unperturbed model is the analyst.
"""

from collections.abc import Sequence

from coevo.interfaces import Sampling
from coevo.learning.asking import Asker, skill_questions
from coevo.records.event_log import EventLog
from coevo.records.run_directory import RunDirectory
from coevo.skills import ModelAnalyst, Passage, Skill, Trace, load_prompts, update_skill
from coevo.skills.trace import Outcome
from coevo.tuning.config import TuneConfig
from coevo.tuning.episodes import Episode

ANSWER_TOKENS = 768
"""Longest answer of the analyst."""

_PASSAGES = 60
"""Most turns of an episode that a trace tells of, half of them its first ones and half its last."""


class Coach:
    """The skill of one run: episodes are noted, and every few generations the skill is brought up to date.

    Args:
        config: How often, and within which bounds.
        title: What the skill is about: the environment's name.
        asker: Asks the model that plays.
        log: Where each version is recorded.
        directory: Where the latest version is kept as SKILL.md.
    """

    def __init__(self, config: TuneConfig, title: str, asker: Asker, log: EventLog, directory: RunDirectory) -> None:
        self._config = config
        self._asker = asker
        self._log = log
        self._directory = directory
        self._traces: list[Trace] = []
        self._skill = Skill(title)
        self._prompts = load_prompts() if config.skill_every is not None else {}

    @property
    def text(self) -> str:
        """What conversations are given of the skill as it is now."""
        return self._skill.guidance().text

    def observe(self, generation: int, episodes: Sequence[Episode], *, at_best: float) -> None:
        """Take note of the training episodes of a generation."""
        if self._config.skill_every is not None:
            self._traces += [
                trace_of(episode, generation, self._skill.title, at_best=at_best)
                for episode in episodes
                if episode.score is not None and episode.opening
            ]

    def teach(self, generation: int) -> bool:
        """After every `skill_every` generations but the last: distil a new version. Whether there is one."""
        every = self._config.skill_every
        if every is None or generation % every or generation == self._config.generations:
            return False
        ask = skill_questions(self._asker, self._config.seed, generation, Sampling(max_tokens=ANSWER_TOKENS))
        analyst = ModelAnalyst(ask, self._prompts, f"Act in the environment {self._skill.title}.")
        update = update_skill(self._skill, self._traces, analyst, self._config.skill)
        self._skill, self._traces = update.skill, []
        self._log.emit("skill", generation=generation, **update.facts())
        self._directory.save_skill(update.skill.text)
        return True


def trace_of(episode: Episode, generation: int, title: str, *, at_best: float) -> Trace:
    """An episode as a trace: good if nothing could be better, bad if it earned nothing, neutral between.

    Args:
        episode: One whose conversation was kept, and that has a score.
        generation: Scores are compared within it.
        title: Name of the environment.
        at_best: The score that could not be better.
    """
    score = 0.0 if episode.score is None else episode.score
    outcome: Outcome = "good" if score >= at_best else "bad" if score <= 0 else "neutral"
    turns = list(enumerate(episode.transcript, 1))
    if len(turns) > _PASSAGES:
        turns = turns[: _PASSAGES // 2] + turns[-_PASSAGES // 2 :]
    passages = [Passage("What the agent was told", episode.opening)]
    for number, turn in turns:
        passages += [Passage(f"Turn {number}, the agent", turn.said), Passage(f"Turn {number}, reply", turn.heard)]
    return Trace(
        id=episode.id,
        task=title,
        outcome=outcome,
        passages=tuple(passages),
        value=score,
        subject=f"{episode.task} {outcome}",
        stratum=str(generation),
        reason=episode.ended if outcome == "bad" else "",
    )

"""The analyst that is a language model: one lesson patch of each trace, asked in parallel, then merges."""

from collections.abc import Callable, Sequence

from coevo.skills.answers import lesson_patch, merged_patch, read_answer
from coevo.skills.merging import MERGED_EDITS, bounded, union
from coevo.skills.patch import Patch, Proposal, Rejection
from coevo.skills.prompts import Prompt
from coevo.skills.quoting import MARK, PREAMBLE
from coevo.skills.selection import select
from coevo.skills.settings import SkillSettings
from coevo.skills.skill import Skill
from coevo.skills.trace import Trace

Ask = Callable[[str, Sequence[str]], list[str | None]]
"""A stage ("lessons", "merge.1", "merge.2", …) and its prompts -> the answers in order, None for a cut-off one."""


class ModelAnalyst:
    """Asks a model, through a function that charges, records and resumes.

    Args:
        ask: Asks all prompts of a stage at once.
        prompts: As `load_prompts` gives them.
        task: What the task is, in words.
    """

    is_cumulative = False

    def __init__(self, ask: Ask, prompts: dict[str, Prompt], task: str):
        self._ask = ask
        self._prompts = prompts
        self._task = task

    def choose(self, traces: Sequence[Trace], settings: SkillSettings) -> list[Trace]:
        """A bounded number of both kinds."""
        return select(traces, settings.max_traces)

    def lessons(self, skill: Skill, traces: Sequence[Trace], settings: SkillSettings) -> list[Proposal]:
        """The patch of each trace; a failure has a prompt of its own, that asks for its cause (as published)."""
        prompts = [self._lesson_prompt(skill, trace, settings) for trace in traces]
        answers = self._answers("lessons", prompts)
        return [self._lesson(skill, trace, text) for trace, text in zip(traces, answers, strict=True)]

    def merge(
        self, skill: Skill, level: int, groups: Sequence[Sequence[Patch]], settings: SkillSettings
    ) -> list[Proposal]:
        """One merged patch of each group; where the answer cannot be read or used, the deterministic merge."""
        unions = [union(group) for group in groups]
        prompts = [self._merge_prompt(skill, patch, settings) for patch in unions]
        answers = self._answers(f"merge.{level}", prompts)
        return [self._merged(skill, patch, text) for patch, text in zip(unions, answers, strict=True)]

    def _answers(self, stage: str, prompts: Sequence[str]) -> list[str | None]:
        answers = self._ask(stage, prompts) if prompts else []
        if len(answers) != len(prompts):
            raise ValueError(f"expected {len(prompts)} answers of stage {stage}, got {len(answers)}")
        return answers

    def _lesson_prompt(self, skill: Skill, trace: Trace, settings: SkillSettings) -> str:
        name = "skill_failure" if trace.outcome == "bad" else "skill_lesson"
        return self._prompts[name].fill(
            {
                "task": self._task,
                "skill": skill.listing(),
                "trace": trace.render(settings.trace_chars),
                "lesson_chars": str(settings.lesson_chars),
            }
        )

    def _merge_prompt(self, skill: Skill, patch: Patch, settings: SkillSettings) -> str:
        edits = [f"{MARK}{number}. {edit} (traces: {len(edit.evidence)})" for number, edit in enumerate(patch.edits, 1)]
        return self._prompts["skill_merge"].fill(
            {
                "task": self._task,
                "skill": skill.listing(),
                "edits": "\n".join([PREAMBLE, "", *edits]),
                "lesson_chars": str(settings.lesson_chars),
                "max_edits": str(MERGED_EDITS),
            }
        )

    def _lesson(self, skill: Skill, trace: Trace, text: str | None) -> Proposal:
        answer = None if text is None else read_answer(skill, text)
        if answer is None or not answer.is_readable:
            reason = "the answer was cut off" if answer is None else "the answer holds no edit"
            return Proposal(Patch(), (Rejection(f"lesson of trace {trace.id}", reason),))
        patch, rejected = lesson_patch(trace.id, answer)
        return Proposal(patch, tuple(rejected))

    def _merged(self, skill: Skill, patch: Patch, text: str | None) -> Proposal:
        answer = None if text is None else read_answer(skill, text)
        if answer is not None and answer.is_readable:
            kept, rejected = merged_patch(patch.edits, answer, MERGED_EDITS)
            if kept or answer.says_none:
                return Proposal(kept, tuple(rejected))
        kept, rejected = bounded(patch)
        return Proposal(kept, tuple(rejected), fell_back=True)

"""The data sets of reasoning-gym: one question, one answer, scored by the set itself.

An `environment.py` around one of them, with `conversation = "grows"`, `turns = 1` and the need
`package = "reasoning_gym"`, `install = "pip install 'coevo[agents]'"` in `environment.toml`:

    from coevo.environments.adapters.question_sets import QuestionSet

    SET = QuestionSet("chain_sum", {"train": 200, "val": 100}, seed=1, config={"min_terms": 3})

    def tasks(split):
        return SET.tasks(split)

    def open():
        return SET.open()

Some sets score an answer by running it as Python. The agent's text would run in this process: they are refused. A few
(isomorphic_strings, knight_swap, ransom_note, word_ladder in 0.1.25) take texts in the order of a Python set, so that
each process has other questions unless PYTHONHASHSEED is set: `coevo env check` tells.
"""

import ast
import inspect
import random
import textwrap
import threading
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cached_property
from itertools import islice
from typing import Any

import numpy as np

from coevo.environments.adapters.common import optional
from coevo.errors import ConfigError, ContentError
from coevo.interfaces import Message, Step, Task

RULES = "Answer the question. Write the answer alone between <answer> and </answer>."
MOST_CHARACTERS = 20_000
"""Of an answer that is scored; a longer one is worth nothing. Scoring rules are not made for long texts."""
RUNS_CODE = frozenset({"eval", "exec", "compile", "parse_expr", "sympify"})
"""Functions that run a text as Python; SymPy's parsers do."""
_GLOBAL_GENERATORS = threading.Lock()
"""Held while a set is asked: some seed the generators that the whole process shares."""


@dataclass(frozen=True)
class QuestionSet:
    """Questions of one data set, cut into splits.

    Args:
        name: As reasoning-gym registers it.
        sizes: Number of questions of every split, by name.
        seed: Of the set.
        config: Further settings of the set.
        rules: What the agent is told before the question.
    """

    name: str
    sizes: Mapping[str, int]
    seed: int = 0
    config: Mapping[str, Any] = field(default_factory=dict)
    rules: str = RULES

    def tasks(self, split: str) -> list[Task]:
        """The questions of a split; no question is in two splits or twice in one.

        Raises:
            ConfigError: If there is no such split or set, or the set runs answers as code.
            ContentError: If the set has too few different questions.
            ExtraMissingError: Without reasoning-gym.
        """
        if split not in self.sizes:
            raise ConfigError(f"expected one of the splits {', '.join(self.sizes)}, got {split!r}")
        before = sum(size for name, size in self.sizes.items() if list(self.sizes).index(name) < self._place(split))
        chosen = list(islice(self._different(), before, before + self.sizes[split]))
        if len(chosen) < self.sizes[split]:
            raise ContentError(
                f"expected {sum(self.sizes.values())} different questions of the set {self.name}, it has fewer in "
                f"{self._looked_at()}; ask for fewer"
            )
        return [Task(f"{self.name}-{index}", {"index": index, "question": text}) for index, text in chosen]

    def open(self) -> "QuestionEnvironment":
        """An environment that asks them."""
        return QuestionEnvironment(self)

    def entry(self, index: int) -> dict[str, Any]:
        """A question with its answer, as the set makes it."""
        with self._asked(index) as dataset:
            return dict(dataset[index])

    def score(self, answer: str, entry: Mapping[str, Any], index: int) -> float:
        """What the set says an answer is worth, 0 to 1; 0 for one that its rules cannot bear."""
        if len(answer) > MOST_CHARACTERS:
            return 0.0
        with self._asked(index) as dataset:
            try:
                value = float(dataset.score_answer(answer, dict(entry)))
            except Exception:  # a scoring rule meets a text that it was not made for
                return 0.0
        return min(1.0, max(0.0, value)) if np.isfinite(value) else 0.0

    def _different(self) -> Iterator[tuple[int, str]]:
        """Index and text of the questions that no earlier one repeats."""
        seen = set()
        for index in range(self._looked_at()):
            question = str(self.entry(index)["question"])
            if question not in seen:
                seen.add(question)
                yield index, question

    def _looked_at(self) -> int:
        return 10 * sum(self.sizes.values())

    def _place(self, split: str) -> int:
        return list(self.sizes).index(split)

    @contextmanager
    def _asked(self, index: int) -> Iterator[Any]:
        """The set, with the process's generators seeded for a question and afterwards as they were before."""
        with _GLOBAL_GENERATORS:
            python, numpy = random.getstate(), np.random.get_state()  # noqa: NPY002
            try:
                random.seed(self.seed + index)
                np.random.seed((self.seed + index) % 2**32)  # noqa: NPY002 - it is the global one that sets may use
                yield self._dataset
            finally:
                random.setstate(python)
                np.random.set_state(numpy)  # noqa: NPY002

    @cached_property
    def _dataset(self) -> Any:
        package = optional("reasoning_gym", f"the questions of {self.name}")
        try:
            dataset = package.create_dataset(self.name, seed=self.seed, size=self._looked_at(), **self.config)
        except (ValueError, TypeError, AssertionError) as error:
            raise ConfigError(
                f"expected a set of reasoning-gym with these settings, got {self.name}: {error}"
            ) from error
        if function := runs_code(type(dataset)):
            raise ConfigError(
                f"the set {self.name} scores an answer with {function}, which would run the agent's text as Python "
                "outside the sandbox; choose another set"
            )
        return dataset


def runs_code(dataset: type) -> str:
    """The function by which a set's scoring rule would run an answer as Python; empty for none."""
    tree = ast.parse(textwrap.dedent(inspect.getsource(dataset.score_answer)))  # type: ignore[attr-defined]
    calls = [node.func for node in ast.walk(tree) if isinstance(node, ast.Call)]
    names = [call.attr if isinstance(call, ast.Attribute) else getattr(call, "id", "") for call in calls]
    return next((name for name in names if name in RUNS_CODE), "")


def final_answer(text: str) -> str:
    """What stands in the last <answer> tag; the whole text where there is none, or it is not closed."""
    _, opened, inside = text.rpartition("<answer>")
    answer, closed, _ = inside.partition("</answer>")
    return (answer if opened and closed else text).strip()


class QuestionEnvironment:
    """See `coevo.interfaces.Environment`. One turn; deterministic, and the seed is not used."""

    def __init__(self, questions: QuestionSet):
        self._questions = questions
        self._index = 0
        self._entry: dict[str, Any] = {}

    def reset(self, task: Task, seed: int) -> Sequence[Message]:
        """See `Environment`.

        Raises:
            ContentError: If the set makes another question than it did for the task.
        """
        self._index = int(task.data["index"])
        self._entry = self._questions.entry(self._index)
        if self._entry["question"] != task.data["question"]:
            raise ContentError(
                f"expected the question of {task.name} again, the set {self._questions.name} made another"
            )
        return Message("system", self._questions.rules), Message("user", task.data["question"])

    def step(self, text: str) -> Step:
        """See `Environment`."""
        answer = final_answer(text)
        reward = self._questions.score(answer, self._entry, self._index)
        return Step(reward=reward, done=True, info={"valid": "</answer>" in text})

    def close(self) -> None:
        """See `Environment`; there is nothing to release."""

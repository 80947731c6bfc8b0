"""A judge that gives no verdict is a fault of the surroundings, and never a wrong answer.

Some tasks of WebArena ask a language model whether an answer is right. BrowserGym's task takes an answer of it that
cannot be used (an `AssertionError` of the evaluator) for a score of 0; the guard stands between the two.
"""

from collections.abc import Callable
from typing import Any

from coevo.errors import EnvironmentFault


class JudgeGuard:
    """Turns a missing verdict into an `EnvironmentFault`.

    Attributes:
        is_final: Whether the agent's answer is being judged. Before that BrowserGym asks too, about no answer at all,
            and what the judge makes of it does not matter.
    """

    def __init__(self) -> None:
        self.is_final = False

    def watch(self, gym: Any) -> None:
        """Stand before the evaluator of the task that a BrowserGym environment has just been reset to."""
        task = getattr(gym.unwrapped, "task", None)
        if task is not None and callable(getattr(task, "evaluator", None)):
            task.evaluator = self._around(task.evaluator)

    def _around(self, evaluator: Callable[..., float]) -> Callable[..., float]:
        def judged(*arguments: Any, **named: Any) -> float:
            try:
                return evaluator(*arguments, **named)
            except AssertionError as error:
                if self.is_final:
                    raise EnvironmentFault("the judge of the answer gave no verdict") from error
                raise

        return judged

"""Episodes on pages of MiniWoB++, in a browser that lives as long as the environment.

The reward is 1 where the page gives full marks and else 0: what it gives without its loss over time ("raw", from -1 to
1; some pages give a part for a part) is in `Step.info`. Pages that mark by nearness (bisect-angle, chase-circle,
circle-center, draw-circle, draw-line, find-midpoint, right-angle) hardly ever give all of it. The page's time limit is
off: turns are limited instead, and the page's clock stands still between them.
"""

import json
from collections.abc import Sequence
from typing import Any

from coevo.environments.web.actions import Action, read_action
from coevo.environments.web.browser import PROGRAM, Browser
from coevo.environments.web.page import Page
from coevo.environments.web.pages import page_file
from coevo.environments.web.performing import perform
from coevo.environments.web.prompting import Story
from coevo.errors import EnvironmentFault
from coevo.interfaces import Message, Step, Task

TURNS = 10
SETTLE_MS = 1000
"""What passes on the page's clock after each action: longer than the animations of the pages."""
FULL_MARKS = 1 - 1e-6
"""Pages that add up parts may miss 1 by the rounding of the sum."""
NO_LIMIT_MS = 2**31 - 1
"""The longest timer that a page can have, 24 days."""

_MORE = "stop                       end the episode, if nothing is left to do\n"
_NOT_THE_PAGE = "#query, #reward-display, #click-canvas, #sync-task-cover"
_BEGIN = """(() => {
  if (typeof core === 'undefined' || typeof genProblem === 'undefined') return null;
  Math.seedrandom(%s);
  core.EPISODE_MAX_TIME = %d;
  core.startEpisodeReal();
  return core.getUtterance();
})()"""
_STATE = """typeof WOB_DONE_GLOBAL === 'undefined' || typeof coevo === 'undefined' ? null
  : { done: WOB_DONE_GLOBAL, raw: WOB_RAW_REWARD_GLOBAL, reason: String(WOB_REWARD_REASON ?? '') }"""


class PageEpisodes:
    """See `coevo.interfaces.Environment`.

    The same task and answers give the same messages and rewards: what a page draws comes from the task's seed, and its
    clock moves with the turns. The seed of `reset` is not used. The exception is what a page does while it loads.

    Args:
        turns: Most turns of an episode.
        page_chars: Most characters of a page that are shown.
        program: Chromium.
    """

    def __init__(self, turns: int = TURNS, page_chars: int = 8000, program: str = PROGRAM):
        self._turns = turns
        self._page_chars = page_chars
        self._program = program
        self._browser: Browser | None = None
        self._page: Page | None = None
        self._story = Story("", "")
        self._seen = ""
        self._is_over = True

    def reset(self, task: Task, seed: int) -> Sequence[Message]:
        """See `Environment`; starts a browser if there is none, or another if the last one died."""
        try:
            page = self._open_page()
            page.load(page_file(task.data["page"]))
            goal = page.evaluate(_BEGIN % (json.dumps(task.data["seed"]), NO_LIMIT_MS))
            if goal is None:
                raise EnvironmentFault(f"the page {task.data['page']} is no task of MiniWoB++")
            page.let_pass(SETTLE_MS)
            self._story = Story(str(goal), _MORE)
            self._seen = self._look(page)
        except EnvironmentFault:
            self.close()
            raise
        self._is_over = False
        return self._story.tell(self._seen)

    def step(self, text: str) -> Step:
        """See `Environment`.

        Raises:
            RuntimeError: If no episode is open.
            EnvironmentFault: If the browser fails; the next `reset` starts another.
        """
        if self._page is None or self._is_over:
            raise RuntimeError("no episode is open: call reset before step")
        try:
            return self._take(self._page, text)
        except EnvironmentFault:
            self.close()
            raise

    def close(self) -> None:
        """End the browser."""
        browser, self._browser, self._page = self._browser, None, None
        self._is_over = True
        if browser is not None:
            browser.close()

    def _open_page(self) -> Page:
        if self._browser is not None and not self._browser.is_alive:
            self.close()
        if self._browser is None:
            self._browser = Browser(self._program)
        if self._page is None:
            self._page = Page(self._browser)
        return self._page

    def _take(self, page: Page, text: str) -> Step:
        action = read_action(text)
        if isinstance(action, str):
            self._story.add(None, action, has_effect=False)
            return self._step(None, action, {})
        if action.verb in ("stop", "answer"):
            self._story.add(action, "", has_effect=True)
            return self._step(action, "", {"done": True, "raw": 0, "reason": "stopped by the agent"})
        problem = perform(page, action)
        page.let_pass(SETTLE_MS)
        state = page.evaluate(_STATE) or {"done": True, "raw": 0, "reason": "the page was left"}
        return self._step(action, problem, self._noted(page, action, problem, state))

    def _noted(self, page: Page, action: Action, problem: str, state: dict[str, Any]) -> dict[str, Any]:
        """The state of the page, once what came of the action has been told."""
        before = self._seen
        if not state["done"]:
            self._seen = self._look(page)
        said = [f"The page said: {json.dumps(text[:200], ensure_ascii=False)}." for text in page.dialogs()]
        has_effect = self._seen != before or bool(said)
        outcome = problem or " ".join(said) or ("" if has_effect else "Nothing changed on the page.")
        self._story.add(action, outcome, has_effect=has_effect)
        return state

    def _step(self, action: Action | None, problem: str, state: dict[str, Any]) -> Step:
        done = bool(state.get("done"))
        is_cut = not done and (self._story.turns >= self._turns or self._story.is_stuck)
        info = {"action": str(action) if action else None, "valid": not problem, **state}
        if problem:
            info["problem"] = problem
        if is_cut:
            info["cut"] = "stuck" if self._story.is_stuck else "turns"
        reward = float(done and state["raw"] >= FULL_MARKS)
        messages = () if done or is_cut else self._story.tell(self._seen)
        self._is_over = done or is_cut
        return Step(messages=messages, reward=reward, done=done, truncated=is_cut, info=info)

    def _look(self, page: Page) -> str:
        return str(page.ask("observe", self._page_chars, _NOT_THE_PAGE))

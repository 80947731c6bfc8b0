"""BrowserGym tasks: pages in a real browser, seen as text.

An `environment.py` around tasks that a BrowserGym package registers:

    from coevo.environments.adapters.browser_tasks import BrowserTasks
    from coevo.environments.adapters.common import seeded_tasks

    def tasks(split):
        return seeded_tasks(split, {"train": 50, "val": 20}, id="browsergym/miniwob.click-test")

    def open():
        return BrowserTasks(register=("browsergym.miniwob",))

with `conversation = "renewed"` and `at_once = 1` in `environment.toml`: BrowserGym keeps one Playwright for the whole
process, which belongs to the thread that made it, so all its episodes are played in one thread. A page is flattened by
BrowserGym itself, and an action is the text that BrowserGym reads. A browser has a clock of its own: the same answers
may find a page in another state.
"""

from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import cache
from typing import Any, TypeVar

import numpy as np

from coevo.environments.adapters.common import optional, plain
from coevo.environments.texts import encodable
from coevo.errors import ConfigError, EnvironmentFault
from coevo.interfaces import Message, Step, Task

PURPOSE = "tasks in a browser"
MOST_CHARACTERS = 20_000
"""Of a page that is shown."""
RULES = "You act in a web browser to reach a goal. Answer with one action and nothing else. The actions are:\n\n"
T = TypeVar("T")


@cache
def playwright_thread() -> ThreadPoolExecutor:
    """The thread in which all browsers of this process live."""
    return ThreadPoolExecutor(1, thread_name_prefix="browsergym")


class BrowserTasks:
    """An environment (`coevo.interfaces.Environment`) around BrowserGym's.

    A task's `data` has the `id` under which Gymnasium finds it, and may have a `seed` (where there is none, it is the
    episode's) and `options`, the arguments of `gymnasium.make`. Seeds are cut to 32 bits, as tasks expect them.

    Args:
        register: Modules whose import registers tasks.
        view: "axtree" for the accessibility tree, "dom" for the pruned HTML.
        rules: What the agent is told first, with every turn; by default BrowserGym's own list of actions.
    """

    def __init__(self, *, register: Sequence[str] = (), view: str = "axtree", rules: str = ""):
        if view not in VIEWS:
            raise ConfigError(f"expected one of the views {', '.join(VIEWS)}, got {view!r}")
        self._register = register
        self._view = VIEWS[view]
        self._rules = rules
        self._browser: Any = None

    def reset(self, task: Task, seed: int) -> Sequence[Message]:
        """See `Environment`."""
        return self._in_its_thread(lambda: self._begin(task, seed))

    def step(self, text: str) -> Step:
        """See `Environment`."""
        return self._in_its_thread(lambda: self._act(text))

    def close(self) -> None:
        """See `Environment`."""
        self._in_its_thread(self._end)

    def _begin(self, task: Task, seed: int) -> tuple[Message, ...]:
        # Another browser for each episode, so that none finds what an earlier one left.
        self._end()
        gymnasium = optional("gymnasium", PURPOSE)
        for module in self._register:
            optional(module, PURPOSE)
        self._browser = gymnasium.make(task.data["id"], **task.data.get("options", {}))
        if getattr(self._browser.unwrapped, "action_mapping", None) is None:
            raise ConfigError(f"{task.data['id']} runs actions as Python (action_mapping = None), which is refused")
        observation, _ = self._browser.reset(seed=int(task.data.get("seed", seed)) % 2**32)
        return self._tell(observation)

    def _act(self, text: str) -> Step:
        observation, reward, done, truncated, info = self._browser.step(text)
        value, is_over = float(reward), bool(done) or bool(truncated)
        if not np.isfinite(value):
            raise EnvironmentFault(f"the task gave a reward of {value}")
        messages = () if is_over else self._tell(observation)
        is_valid = not observation.get("last_action_error")
        return Step(messages, value, bool(done), bool(truncated), {**plain(info), "valid": is_valid})

    def _end(self) -> None:
        browser, self._browser = self._browser, None
        if browser is not None:
            browser.close()

    def _tell(self, observation: Mapping[str, Any]) -> tuple[Message, ...]:
        self._rules = self._rules or RULES + _actions()
        page = self._view(observation)
        if len(page) > MOST_CHARACTERS:
            page = f"{page[:MOST_CHARACTERS]}\n(cut off here: the page has {len(page):,} characters)"
        parts = {"Goal": observation.get("goal"), "Address": observation.get("url")}
        parts |= {"The last action failed": _short(observation.get("last_action_error")), "Page": page}
        return (
            Message("system", self._rules),
            Message("user", encodable("\n\n".join(f"{name}: {value}" for name, value in parts.items() if value))),
        )

    def _in_its_thread(self, call: Callable[[], T]) -> T:
        try:
            return playwright_thread().submit(call).result()
        except (ConfigError, EnvironmentFault):
            raise
        except Exception as error:
            raise EnvironmentFault(f"the browser failed: {type(error).__name__}: {error}") from error


def _short(text: object) -> str:
    return str(text or "")[:1000]


def _actions() -> str:
    actions = optional("browsergym.core.action.highlevel", PURPOSE).HighLevelActionSet()
    return str(actions.describe(with_long_description=False, with_examples=True))


def _axtree(observation: Mapping[str, Any]) -> str:
    flatten = optional("browsergym.utils.obs", PURPOSE).flatten_axtree_to_str
    return str(flatten(observation["axtree_object"], extra_properties=observation.get("extra_element_properties")))


def _dom(observation: Mapping[str, Any]) -> str:
    module = optional("browsergym.utils.obs", PURPOSE)
    properties = observation.get("extra_element_properties")
    return str(module.prune_html(module.flatten_dom_to_str(observation["dom_object"], extra_properties=properties)))


VIEWS: dict[str, Callable[[Mapping[str, Any]], str]] = {"axtree": _axtree, "dom": _dom}
"""How a page becomes text."""

"""WebArena-Lite through its BrowserGym package, for users who host the sites.

What is here: whether package and sites are there, the tasks, and an environment around BrowserGym's that speaks the
same action language as the pages of MiniWoB++. A browser with a clock of its own and sites that others may change give
no promise that the same answers give the same messages.

The sites are shared. Where tasks change them, episodes have to be played one at a time, with a `reset_command` between
them: the environment `webarena` does that, by the `at_once = 1` of its limits.
"""

import importlib
import importlib.util
import json
import math
import os
import signal
import subprocess
import tempfile
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, TypeVar

from coevo.content import read_text
from coevo.environments.adapters.browser_tasks import VIEWS, playwright_thread
from coevo.environments.web.actions import Action, read_action
from coevo.environments.web.judging import JudgeGuard
from coevo.environments.web.prompting import Story
from coevo.environments.web.splits import split_tasks
from coevo.errors import ConfigError, EnvironmentFault, escaped
from coevo.interfaces import Message, Step, Task

T = TypeVar("T")

TURNS = 30
RESET_S = 800.0
"""Longest time that a `reset_command` may take: the sites need minutes to start anew."""
PACKAGE = "browsergym-webarenalite"
INSTALL = f"pip install {PACKAGE} && playwright install chromium"
VARIABLES = (
    *("WA_SHOPPING", "WA_SHOPPING_ADMIN", "WA_REDDIT", "WA_GITLAB", "WA_WIKIPEDIA", "WA_MAP", "WA_HOMEPAGE"),
    "OPENAI_API_KEY",
)
"""What the package reads: where each site is, and the key of the judge that a quarter of the tasks asks."""

_DATA = {"webarena": "test.raw.json", "browsergym.webarenalite": "test_webarena_lite.raw.json"}
_MORE = """back                       go to the page before; forward goes on again
answer("the answer")       give the answer that the task asks for, which ends the episode
stop                       end the episode when everything is done and no answer is asked for
"""


def lite_tasks(split: str) -> list[Task]:
    """The tasks of a split, read from the package's files without importing it.

    Raises:
        ConfigError: If the package is not installed.
    """
    every, lite = (json.loads(read_text(_data_file(package))) for package in _DATA)
    sites = {int(task["task_id"]): "+".join(sorted(task["sites"])) for task in every}
    splits = split_tasks(list(sites.items()), [int(task["old_task_id"]) for task in lite])
    package = "webarenalite" if split == "test" else "webarena"
    return [
        Task(f"webarena-{task}", {"id": f"browsergym/{package}.{task}", "package": package, "sites": sites[task]})
        for task in splits[split]
    ]


def require_sites(environ: Mapping[str, str] = os.environ) -> None:
    """Do nothing where the package is installed and told of all sites.

    Raises:
        ConfigError: With what to install, or the variables to set.
    """
    for package in _DATA:
        _data_file(package)
    if unset := [name for name in VARIABLES if not environ.get(name)]:
        raise ConfigError(
            f"webarena needs the environment variables {', '.join(unset)}, which are not set: "
            f"host the sites of WebArena and set each to its address (OPENAI_API_KEY to the key of its judge)"
        )


def _data_file(package: str) -> Path:
    try:
        spec = importlib.util.find_spec(package)
    except ModuleNotFoundError:
        spec = None
    if spec is None or not spec.submodule_search_locations:
        raise ConfigError(f"webarena needs the package {PACKAGE}, which is not installed; run: {INSTALL}")
    return Path(next(iter(spec.submodule_search_locations))) / _DATA[package]


def make_gym(task: Task) -> Any:
    """The package's own Gymnasium environment for a task."""
    gymnasium = importlib.import_module("gymnasium")
    importlib.import_module(f"browsergym.{task.data['package']}")
    actions = importlib.import_module("browsergym.core.action.highlevel")
    # By default BrowserGym leaves the keys out.
    mapping = actions.HighLevelActionSet(subsets=["chat", "bid", "nav", "coord"], multiaction=False).to_python_code
    return gymnasium.make(task.data["id"], disable_env_checker=True, action_mapping=mapping)


def open_lite(turns: int, page_chars: int, reset_command: str = "") -> "LiteEpisodes":
    """A new environment, for the options of a folder; 0 turns are `TURNS`.

    Raises:
        ConfigError: If the package or the sites are not known.
    """
    require_sites()
    return LiteEpisodes(turns=turns or TURNS, page_chars=page_chars, reset_command=reset_command)


class LiteEpisodes:
    """See `coevo.interfaces.Environment`.

    Args:
        turns: Most turns of an episode; the last one is scored too.
        page_chars: Most characters of a page that are shown.
        reset_command: A shell command that resets the sites, run before the first episode, since nobody knows who
            used them before (an object that failed and was replaced by this one, perhaps), and before each that
            follows one in which something was clicked, typed, chosen or pressed; empty for none.
        make: What opens BrowserGym's environment for a task.
        view: What turns its observation into text.
    """

    def __init__(
        self,
        *,
        turns: int = TURNS,
        page_chars: int = 8000,
        reset_command: str = "",
        make: Callable[[Task], Any] = make_gym,
        view: Callable[[Mapping[str, Any]], str] = VIEWS["axtree"],
    ):
        self._turns = turns
        self._page_chars = page_chars
        self._reset_command = reset_command
        self._make = make
        self._view = view
        self._gym: Any = None
        self._guard = JudgeGuard()
        self._story = Story("", "")
        self._is_over = True
        self._may_have_changed_sites = True

    def reset(self, task: Task, seed: int) -> Sequence[Message]:
        """See `Environment`."""
        self.close()
        if self._may_have_changed_sites and self._reset_command:
            _run(self._reset_command)
        self._may_have_changed_sites = False
        observation = _in_browser_thread(lambda: self._begin(task, seed))
        self._story = Story(str(observation["goal"]), _MORE)
        self._is_over = False
        return self._story.tell(self._page(observation))

    def step(self, text: str) -> Step:
        """See `Environment`.

        Raises:
            RuntimeError: If no episode is open.
            EnvironmentFault: If browser or sites fail, or the judge does not say whether an answer is right.
        """
        if self._is_over:
            raise RuntimeError("no episode is open: call reset before step")
        action = read_action(text)
        code = "noop(0)" if isinstance(action, str) else as_code(action)
        self._guard.is_final = isinstance(action, Action) and action.verb in ("answer", "stop")
        if code.startswith(("click", "fill", "select", "keyboard")):
            self._may_have_changed_sites = True
        try:
            observation, reward, done, cut, _ = _in_browser_thread(lambda: self._gym.step(code))
            return self._answer(action, observation, _checked(reward), bool(done), bool(cut))
        except EnvironmentFault:
            self.close()
            raise

    def close(self) -> None:
        """End the episode's browser."""
        gym, self._gym, self._is_over = self._gym, None, True
        if gym is not None:
            _in_browser_thread(gym.close)

    def _begin(self, task: Task, seed: int) -> Any:
        self._gym = self._make(task)
        observation, _ = self._gym.reset(seed=seed % 2**32)
        self._guard.watch(self._gym)
        return observation

    def _answer(self, action: Action | str, observation: Any, reward: float, done: bool, cut: bool) -> Step:
        problem = action if isinstance(action, str) else _short(observation.get("last_action_error"))
        done = done or self._guard.is_final
        self._story.add(None if isinstance(action, str) else action, problem, has_effect=not problem)
        is_cut = not done and (cut or self._story.turns >= self._turns or self._story.is_stuck)
        self._is_over = done or is_cut
        return Step(
            messages=() if self._is_over else self._story.tell(self._page(observation)),
            reward=reward,
            done=done,
            truncated=is_cut,
            info={"action": None if isinstance(action, str) else str(action), "valid": not problem, "raw": reward},
        )

    def _page(self, observation: Any) -> str:
        page = f"Address: {observation.get('url', '')}\n{self._view(observation)}"
        if len(page) <= self._page_chars:
            return page
        return (
            f"{page[: self._page_chars]}\n(the page goes on; {len(page) - self._page_chars} characters are not shown)"
        )


def as_code(action: Action) -> str:
    """An action in BrowserGym's language; texts as literals, so that none can hold a call of its own."""
    element, text = repr(action.element), repr(action.text)
    match action.verb:
        case "click" | "hover":
            return f"{action.verb}({element})"
        case "type":
            return f"fill({element}, {text})"
        case "select":
            return f"select_option({element}, {text})"
        case "press":
            return f"keyboard_press({text})"
        case "scroll":
            return f"scroll(0, {500 if action.text == 'down' else -500})"
        case "answer" | "stop":
            return f"send_msg_to_user({text})"
        case "back" | "forward":
            return f"go_{action.verb}()"


def _checked(reward: Any) -> float:
    value = float(reward)
    if not math.isfinite(value) or value < 0:
        raise EnvironmentFault(f"expected a reward of 0 to 1 from the task's evaluator, got {value}")
    return value


def _run(command: str) -> None:
    # A file takes what it says, since a pipe would wait for whatever the command leaves running.
    with tempfile.TemporaryFile() as said:
        shell = subprocess.Popen(command, shell=True, stdout=said, stderr=said, start_new_session=True)
        try:
            status = shell.wait(RESET_S)
        except subprocess.TimeoutExpired:
            os.killpg(shell.pid, signal.SIGKILL)
            shell.wait()
            raise EnvironmentFault(f"the reset_command did not end in {RESET_S:.0f} s") from None
        if status:
            said.seek(0)
            last = said.read().decode(errors="replace").strip().rpartition("\n")[2]
            raise EnvironmentFault(f"the reset_command failed with status {status}: {_short(last)}")


def _in_browser_thread(call: Callable[[], T]) -> T:
    try:
        return playwright_thread().submit(call).result()
    except EnvironmentFault:
        raise
    except Exception as error:
        # Sites, browser and judge can fail in any way; none of it is the agent's doing.
        raise EnvironmentFault(f"WebArena failed: {type(error).__name__}: {_short(error)}") from error


def _short(text: object) -> str:
    return escaped(str(text or ""))[:300]

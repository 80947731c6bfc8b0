"""BrowserGym's interface, played by stand-ins: its packages bring a browser of their own and are not installed here."""

import sys
import threading
from types import ModuleType

import pytest

from coevo.environments.adapters.browser_tasks import MOST_CHARACTERS, BrowserTasks, playwright_thread
from coevo.errors import ConfigError, EnvironmentFault, ExtraMissingError
from coevo.interfaces import Environment, Task

TASK = Task("t", {"id": "browsergym/fake.press", "seed": 2**40 + 3, "options": {"headless": True}})


class FakeBrowser:
    """The methods and observations of BrowserGym's `BrowserEnv`: press the button twice."""

    action_mapping = str

    def __init__(self, options):
        self.options, self.threads, self.is_open, self.presses, self.page = options, set(), True, 0, "button 'Press'"

    @property
    def unwrapped(self):
        """What the wrappers of Gymnasium are around."""
        return self

    def reset(self, *, seed):
        """Begin."""
        self.threads.add(threading.get_ident())
        self.seed = seed
        return self._observation(""), {"task_info": {}}

    def step(self, action):
        """Press, or fail."""
        self.threads.add(threading.get_ident())
        if action == "die":
            raise RuntimeError("the page crashed")
        error = "" if action == "click('7')" else f"ValueError: {action}"
        self.presses += not error
        info = {"task_info": {}, "action_exec_timeout": 0}
        return self._observation(error), float(self.presses == 2), self.presses == 2, False, info

    def close(self):
        """Note that it is closed."""
        self.threads.add(threading.get_ident())
        self.is_open = False

    def _observation(self, error):
        return {
            "goal": "Press it twice.",
            "url": "http://fake/",
            "axtree_object": {"nodes": self.page},
            "dom_object": {"html": self.page},
            "extra_element_properties": {"7": {}},
            "last_action_error": error,
        }


def module(name, **values):
    """A module that holds what is given."""
    made = ModuleType(name)
    vars(made).update(values)
    return made


@pytest.fixture
def browsers(monkeypatch):
    """Every browser that was made, in order, by the stand-ins for gymnasium and BrowserGym."""
    made = []

    def make(id_, **options):
        assert id_ == TASK.data["id"]
        assert "browsergym.fake" in sys.modules
        made.append(FakeBrowser(options))
        return made[-1]

    class ActionSet:
        def describe(self, *, with_long_description, with_examples):
            return "click(bid: str)"

    observing = {
        "flatten_axtree_to_str": lambda tree, extra_properties: f"[7] {tree['nodes']} {len(extra_properties)}",
        "flatten_dom_to_str": lambda dom, extra_properties: f"<{dom['html']}>",
        "prune_html": lambda html: f"pruned {html}",
    }
    fakes = [
        module("gymnasium", make=make),
        module("browsergym", __path__=[]),
        module("browsergym.fake"),
        module("browsergym.utils", __path__=[]),
        module("browsergym.utils.obs", **observing),
        module("browsergym.core", __path__=[]),
        module("browsergym.core.action", __path__=[]),
        module("browsergym.core.action.highlevel", HighLevelActionSet=ActionSet),
    ]
    for fake in fakes:
        monkeypatch.setitem(sys.modules, fake.__name__, fake)
    return made


@pytest.fixture
def environment(browsers):
    """An environment around the stand-ins."""
    made = BrowserTasks(register=("browsergym.fake",))
    yield made
    made.close()


def test_an_episode_is_played_to_its_end(environment, browsers):
    """Every turn tells the actions, the goal, the address, the page, and what failed; the reward is the task's."""
    assert isinstance(environment, Environment)
    system, user = environment.reset(TASK, 1)
    assert system.content.endswith("The actions are:\n\nclick(bid: str)")
    assert user.content == "Goal: Press it twice.\n\nAddress: http://fake/\n\nPage: [7] button 'Press' 1"
    step = environment.step("jump()")
    assert step.messages[0] == system
    assert "The last action failed: ValueError: jump()" in step.messages[1].content
    assert step.info == {"action_exec_timeout": 0, "valid": False}
    assert environment.step("click('7')").info["valid"] is True
    step = environment.step("click('7')")
    assert (step.reward, step.done, step.messages) == (1.0, True, ())
    assert browsers[0].options == {"headless": True}
    assert browsers[0].seed == 3


def test_every_episode_has_a_browser_of_its_own(environment, browsers):
    """The one before is closed; closing twice closes once."""
    environment.reset(TASK, 1)
    environment.reset(TASK, 1)
    assert [browser.is_open for browser in browsers] == [False, True]
    environment.close()
    environment.close()
    assert not browsers[1].is_open


def test_all_browsers_live_in_one_thread(browsers):
    """Whoever calls, and however many environments there are."""
    environments = [BrowserTasks(register=("browsergym.fake",)) for _ in range(2)]
    callers = [threading.Thread(target=each.reset, args=(TASK, 1)) for each in environments]
    for caller in callers:
        caller.start()
    for caller in callers:
        caller.join()
    for each in environments:
        each.step("click('7')")
        each.close()
    home = playwright_thread().submit(threading.get_ident).result()
    assert [browser.threads for browser in browsers] == [{home}, {home}]


def test_a_page_can_be_seen_as_html(browsers):
    """Flattened and pruned by BrowserGym."""
    environment = BrowserTasks(register=("browsergym.fake",), view="dom", rules="Press.")
    system, user = environment.reset(TASK, 1)
    assert system.content == "Press."
    assert user.content.endswith("Page: pruned <button 'Press'>")
    environment.close()


def test_a_long_page_is_cut_off(environment, browsers):
    """And says so."""
    environment.reset(TASK, 1)
    browsers[0].page = "x" * 50_000
    text = environment.step("look").messages[1].content
    assert "(cut off here: the page has 50,006 characters)" in text
    assert len(text) < MOST_CHARACTERS + 500


def test_a_failing_browser_is_a_fault(environment):
    """It says nothing of the agent, and can be closed."""
    environment.reset(TASK, 1)
    with pytest.raises(EnvironmentFault, match="the browser failed: RuntimeError: the page crashed"):
        environment.step("die")


def test_actions_that_are_python_are_refused(environment, browsers, monkeypatch):
    """The agent's text would run in this process."""
    monkeypatch.setattr(FakeBrowser, "action_mapping", None)
    with pytest.raises(ConfigError, match="runs actions as Python"):
        environment.reset(TASK, 1)


def test_an_unknown_view_is_refused():
    """At once."""
    with pytest.raises(ConfigError, match="expected one of the views axtree, dom, got 'screen'"):
        BrowserTasks(view="screen")


def test_missing_packages_are_named():
    """With the extra that brings them."""
    with pytest.raises(ExtraMissingError, match=r"gym.* for tasks in a browser.*coevo\[agents\]"):
        BrowserTasks(register=("browsergym.no_such_part",)).reset(TASK, 1)

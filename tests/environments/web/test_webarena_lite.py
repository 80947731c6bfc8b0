"""WebArena-Lite around a stand-in for BrowserGym: no site is hosted here."""

import json
import math
import types

import pytest

from coevo.environments.loading import find_environment, read_options
from coevo.environments.web import webarena_lite
from coevo.environments.web.actions import Action
from coevo.environments.web.webarena_lite import (
    TURNS,
    VARIABLES,
    LiteEpisodes,
    as_code,
    lite_tasks,
    require_sites,
)
from coevo.errors import ConfigError, EnvironmentFault
from coevo.interfaces import Environment, Task

TASK = Task("webarena-4", {"id": "browsergym/webarenalite.4", "package": "webarenalite", "sites": "map"})


class FakeTask:
    """Judges as BrowserGym's tasks do: a judge without a verdict, an `AssertionError`, becomes a score of 0."""

    def __init__(self, evaluator):
        self.evaluator = evaluator

    def validate(self, answer):
        """Score, and whether the episode is over."""
        try:
            score = self.evaluator(answer)
        except AssertionError:
            score = 0.0
        return score, score > 0 or answer is not None


class FakeGym:
    """Has the surface of BrowserGym's environment that is used: reset, step, close and the task within."""

    def __init__(self, evaluator):
        self._evaluator = evaluator
        self.codes = []
        self.seeds = []
        self.closed = 0

    @property
    def unwrapped(self):
        """The environment without wrappers."""
        return self

    def reset(self, seed):
        """Begin; a task is made anew each time."""
        self.seeds.append(seed)
        self.task = FakeTask(self._evaluator)
        return self._observation(""), {}

    def step(self, code):
        """Take an action in BrowserGym's language."""
        self.codes.append(code)
        answer = code if code.startswith("send_msg_to_user") else None
        score, done = self.task.validate(answer)
        return self._observation("Error: no such element" if "'99'" in code else ""), score, done, False, {}

    def close(self):
        """Count."""
        self.closed += 1

    def _observation(self, error):
        return {
            "goal": "How long is it?",
            "url": "http://map/",
            "text": f"[1] link {len(self.codes)}",
            "last_action_error": error,
        }


def right(answer):
    """Knows the answer."""
    return 1.0 if answer and "5 min" in answer else 0.0


@pytest.fixture
def opened():
    """Opens environments around fakes, and closes them."""
    made = []

    def make(evaluator=right, **options):
        gym = FakeGym(evaluator)
        episodes = LiteEpisodes(make=lambda task: gym, view=lambda seen: seen["text"], **options)
        made.append(episodes)
        return episodes, gym

    yield make
    for episodes in made:
        episodes.close()


def test_an_episode_is_played_to_its_answer(opened):
    """The agent sees goal, address and page, acts in its own language, and earns what the judge gives."""
    episodes, gym = opened()
    assert isinstance(episodes, Environment)
    messages = episodes.reset(TASK, 2**40 + 3)
    assert gym.seeds == [3]
    assert "How long is it?" in messages[-1].content
    assert "Address: http://map/\n[1] link 0" in messages[-1].content
    assert 'answer("the answer")' in messages[0].content
    step = episodes.step("click(1)")
    assert (step.reward, step.done, step.info["valid"]) == (0.0, False, True)
    assert "[1] link 1" in step.messages[-1].content
    step = episodes.step('answer("5 min")')
    assert (step.reward, step.done, step.truncated, step.messages) == (1.0, True, False, ())
    assert gym.codes == ["click('1')", "send_msg_to_user('5 min')"]


def test_a_wrong_answer_earns_nothing(opened):
    """An answer ends the episode, right or not; so does stopping."""
    for text in ('answer("a year")', "stop"):
        episodes, _ = opened()
        episodes.reset(TASK, 0)
        step = episodes.step(text)
        assert (step.reward, step.done) == (0.0, True)
        with pytest.raises(RuntimeError, match="call reset before step"):
            episodes.step("stop")


def test_what_cannot_be_read_or_done_is_answered(opened):
    """A text without an action and an element that is not there cost a turn and are answered."""
    episodes, gym = opened()
    episodes.reset(TASK, 0)
    step = episodes.step("dunno")
    assert (step.info["valid"], step.info["action"]) == (False, None)
    assert "The action cannot be read." in step.messages[-1].content
    step = episodes.step("click(99)")
    assert not step.info["valid"]
    assert "click(99) -> Error: no such element" in step.messages[-1].content
    assert gym.codes == ["noop(0)", "click('99')"]


def test_turns_end_an_episode(opened):
    """After the last turn, which is scored, an episode is cut off; so is one whose answers lead nowhere."""
    episodes, _ = opened()
    episodes.reset(TASK, 0)
    steps = [episodes.step(f"click({k})") for k in range(TURNS)]
    assert [step.truncated for step in steps] == [False] * (TURNS - 1) + [True]
    episodes.reset(TASK, 0)
    assert [episodes.step("?").truncated for _ in range(5)] == [False] * 4 + [True]


def test_long_pages_are_cut(opened):
    """No page is told longer than the option says, and what is missing is counted."""
    episodes, gym = opened(page_chars=200)
    gym._observation = lambda error: {"goal": "g", "url": "u", "text": "x" * 1000}
    page = episodes.reset(TASK, 0)[-1].content
    assert "x" * (200 - len("Address: u\n")) + "\n(" in page
    assert "(the page goes on; 811 characters are not shown)" in page


def no_verdict(answer):
    """Fails as an evaluator whose language model says neither yes nor no."""
    raise AssertionError("neither")


def no_network(answer):
    """Fails as an evaluator that cannot ask, once there is something to ask."""
    if answer:
        raise ConnectionError("429\nslow down")
    return 0.0


@pytest.mark.parametrize(
    ("judge", "words"),
    [
        (no_verdict, "the judge of the answer gave no verdict"),
        (no_network, r"WebArena failed: ConnectionError: 429\\nslow down"),
        (lambda answer: -1.0 if answer else 0.0, "expected a reward of 0 to 1"),
        (lambda answer: math.nan if answer else 0.0, "expected a reward of 0 to 1"),
    ],
)
def test_a_judge_that_fails_never_scores(opened, judge, words):
    """Whatever way a judge fails, the answer is not called wrong: it is a fault. Before that it does not matter."""
    episodes, gym = opened(judge)
    episodes.reset(TASK, 0)
    assert not episodes.step("click(1)").done
    with pytest.raises(EnvironmentFault, match=words):
        episodes.step('answer("5 min")')
    assert gym.closed == 1
    episodes.reset(TASK, 0)


def test_sites_that_fail_are_a_fault(opened):
    """Where a browser or a site does not answer, one line says so, in `reset` as in `step`."""
    episodes, gym = opened()
    gym.reset = lambda seed: (_ for _ in ()).throw(TimeoutError("no shop"))
    with pytest.raises(EnvironmentFault, match="WebArena failed: TimeoutError: no shop"):
        episodes.reset(TASK, 0)


@pytest.mark.parametrize(
    ("action", "resets"),
    [
        *(("click(1)", 1), ('type(1, "x")', 1), ("press(Enter)", 1), ('select(1, "x")', 1)),
        *(("scroll(down)", 0), ("hover(1)", 0), ("back", 0), ("dunno", 0)),
    ],
)
def test_sites_are_reset_after_what_may_have_changed_them(opened, tmp_path, action, resets):
    """The command runs before the next episode, once, and only after actions that can change something."""
    log = tmp_path / "log"
    episodes, _ = opened(reset_command=f"echo reset >> '{log}'")
    episodes.reset(TASK, 0)
    episodes.step(action)
    assert log.read_text().count("reset") == 1
    episodes.reset(TASK, 0)
    episodes.reset(TASK, 0)
    assert log.read_text().count("reset") == 1 + resets


@pytest.mark.parametrize("action", ["click(1)", "hover(1)"])
def test_an_object_that_takes_anothers_place_resets_the_sites(opened, tmp_path, action):
    """One that failed is closed and replaced: what it did to the sites is not known to the next, which resets them."""
    log = tmp_path / "log"
    first, gym = opened(reset_command=f"echo reset >> '{log}'")
    first.reset(TASK, 0)
    gym.step = lambda code: (_ for _ in ()).throw(TimeoutError("no shop"))
    with pytest.raises(EnvironmentFault):
        first.step(action)
    first.close()
    second, _ = opened(reset_command=f"echo reset >> '{log}'")
    second.reset(TASK, 0)
    assert log.read_text().count("reset") == 2
    plain, _ = opened()
    plain.reset(TASK, 0)


def test_sites_that_cannot_be_reset_are_a_fault(opened, monkeypatch):
    """A command that fails or does not end is a fault, and stays due."""
    episodes, _ = opened(reset_command="echo no such host >&2; exit 7")
    for _ in range(2):
        with pytest.raises(EnvironmentFault, match="failed with status 7: no such host"):
            episodes.reset(TASK, 0)
    monkeypatch.setattr(webarena_lite, "RESET_S", 0.1)
    slow, _ = opened(reset_command="sleep 30 & wait")
    with pytest.raises(EnvironmentFault, match="did not end"):
        slow.reset(TASK, 0)


@pytest.mark.parametrize(
    ("action", "code"),
    [
        (Action("click", "a1"), "click('a1')"),
        (Action("hover", "2"), "hover('2')"),
        (Action("type", "2", 'it\'s\n"x"'), "fill('2', 'it\\'s\\n\"x\"')"),
        (Action("select", "2", "o"), "select_option('2', 'o')"),
        (Action("press", text="Enter"), "keyboard_press('Enter')"),
        (Action("scroll", text="up"), "scroll(0, -500)"),
        (Action("stop"), "send_msg_to_user('')"),
        (Action("back"), "go_back()"),
        (Action("forward"), "go_forward()"),
    ],
)
def test_actions_in_browsergyms_language(action, code):
    """Every action has its counterpart, texts being literals."""
    assert as_code(action) == code


def test_one_environment_plays_one_episode_at_a_time(monkeypatch, package):
    """The folder webarena says so in its limits, and its options are those of the episodes."""
    folder = find_environment("webarena")
    assert folder.spec.limits.at_once == 1
    assert folder.spec.limits.step_s > webarena_lite.RESET_S
    assert "reset_command" not in {option.name for option in find_environment("web").spec.options}
    module, given = folder.load(), read_options(folder.spec, {"turns": "3", "reset_command": "exit 5"})
    assert module.tasks("test", **given) == lite_tasks("test")
    monkeypatch.setattr(webarena_lite, "require_sites", lambda: None)
    episodes = module.open(**given)
    assert isinstance(episodes, LiteEpisodes)
    with pytest.raises(EnvironmentFault, match="status 5"):
        episodes.reset(TASK, 0)
    with pytest.raises(ConfigError, match="page_chars ≥ 200"):
        module.open(**given | {"page_chars": 3})


def test_what_the_sites_say_can_be_encoded(opened):
    """Half of a surrogate pair on a page reaches neither prompt nor trace."""
    episodes, gym = opened()
    gym._observation = lambda error: {
        "goal": "\ud800",
        "url": "\udfff",
        "text": "\ud83d",
        "last_action_error": "\ud800",
    }
    messages = episodes.reset(TASK, 0)
    step = episodes.step('select(1, "\\ud800")')
    assert [m.content.encode() for m in (*messages, *step.messages)]
    json.dumps(dict(step.info), ensure_ascii=False).encode()


def test_a_missing_package_is_named(monkeypatch):
    """Without the package, one line says what to install, for tasks and sites alike."""
    monkeypatch.setattr(webarena_lite.importlib.util, "find_spec", lambda name: None)
    for call in (lambda: lite_tasks("train"), lambda: require_sites({})):
        with pytest.raises(
            ConfigError, match=r"the package browsergym-webarenalite.*pip install browsergym-webarenalite"
        ):
            call()


@pytest.fixture
def package(tmp_path, monkeypatch):
    """The files of the package, of 100 tasks of which two are Lite's."""
    (tmp_path / "test.raw.json").write_text(
        "[" + ",".join(f'{{"task_id": {k}, "sites": ["map", "gitlab"]}}' for k in range(100)) + "]"
    )
    (tmp_path / "test_webarena_lite.raw.json").write_text('[{"task_id": 0, "old_task_id": 7}, {"old_task_id": 3}]')
    spec = types.SimpleNamespace(submodule_search_locations=[str(tmp_path)])
    monkeypatch.setattr(webarena_lite.importlib.util, "find_spec", lambda name: spec)


def test_tasks_come_from_the_packages_files(package):
    """Lite's tasks are the test split under Lite's evaluators; none of them is learnt from or chooses."""
    assert [task.data["id"] for task in lite_tasks("test")] == [
        "browsergym/webarenalite.3",
        "browsergym/webarenalite.7",
    ]
    others = [*lite_tasks("train"), *lite_tasks("val")]
    assert len(lite_tasks("val")) == 65
    assert {task.data["id"] for task in others} == {f"browsergym/webarena.{k}" for k in range(100) if k not in (3, 7)}
    assert others[0].data["sites"] == "gitlab+map"


def test_unknown_addresses_are_named(package):
    """Every variable that is not set is named; with all of them there is nothing to say."""
    addresses = dict.fromkeys(VARIABLES, "x")
    require_sites(addresses)
    with pytest.raises(ConfigError, match="the environment variables WA_MAP, which are not set"):
        require_sites(addresses | {"WA_MAP": ""})

"""Whole episodes on pages of MiniWoB++ with a scripted agent, in a real browser."""

import json
import os
import re
import signal
from pathlib import Path

import pytest

from coevo.environments.loading import find_environment
from coevo.environments.web.episodes import TURNS, PageEpisodes
from coevo.environments.web.pages import page_tasks
from coevo.environments.web.prompting import STUCK_AFTER
from coevo.errors import EnvironmentFault
from coevo.interfaces import Environment, Task


@pytest.fixture(scope="module")
def episodes(chromium, pages):
    """An environment for the tests of this module."""
    opened = PageEpisodes()
    yield opened
    opened.close()


def task(page, split="train", number=0):
    """A task on one page."""
    return page_tasks(split, page, "", number + 1)[number]


def shown(messages):
    """Goal and page of a turn."""
    text = messages[-1].content
    return re.search(r"Task: (.*)", text)[1], text.partition("The page now:\n")[2].partition("\n\nYour next")[0]


def numbered(page, pattern):
    """The numbers of the elements whose line matches."""
    return re.findall(rf"\[(\d+)\] {pattern}", page)


def click(page, pattern):
    """A click on the first element whose line matches."""
    return f"click({numbered(page, pattern)[0]})"


def enter_text(goal, page):
    """Types the word in quotes and submits."""
    word, (field,) = re.search(r'"(.*?)"', goal)[1], numbered(page, "input")
    return click(page, 'button "Submit"') if f'value="{word}"' in page else f'type({field}, "{word}")'


def log_in(goal, page):
    """Fills the empty one of two fields, then presses the button."""
    words, fields = re.findall(r'"(.*?)"', goal), numbered(page, "input")
    values = re.findall(r"\[\d+\] input \w+ value=(\".*?\")", page)
    left = [k for k, word in enumerate(words) if json.dumps(word) not in values]
    return f"type({fields[left[0]]}, {json.dumps(words[left[0]])})" if left else click(page, "button")


def twice(goal, page):
    """Fills both fields with the one word, then presses the button."""
    word, fields = re.search(r'"(.*?)"', goal)[1], numbered(page, "input")
    filled = page.count(f'value="{word}"')
    return f'type({fields[filled]}, "{word}")' if filled < len(fields) else click(page, "button")


def choose(goal, page):
    """Chooses the named option, then submits."""
    wanted = re.search(r"Select (.*) from the list", goal)[1]
    is_chosen = f'value="{wanted}" options' in page
    return click(page, "button") if is_chosen else f'select({numbered(page, "select")[0]}, "{wanted}")'


def tick(goal, page):
    """Ticks the boxes that the goal names, one after the other, then submits."""
    wanted = re.search(r"Select (.*) and click", goal)[1].split(", ")
    boxes = re.findall(r'\[(\d+)\] input \w+ (not checked|checked)[^\n]*\n\s*text "(.*)"', page)
    left = [number for number, state, name in boxes if name in wanted and state == "not checked"]
    return f"click({left[0]})" if left else click(page, "button")


AGENTS = {
    "click-test": lambda goal, page: click(page, "button"),
    "click-button": lambda goal, page: click(page, f"button {re.search(chr(34) + '.*' + chr(34), goal)[0]}"),
    "click-link": lambda goal, page: click(page, f"span {re.search(chr(34) + '.*' + chr(34), goal)[0]}"),
    "click-dialog": lambda goal, page: click(page, 'button title="Close"'),
    "click-option": tick,
    "click-checkboxes": tick,
    "enter-text": enter_text,
    "login-user": log_in,
    "enter-password": twice,
    "click-test-2": lambda goal, page: click(page, 'button "ONE"'),
    "choose-list": choose,
}


def play(episodes, played, agent, seed=0):
    """All steps of an episode."""
    messages, steps = episodes.reset(played, seed), []
    while not steps or not (steps[-1].done or steps[-1].truncated):
        steps.append(episodes.step(agent(*shown(messages))))
        messages = steps[-1].messages
    return steps


@pytest.mark.parametrize("page", AGENTS)
def test_a_scripted_agent_does_the_task(episodes, page):
    """A whole episode in Chromium: the page itself says that the task is done, and pays once, at the end."""
    steps = play(episodes, task(page), AGENTS[page])
    assert [step.reward for step in steps] == [0.0] * (len(steps) - 1) + [1.0]
    assert steps[-1].done
    assert not steps[-1].truncated
    assert steps[-1].info["raw"] == 1
    assert steps[-1].messages == ()
    assert all(step.info["valid"] for step in steps)


def test_an_environment_is_one(episodes):
    """It has what every environment has."""
    assert isinstance(episodes, Environment)


def test_a_wrong_button_earns_nothing(episodes):
    """A page that is done wrongly ends the episode with 0, and the trace keeps what the page gave."""
    steps = play(episodes, task("click-test-2"), lambda goal, page: click(page, 'button "TWO"'))
    assert (steps[-1].reward, steps[-1].done, steps[-1].info["raw"]) == (0.0, True, -1)


@pytest.mark.parametrize("number", range(4))
def test_a_part_of_the_task_earns_nothing(episodes, number):
    """Where a page pays for parts, all of them are a 1 and fewer are a 0; what the page gave is in the trace."""
    played = task("click-checkboxes", number=number)
    right = play(episodes, played, tick)
    assert (right[-1].reward, right[-1].info["raw"]) == (1.0, 1)
    clicks = len(right) - 2
    left = iter(range(clicks))
    steps = play(
        episodes, played, lambda goal, page: click(page, "button") if next(left, None) is None else tick(goal, page)
    )
    assert [step.reward for step in steps] == [0.0] * len(steps)
    assert steps[-1].done
    assert steps[-1].info["raw"] < 1


@pytest.mark.parametrize("left_out", [0, 1])
def test_marks_that_add_up_to_one_are_full_marks(episodes, left_out):
    """A page that adds up a third for each of three numbers pays for all three, and not for two."""
    _, page = shown(episodes.reset(task("odd-or-even"), 0))
    rows = re.findall(r'\[(\d+)\] button "Odd"\n\[\d+\] div "(-?\d+)"\n\[(\d+)\] button "Even"', page)
    for odd, number, even in rows[left_out:]:
        assert not episodes.step(f"click({odd if int(number) % 2 else even})").done
    end = episodes.step(click(page, 'button "Submit"'))
    assert (end.done, end.reward) == (True, 0.0 if left_out else 1.0)
    assert end.info["raw"] == pytest.approx(1 - 2 / 3 * left_out)


def test_every_page_of_the_default_split_can_earn_one():
    """Scripted agents above do each of them."""
    options = {option.name: option.default for option in find_environment("web").spec.options}
    assert set(options["pages"].split(",")) <= set(AGENTS)


def test_the_same_seed_gives_the_same_page(episodes, chromium):
    """A task is the same page every time, in another browser too, through the whole episode; another seed is not."""
    first = play(episodes, task("click-checkboxes"), tick, seed=1)
    assert play(episodes, task("click-checkboxes"), tick, seed=2) == first
    fresh = PageEpisodes()
    try:
        assert play(fresh, task("click-checkboxes"), tick) == first
        others = [shown(fresh.reset(task("click-checkboxes", split, 0), 0)) for split in ("train", "val", "test")]
    finally:
        fresh.close()
    assert len(set(others)) == 3


def test_time_does_not_end_an_episode(chromium, pages):
    """The page's limit of ten seconds is off: only turns are counted, the last one scored as all are."""
    patient = PageEpisodes(turns=15)
    try:
        messages = patient.reset(task("click-test-2"), 0)
        _, page = shown(messages)
        steps = [patient.step(f"hover({1 + k % 2})") for k in range(14)]
        assert not any(step.done or step.truncated for step in steps)
        assert patient.step(click(page, 'button "ONE"')).reward == 1.0
    finally:
        patient.close()


def test_turns_end_an_episode(episodes):
    """After the last turn the episode is cut off with what it earned."""
    messages = episodes.reset(task("login-user"), 0)
    field = numbered(shown(messages)[1], "input")[0]
    steps = [episodes.step(f'type({field}, "{k}")') for k in range(TURNS)]
    assert [step.truncated for step in steps] == [False] * (TURNS - 1) + [True]
    assert (steps[-1].done, steps[-1].reward, steps[-1].info["cut"], steps[-1].messages) == (False, 0.0, "turns", ())
    with pytest.raises(RuntimeError, match="call reset before step"):
        episodes.step("stop")


@pytest.mark.parametrize(
    "answer",
    [
        *("", "I do not know", "click(999)", "click(1, 2)", "x" * 10_000_000, "\0\ud800"),
        *('select(1, "\\ud800")', 'select(999, "\\udfff\ud800")', 'type(999, "\\ud83d")'),
    ],
)
def test_answers_without_effect_are_answered_and_end_the_episode(episodes, answer):
    """What cannot be read or done costs a turn and is answered; the same again and again cuts the episode off."""
    _, before = shown(episodes.reset(task("click-test-2"), 0))
    steps = [episodes.step(answer) for _ in range(STUCK_AFTER)]
    assert not any(step.info["valid"] for step in steps)
    assert all(json.dumps([dict(s.info), *(m.content for m in s.messages)], ensure_ascii=False).encode() for s in steps)
    assert steps[0].info["problem"] in steps[0].messages[-1].content
    assert shown(steps[0].messages)[1] == before
    assert [step.truncated for step in steps] == [False] * (STUCK_AFTER - 1) + [True]
    assert (steps[-1].info["cut"], steps[-1].reward) == ("stuck", 0.0)


def test_an_action_without_effect_is_told(episodes):
    """The agent learns that nothing happened."""
    episodes.reset(task("login-user"), 0)
    assert "-> Nothing changed on the page." in episodes.step("press(Escape)").messages[-1].content


@pytest.mark.parametrize("answer", ["stop", 'answer("done")'])
def test_stopping_ends_an_episode(episodes, answer):
    """An agent may give up, or answer where no answer is asked for: both earn nothing."""
    episodes.reset(task("click-test-2"), 0)
    step = episodes.step(answer)
    assert (step.done, step.reward, step.info["reason"]) == (True, 0.0, "stopped by the agent")


def test_an_alert_is_told(episodes):
    """An alert does not stop an episode; the agent is told what it said."""
    episodes.reset(task("login-user"), 0)
    episodes._page.evaluate("addEventListener('click', () => alert('Stop \"it\"'), { once: true }); 0")
    step = episodes.step("click(2)")
    assert 'The page said: "Stop \\"it\\"".' in step.messages[-1].content


def test_what_a_page_says_can_be_encoded(episodes):
    """Half of a surrogate pair that a page shows, says or is given reaches neither prompt nor trace."""
    messages = episodes.reset(task("enter-text"), 0)
    field = numbered(shown(messages)[1], "input")[0]
    episodes._page.evaluate("document.title = '\\ud800'; document.querySelector('#query').append('\\ud800'); 0")
    episodes._page.evaluate("document.body.append('\\udfff half'); 0")
    episodes._page.evaluate("addEventListener('click', () => alert('\\ud83d'), { once: true }); 0")
    for answer in ("click(1)", f'type({field}, "\\ud800x")', "scroll(down)"):
        step = episodes.step(answer)
        assert json.dumps([dict(step.info), *(m.content for m in step.messages)], ensure_ascii=False).encode()
    assert "half" in step.messages[-1].content


def test_a_page_that_is_left_ends_the_episode(episodes):
    """Where an action replaces the page, there is nothing left to do, and nothing is earned."""
    episodes.reset(task("login-user"), 0)
    episodes._page.evaluate("addEventListener('click', () => { delete window.coevo }, { once: true }); 0")
    step = episodes.step("click(2)")
    assert (step.done, step.reward, step.info["reason"]) == (True, 0.0, "the page was left")


def test_a_browser_that_dies_is_a_fault_and_the_next_episode_has_another(chromium, pages, family, alive):
    """A dead browser scores nothing: the step is a fault, and `reset` starts anew; closing leaves no process."""
    opened = PageEpisodes()
    opened.reset(task("click-test"), 0)
    keeper = opened._browser.pid
    members = family(keeper)
    os.kill(int(Path(f"/proc/{keeper}/task/{keeper}/children").read_text().split()[0]), signal.SIGKILL)
    with pytest.raises(EnvironmentFault, match="the browser is gone"):
        opened.step("click(1)")
    with pytest.raises(RuntimeError, match="call reset before step"):
        opened.step("click(1)")
    assert alive(members) == []
    opened.reset(task("click-test"), 0)
    members = family(opened._browser.pid)
    assert opened.step("click(1)").reward == 1.0
    opened.reset(task("click-test"), 0)
    opened.close()
    opened.close()
    assert alive(members) == []


def test_a_page_that_is_no_task_is_a_fault(episodes, monkeypatch, tmp_path):
    """A page without a problem to solve cannot be scored; the environment goes on with the next."""
    (tmp_path / "plain.html").write_text("<p>plain</p>")
    monkeypatch.setattr("coevo.environments.web.episodes.page_file", lambda name: tmp_path / f"{name}.html")
    with pytest.raises(EnvironmentFault, match="plain is no task"):
        episodes.reset(Task("plain-0", {"page": "plain", "seed": "0"}), 0)


def test_before_the_first_reset_there_is_no_episode():
    """A step needs an episode; closing does not need one."""
    fresh = PageEpisodes()
    with pytest.raises(RuntimeError, match="call reset before step"):
        fresh.step("stop")
    fresh.close()

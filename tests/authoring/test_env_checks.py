"""Environments that break the contract in one place: the check that says so, and what it says."""

import pytest

from coevo.authoring import env_checks_text
from coevo.authoring.env_answers import HOSTILE, MANY, echoing, halves, name_of
from coevo.authoring.env_scaffold import new_environment
from coevo.authoring.env_subject import EnvironmentSubject
from coevo.authoring.env_worker import CHECKS, run
from coevo.environments.loading import read_environment, read_options
from coevo.interfaces import Message

DOES_NOTHING = """
from coevo.interfaces import Message, Step, Task

def tasks(split):
    return [Task(f"{split}-{n}", {"split": split, "n": n}) for n in range(3)]

class Game:
    def reset(self, task, seed):
        self.turn = 0
        return [Message("user", "Say a word.")]

    def step(self, text):
        self.turn += 1
        return Step((Message("user", f"Say word {self.turn}."),), done=self.turn == 3)

    def close(self):
        pass

def open():
    return Game()
"""
METADATA = """
schema_version = 1
name = "game"
title = "A game"
conversation = "CONVERSATION"
source = "here"
licence = "CC0-1.0"
splits = { train = "some", val = "others" }
limits = { turns = 4, turn_tokens = 8, step_s = 0.2 }
"""


@pytest.fixture
def subject(tmp_path):
    """Makes an environment that keeps the contract but for code added to it, as it is checked."""

    def make(code="", conversation="grows", metadata=""):
        folder = tmp_path / "game"
        folder.mkdir()
        (folder / "environment.toml").write_text(METADATA.replace("CONVERSATION", conversation) + metadata)
        (folder / "environment.py").write_text(DOES_NOTHING + code)
        return EnvironmentSubject(read_environment(folder), {})

    return make


def finding(name, subject):
    """What a check finds in this process."""
    return run(next(check for check in CHECKS if check.name == name), subject)


def method(name, body, arguments="text"):
    """Code that gives the game another method, in which `first` is the old one."""
    lines = "\n".join(f"        {line}" for line in body.splitlines())
    return f"\nclass Game(Game):\n    first = Game.{name}\n    def {name}(self, {arguments}):\n{lines}\n"


@pytest.mark.parametrize("name", [check.name for check in CHECKS])
def test_what_keeps_the_contract_passes(subject, name):
    """Every check, on the environment that those below break in one place."""
    assert finding(name, subject()).status == "ok"


@pytest.mark.parametrize(
    ("code", "check", "words"),
    [
        ("raise RuntimeError('no')", "module", "fails on import: RuntimeError: no"),
        ("open = None", "module", "missing: open"),
        ("def tasks(split): return []", "tasks", "split train: there are no tasks"),
        ("def tasks(split): return [1]", "tasks", "expected a coevo.interfaces.Task, got 1"),
        ("def tasks(split): return [Task('a', {}), Task('a', {'n': 1})]", "tasks", "two tasks are called a"),
        ("def tasks(split): return [Task('', {})]", "tasks", "expected a name"),
        ("def tasks(split): return [Task('a', {'n': {1}})]", "tasks", "data has to be plain JSON"),
        ("def tasks(split): return [Task('a', {1: 2})]", "tasks", "comes back changed"),
        ("def tasks(split): return [Task('a', {'n': float('nan')})]", "tasks", "data has to be plain JSON"),
        (
            "import itertools\nn = itertools.count()\ndef tasks(split): return [Task('a', {'n': next(n)})]",
            "tasks",
            "twice",
        ),
        ("def tasks(split): raise KeyError(split)", "tasks", "KeyError: 'train' (environment.py, line"),
        ("def tasks(split): return [Task(split, {'n': 1})]", "splits", "1 tasks of train are in val too"),
        ("def open(): return 3", "beginnings", "has no reset, step, close"),
        (method("reset", "return []", "task, seed"), "beginnings", "expected messages for the agent, got []"),
        (method("reset", "return 'hello'", "task, seed"), "beginnings", "expected messages for the agent, got 'hello'"),
        (method("reset", "return ['hello']", "task, seed"), "beginnings", "expected a coevo.interfaces.Message"),
        (
            method("reset", "return [Message('bot', 'x')]", "task, seed"),
            "beginnings",
            "expected a role of system, user",
        ),
        (method("reset", "return [Message('user', ' ')]", "task, seed"), "beginnings", "a message that says something"),
        (method("reset", "return [Message('assistant', 'x')]", "task, seed"), "beginnings", "nothing to answer"),
        (
            method("reset", "assert seed < 9; return self.first(task, seed)", "task, seed"),
            "beginnings",
            "raised AssertionError",
        ),
        (method("step", "return 1"), "episodes", "expected a coevo.interfaces.Step, got 1"),
        (method("step", "return Step(done=True, reward=float('nan'))"), "episodes", "a finite number as reward"),
        (method("step", "return Step(done=True, reward=True)"), "episodes", "a finite number as reward"),
        (method("step", "return Step(done=1)"), "episodes", "expected done and truncated"),
        (method("step", "return Step(done=True, info={'a': {1}})"), "episodes", "info has to be plain JSON"),
        (method("step", "return Step(done=True, reward=1.5)"), "episodes", "the score is 1.5, above at_best = 1"),
        (method("step", "return Step()"), "episodes", "expected messages for the agent, got ()"),
        (method("step", "return Step('words')"), "episodes", "expected a tuple of messages"),
        (method("step", "import time; time.sleep(0.3); return self.first(text)"), "episodes", "limits.step_s is 0.2"),
        (method("step", "return Step((Message('system', 'x'),))"), "episodes", "hold a system message"),
        (
            method("step", "return Step((Message('assistant', text or 'x'), Message('user', 'And?')))"),
            "episodes",
            "hold the agent's own answer",
        ),
        (method("step", "int(text)\nreturn self.first(text)"), "any answer", "raised ValueError"),
        (method("step", "text.encode()\nreturn self.first(text)"), "any answer", "raised UnicodeEncodeError"),
        (method("step", "return Step((Message('user', 'No: ' + text),))"), "any answer", "brings 1,000,004 in return"),
        (method("close", "del self.turn", ""), "closing", "closed before an episode: close: raised AttributeError"),
        (
            "class Game(Game):\n    n = 0\n    def reset(self, task, seed):\n        self.n += 1\n"
            "        super().reset(task, seed)\n        return [Message('user', f'Round {self.n}')]\n",
            "same again",
            "played again, an episode differs",
        ),
        (
            "import random\n"
            + method("reset", "self.turn = 0; return [Message('user', f'{random.random()}')]", "task, seed"),
            "same again",
            "at turn 0",
        ),
        (
            "class Game(Game):\n    said = {}\n    def reset(self, task, seed):\n        self.said['now'] = task.name\n"
            "        return super().reset(task, seed)\n    def step(self, text):\n        step = super().step(text)\n"
            "        return Step((Message('user', self.said['now']),), done=step.done)\n",
            "interleaved",
            "two episodes disturb each other",
        ),
        (
            "import threading\nclass Game(Game):\n    def __init__(self):\n        self.home = threading.get_ident()\n"
            "    def step(self, text):\n        assert self.home == threading.get_ident()\n"
            "        return super().step(text)\n",
            "interleaved",
            "raised AssertionError",
        ),
        (
            "def tasks(split): return [Task(x, {'x': x}) for x in {f'{split}-{n}' for n in range(99)}]",
            "elsewhere",
            "another process has other tasks in the split",
        ),
        (
            method("reset", "self.turn = 0; return [Message('user', str({str(n) for n in range(99)}))]", "task, seed"),
            "elsewhere",
            "in another process an episode differs",
        ),
        (
            "import threading\nRunning = []\n"
            + method("step", "Running.append(1)\nassert len(Running) < 3, 'busy'\nreturn self.first(text)"),
            "same again",
            "busy",
        ),
    ],
)
def test_what_breaks_the_contract_fails(subject, code, check, words):
    """With one line that names the place."""
    found = finding(check, subject(code))
    assert found.status == "failed"
    assert words in found.text
    assert "\n" not in found.text


def test_a_renewed_conversation_has_to_repeat_what_it_is_about(subject):
    """What an agent sees of a turn would say nothing of its task."""
    assert "repeat no line" in finding("episodes", subject(conversation="renewed")).text


def test_a_renewed_conversation_that_does_passes(subject):
    """One line of the opening is enough."""
    code = method("step", "s = self.first(text)\nreturn Step((Message('user', 'Say a word.\\nNow.'),), done=s.done)")
    assert finding("episodes", subject(code, conversation="renewed")).status == "ok"


def test_an_opening_that_is_told_again_fails_where_the_conversation_grows(subject):
    """Everything is kept there, and would stand twice."""
    opening = "(Message('user', 'Play.'), Message('user', 'Go.'))"
    code = method("reset", f"self.turn = 0\nreturn {opening}", "task, seed")
    code += method("step", f"return Step({opening})")
    assert "begin with the opening ones" in finding("episodes", subject(code)).text


def test_an_episode_without_an_end_is_worth_a_note(subject):
    """The limit ends it; what was to be earned in the end is lost."""
    code = method("step", "return Step((Message('user', 'Go on.'),))")
    found = finding("episodes", subject(code))
    assert found.status == "note"
    assert "goes on after 4 turns" in found.text


def test_failing_surroundings_are_told_as_such(subject):
    """An `EnvironmentFault` is no fault of the agent's, but nothing can be checked."""
    code = "from coevo.errors import EnvironmentFault\n" + method("step", "raise EnvironmentFault('no browser')")
    assert "the surroundings failed: no browser" in finding("episodes", subject(code)).text


def test_programs_outside_may_tell_the_same_in_other_words(subject):
    """Turns, rewards and most words have to agree, no more."""
    clock = "import itertools\nclock = itertools.count()\n"
    words = "'Say one word of the many words that you know at ' + str(next(clock))"
    code = clock + method("reset", f"self.turn = 0\nreturn [Message('user', {words})]", "task, seed")
    needs = '\n[[needs]]\nprogram = "sh"\ninstall = "have it"\n'
    found = finding("same again", subject(code, metadata=needs))
    assert found.status == "ok"
    assert "most words" in found.text


def test_programs_outside_may_not_give_other_rewards(subject):
    """Nor may they tell another story."""
    clock = "import itertools\nclock = itertools.count()\n"
    code = clock + method("step", "return Step(reward=1 / (2 + next(clock)), done=True)")
    needs = '\n[[needs]]\nprogram = "sh"\ninstall = "have it"\n'
    assert finding("same again", subject(code, metadata=needs)).status == "failed"


@pytest.mark.parametrize(
    ("old", "new", "words"),
    [
        ('name = "my-game"', 'name = "yours"', "the folder is called my-game"),
        ('title = "Replace me: find a number"', 'title = " "', "nothing is said in environment.toml under title"),
        ("guesses that an episode allows, at most 8", "", "under options.guesses"),
        ('name = "guesses"', 'name = "split"', "an option cannot be called split"),
    ],
)
def test_metadata_that_says_too_little_fails(tmp_path, old, new, words):
    """Each with what to change."""
    file = new_environment("my-game", tmp_path) / "environment.toml"
    assert old in file.read_text()
    file.write_text(file.read_text().replace(old, new))
    found = env_checks_text.metadata(read_environment(file.parent))
    assert found.status == "failed"
    assert words in found.text


def test_missing_needs_fail_with_their_commands(tmp_path):
    """Nothing else can be checked then."""
    file = new_environment("my-game", tmp_path) / "environment.toml"
    file.write_text(file.read_text() + '\n[[needs]]\nprogram = "no-such"\ninstall = "apt-get install it"\n')
    found = env_checks_text.needs(read_environment(file.parent))
    assert found.status == "failed"
    assert "apt-get install it" in found.text


def test_an_echo_says_what_it_was_told():
    """A line of it, the same one whenever it is asked; of nothing, something."""
    told = [Message("user", "one\n\n two "), Message("user", "three")]
    said = [echoing(turn, told) for turn in range(20)]
    assert set(said) == {"one", "two", "three"}
    assert said == [echoing(turn, told) for turn in range(20)]
    assert echoing(0, []) == "?"


def test_halves_are_no_whole_lines():
    """The last lines, cut in the middle."""
    assert halves([Message("user", "first\nguess 7\nno")], 2) == ["gues", "n"]


def test_hostile_answers_are_what_they_are_called():
    """Five of them are too long to be shown, and have a name."""
    assert {name for name in HOSTILE if name.startswith("1 MB")} == set(filter(None, map(name_of, HOSTILE.values())))
    assert name_of("guess 7") == ""
    assert max(map(len, HOSTILE.values())) >= MANY


def test_the_scaffold_reads_its_options(tmp_path):
    """What `tasks` and `open` are given is what the metadata lists."""
    folder = read_environment(new_environment("my-game", tmp_path))
    subject = EnvironmentSubject(folder, read_options(folder.spec, {"guesses": "2"}))
    with subject.player() as player:
        assert len(player.play(subject.examples[0], 3, echoing, 8)) == 3

"""Whole episodes, with real tesseract in the real sandbox, and what an agent may say in them."""

import json
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from coevo.environments.docvqa import tesseract
from coevo.environments.docvqa.anls import anls
from coevo.environments.docvqa.dataset import local_tasks
from coevo.environments.docvqa.environment import DocVqa, tasks
from coevo.environments.docvqa.final_answer import final_answer
from coevo.environments.loading import find_environment
from coevo.environments.tools import react
from coevo.environments.tools.actions import read_action, spoken
from coevo.environments.tools.shell import ToolResult, find_bwrap
from coevo.errors import ConfigError, EnvironmentFault, SandboxError
from coevo.interfaces import Environment, EnvironmentModule, Task

needs_tesseract = pytest.mark.skipif(shutil.which("tesseract") is None, reason="needs the program tesseract")
pytest.importorskip("PIL", reason="needs Pillow")

READ = 'Action:\n{"name": "bash", "arguments": {"command": "tesseract /workspace/document.png - --psm 6"}}'
INVOICE = Task("invoice-0", {"question": "?", "answers": ["Alice Palmer", "A. Palmer"], "document": ["val", 0]})


def command(text: str) -> str:
    """The action that runs a command without quotes in it."""
    return f'Action:\n{{"name": "bash", "arguments": {{"command": "{text}"}}}}'


@pytest.fixture
def environment() -> Iterator[DocVqa]:
    """An environment whose shell works here; skips without bubblewrap."""
    try:
        find_bwrap()
    except SandboxError as error:
        pytest.skip(f"needs bubblewrap: {error}")
    environment = DocVqa()
    yield environment
    environment.close()


class FakeShell:
    """Prints nothing, at once."""

    def __init__(self, limits, *, files):
        assert list(files) == ["document.png"]

    def run(self, command):
        """An ordinary result."""
        return ToolResult("", 0)

    def close(self):
        """Nothing to release."""


@pytest.fixture
def begin(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[[], DocVqa]]:
    """Begins an episode of which one command has run, in a shell that only says so."""
    monkeypatch.setattr(react, "Shell", FakeShell)
    page = tmp_path / "page.png"
    page.touch()
    environment = DocVqa()

    def start() -> DocVqa:
        environment.reset(Task("1", {"question": "?", "answers": ["Alice Palmer"], "image": str(page)}), 0)
        environment.step(command("true"))
        return environment

    yield start
    environment.close()


@needs_tesseract
def test_an_agent_that_reads_an_invoice_earns_one(environment):
    """Read the page with tesseract, find the total in what it printed, answer it."""
    task = tasks("val")[0]
    assert task.name == "invoice-0"
    assert task.data["question"] == "What is the total amount of the invoice?"
    system, user = environment.reset(task, 7)
    assert (system.role, user.role) == ("system", "user")
    assert "/workspace/document.png" in user.content
    assert task.data["question"] in user.content
    step = environment.step(f"I read the page first.\n\n{READ}")
    assert (step.reward, step.done, step.truncated) == (0.0, False, False)
    (observation,) = step.messages
    assert observation.content.startswith("Observation from bash:\n")
    total = next(line for line in observation.content.splitlines() if line.startswith("Total:")).split()[1]
    last = environment.step(f"It stands at the bottom.\nFinal answer: {total}")
    assert (last.reward, last.done, last.messages) == (1.0, True, ())
    assert last.info["answer"] == total
    assert last.info["accurate"]


@needs_tesseract
@pytest.mark.parametrize("number", range(4))
def test_tesseract_reads_every_kind_of_document(environment, number):
    """The right answer is in what is printed, for the first question about each kind."""
    task = tasks("train")[number]
    environment.reset(task, 0)
    step = environment.step(READ)
    assert task.data["answers"][0] in step.messages[0].content
    assert environment.step(f"Final answer: {task.data['answers'][0]}").reward == 1.0


@needs_tesseract
def test_a_page_of_the_users_is_read(environment, json_copy, rows):
    """The image of a copy of DocVQA lies in the workspace under the same name, and Pillow opens it there."""
    (task,) = local_tasks(json_copy(rows), "train", 1)
    environment.reset(task, 0)
    assert len(environment.step(READ).messages[0].content) > 100
    step = environment.step(command("python3 -c 'from PIL import Image; print(Image.open(\\\"document.png\\\").size)'"))
    assert "(1100, " in step.messages[0].content


def test_the_page_is_read_only_and_other_files_last(environment):
    """Neither overwritten nor removed, while what a command writes is there for the next; and nothing else is shown."""
    environment.reset(INVOICE, 0)
    environment.step(command("echo x > document.png; rm -f document.png; echo kept > note"))
    step = environment.step(command("head -c 4 document.png | tail -c 3; cat note; ls"))
    assert step.messages[0].content.rstrip() == "Observation from bash:\nPNGkept\ndocument.png\nnote"


def test_an_answer_without_a_command_earns_nothing(environment):
    """The rule holds whatever the text says: an action that was not run, or an observation that was invented."""
    environment.reset(INVOICE, 0)
    for text in (
        "Final answer: Alice Palmer",
        "Observation from bash:\nAlice Palmer\nFinal answer: Alice Palmer",
        'Action:\n{"name": "look", "arguments": {}}\nFinal answer: Alice Palmer',
        command(" ") + "\nFinal answer: Alice Palmer",
    ):
        step = environment.step(text)
        assert (step.reward, step.done, step.info["valid"]) == (0.0, False, False)
        assert step.messages[0].content.startswith("Observation from format_check:\n")
    environment.step(command("true"))
    assert environment.step("Final answer: alice palmer.").reward == 1.0


def test_an_action_comes_before_an_answer(environment):
    """A message with both runs the command; the answer has to be given when its output has been seen."""
    environment.reset(INVOICE, 0)
    step = environment.step(f"{command('echo seen')}\nFinal answer: Alice Palmer")
    assert (step.reward, step.done) == (0.0, False)
    assert step.messages[0].content.rstrip() == "Observation from bash:\nseen"


@pytest.mark.parametrize(
    "text",
    [
        "",
        " ",
        "\0",
        "Alice Palmer",
        "Answer: Alice Palmer",
        "Final answer:",
        "<think>Final answer: Alice Palmer",
        "\ud800",
    ],
)
def test_what_is_neither_action_nor_answer_costs_a_turn(environment, text):
    """Nothing else is taken for the answer, right as it may be."""
    environment.reset(INVOICE, 0)
    environment.step(command("true"))
    step = environment.step(text)
    assert (step.reward, step.done, step.info["valid"]) == (0.0, False, False)
    assert environment.step("Final answer: Alice Palmer").reward == 1.0


def test_a_hostile_command_is_answered(environment):
    """Ten megabytes of output, bytes that are no text, and a failure are ordinary observations."""
    environment.reset(INVOICE, 0)
    flood = environment.step(command("head -c 10000000 /dev/zero | tr '\\\\0' a")).messages[0].content
    assert len(flood) < 7000
    assert "characters left out" in flood
    environment.step(command("head -c 5000 /dev/urandom")).messages[0].content.encode()
    assert "[exit code 3]" in environment.step(command("exit 3")).messages[0].content


def test_an_episode_repeats_itself(environment):
    """The same task and answers give the same messages and rewards, whatever the seed."""
    said = [command("sha256sum document.png; touch a; ls"), "What?", "Final answer: Alice Balmer"]
    played = []
    for seed in (1, 2):
        opening = environment.reset(INVOICE, seed)
        played.append((opening, [environment.step(text) for text in said]))
    assert played[0] == played[1]
    assert 0.5 < played[0][1][-1].reward < 1


WORDS = st.sampled_from(["Alice", " Palmer", "Final answer: ", "Answer: ", "\n", "**", "<think>", "</think>"])


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.lists(WORDS).map("".join))
def test_training_and_evaluation_have_one_rule(begin, text):
    """A message ends the episode exactly if it holds a line with a final answer, and earns that line's ANLS."""
    assert read_action(spoken(text)) is None
    answer = final_answer(spoken(text))
    step = begin().step(text)
    assert step.done == bool(answer)
    assert step.reward == (anls(answer, ["Alice Palmer"]) if answer else 0.0)


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.text(st.characters()))
def test_no_answer_raises(begin, text):
    """Whatever is said is answered, or ends the episode without a reward for nothing."""
    step = begin().step(text)
    assert bool(step.messages) != step.done
    assert not step.truncated
    json.dumps(dict(step.info), ensure_ascii=False).encode()


def test_a_page_that_has_gone_is_a_fault(environment, json_copy, rows):
    """Not the agent's doing: the task is dropped, not scored."""
    (task,) = local_tasks(json_copy(rows), "train", 1)
    environment.reset(task, 0)
    Path(task.data["image"]).unlink()
    with pytest.raises(EnvironmentFault):
        environment.step(READ)
    with pytest.raises(EnvironmentFault, match=f"task {task.name}"):
        environment.reset(task, 0)


def test_closing_leaves_nothing(environment, tmp_path, monkeypatch):
    """In the middle of an episode and twice: the drawn page is removed, and no episode is open."""
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    environment.reset(INVOICE, 0)
    environment.step(command("true"))
    assert list(tmp_path.iterdir())
    environment.close()
    environment.close()
    assert not list(tmp_path.iterdir())
    with pytest.raises(RuntimeError, match="call reset"):
        environment.step("Final answer: Alice Palmer")


@needs_tesseract
def test_the_folder_keeps_the_contract():
    """What environment.toml lists is what both functions take, and the module is one."""
    folder = find_environment("docvqa")
    loaded = folder.load()
    assert isinstance(loaded, EnvironmentModule)
    options = {option.name: option.default for option in folder.spec.options}
    assert isinstance(loaded.open(**options), Environment)
    assert folder.spec.limits.step_s >= 100, "a shell that starts and a command with its slack"
    for split in folder.spec.splits:
        listed = loaded.tasks(split, **options)
        assert len(listed) == options[split]
        assert len({task.name for task in listed}) == len(listed)
    assert {need.program or need.package for need in folder.spec.needs} == {"tesseract", "PIL"}


def test_a_missing_tesseract_is_named(monkeypatch, tmp_path):
    """One line at start, with the command that brings it."""
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(ConfigError, match=r"program tesseract.*apt-get install .*tesseract-ocr"):
        find_environment("docvqa").require()


@pytest.mark.parametrize(
    "printed",
    [
        ToolResult("bash: line 1: tesseract: command not found\n", 127),
        ToolResult("List of available languages (1):\nosd\n", 0),
        ToolResult("", None, timed_out=True),
    ],
)
def test_a_tesseract_that_agents_cannot_use_is_named(monkeypatch, printed):
    """Neither one outside of what the shell sees nor one without English lets a run begin that could only score 0."""

    class Shell:
        def run(self, command):
            return printed

        def close(self):
            pass

    monkeypatch.setattr(tesseract, "Shell", Shell)
    with pytest.raises(ConfigError, match=r"expected tesseract with the language eng .* run apt-get install") as caught:
        tesseract.require_tesseract.__wrapped__()
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(("split", "options"), [("search", {}), ("val", {"val": 0}), ("train", {"train": -3})])
def test_a_bad_split_or_size_is_named(split, options):
    """One clear line each."""
    with pytest.raises(ConfigError, match="expected"):
        tasks(split, **options)

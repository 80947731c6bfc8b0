"""Actions are read as they were meant, or answered."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from coevo.environments.tools.actions import read_action, spoken


def action(command: str) -> str:
    """An action in due form."""
    return "Action:\n" + json.dumps({"name": "bash", "arguments": {"command": command}})


@given(st.text().filter(str.strip), st.text(alphabet="abc .\n", max_size=30))
def test_what_is_written_in_due_form_is_read(command: str, before: str) -> None:
    """Any command comes through, whatever is said before it."""
    found = read_action(f"{before}\n{action(command)}")
    assert found is not None
    assert (found.command, found.problem) == (command, "")


SPELT = st.lists(
    st.sampled_from(["\\ud800", "\\udfff", "\\\\ud800", "\ud800", "\\u0000", "\\", '"', "a", "é", "}"]), max_size=6
).map("".join)
"""Text in which JSON, or the text itself, holds half of a surrogate pair."""


@given(SPELT)
def test_what_is_run_or_answered_can_be_encoded(text: str) -> None:
    """However an agent spells half of a surrogate pair, none gets through."""
    spoken(text).encode()
    for attempt in (
        f'Action: {{"name": "bash", "arguments": {{"command": "x{text}"}}}}',
        f'Action: {{"name": "bash", "arguments": "x{text}"}}',
        f'Action: {{"name": "{text}", "arguments": {{"command": "x"}}}}',
    ):
        found = read_action(spoken(attempt))
        assert found is not None
        assert (found.command + found.problem).encode()


@given(st.text(st.characters(), max_size=200))
def test_nothing_raises(text: str) -> None:
    """Whatever an agent says, there is an action that can be run, one with a problem, or none."""
    for attempt in (text, f"Action:{text}", f'Action: {{"name": "bash", "arguments": {{"command": "{text}'):
        found = read_action(spoken(attempt))
        assert found is None or bool(found.command.strip()) != bool(found.problem)


@pytest.mark.parametrize(
    ("text", "command"),
    [
        ('Action: {"name": "bash", "arguments": {"command": "ls"}}', "ls"),
        ('**Action:**\n```json\n{"name": "bash", "arguments": {"command": "ls"}}\n```', "ls"),
        ('### action：\n{"name": "Bash", "arguments": {"command": "ls"}}', "ls"),
        ('Action:\n{"name": "bash", "arguments": "{\\"command\\": \\"ls\\"}"}', "ls"),
        ('Action:\n{"name": "bash", "arguments": "ls"}', "ls"),
        ('Action:\n{"name": "bash", "arguments": {"command": "a\nb"}}', "a\nb"),
        ('Action:\n{"name": "bash", "arguments": {"command": "print("hi")"}}', 'print("hi")'),
        ('Action:\n{"name": "bash", "arguments": {"command": "print(\\"hi\\")\\nx', 'print("hi")\nx'),
        ('Action:\n{"name": "bash", "arguments": {"command": "python3 -c "print(1)""}}\n```', 'python3 -c "print(1)"'),
        ('Action:\n{"name": "bash", "arguments": {"command": "ls"}} and so on', "ls"),
        ('Action:\n{"name": "bash", "arguments": {"command": "grep \\d x"}}', "grep \\d x"),
        (action("first") + "\n" + action("second"), "first"),
    ],
)
def test_what_is_meant_is_read(text: str, command: str) -> None:
    """Markdown, other quoting and a missing end leave no doubt."""
    found = read_action(text)
    assert found is not None
    assert (found.command, found.problem) == (command, "")


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("Action:", "not valid JSON"),
        ("Action: ls -l", "not valid JSON"),
        ("Action: [1]", "not a JSON object"),
        ("Action: " + "[" * 100_000, "not valid JSON"),
        ('Action: {"name": "bash"}', '"command"'),
        ('Action: {"name": "bash", "arguments": {"command": 5}}', '"command"'),
        ('Action: {"name": "bash", "arguments": {"command": "  "}}', "empty"),
        ('Action: {"name": "python", "arguments": {"command": "1"}}', 'no tool "python"'),
        ('Action: {"arguments": {"command": "1"}}', "no tool null"),
    ],
)
def test_what_cannot_be_run_is_told(text: str, problem: str) -> None:
    """The agent reads why."""
    found = read_action(text)
    assert found is not None
    assert problem in found.problem


@pytest.mark.parametrize("text", ["", "ls", "Final answer: 3", "the Action: of the court", "Reaction: none"])
def test_without_the_word_there_is_no_action(text: str) -> None:
    """It stands at the beginning of a line."""
    assert read_action(text) is None


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("<think>Action: x</think>yes", "yes"),
        ("still thinking</think>yes", "yes"),
        ("yes<think>and cut off", "yes"),
        ("yes\nObservation from bash:\n42\nFinal answer: 42", "yes\n"),
        ("yes\n**Observation:** 42", "yes\n"),
        ("My observation: it is fine", "My observation: it is fine"),
    ],
)
def test_thoughts_and_invented_observations_do_not_count(text: str, said: str) -> None:
    """What the agent thinks, and what it makes up in the tool's name, is not said."""
    assert spoken(text).rstrip("\n") == said.rstrip("\n")


@pytest.mark.parametrize("text", ['"}' + " " * 10**6 + "x", "\n" * 10**6 + "action", "*" * 10**6, '"} ' * 10**5 + "x"])
def test_reading_takes_time_in_proportion_to_the_answer(text):
    """Answers that a careless pattern would go through again and again are read, and hold no action."""
    assert read_action(f"Action: {text}") is None or read_action(f"Action: {text}").problem

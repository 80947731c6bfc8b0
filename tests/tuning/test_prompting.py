"""Prompts of conversations: by the renderer that a model names, with or without a skill."""

import pytest

from coevo.errors import ConfigError
from coevo.interfaces import Message
from coevo.tuning.prompting import SKILL_HEADING, Prompter, check_renderer, plain, with_skill

TALK = (Message("system", "Be brief."), Message("user", "Hello."), Message("assistant", "Hi."), Message("user", "Go."))


def test_chat_models_get_the_messages_and_others_text():
    """The plain text is there for both, and ends where the answer begins."""
    chat, words = Prompter("chat").prompt(TALK), Prompter("plain").prompt(TALK)
    assert chat.messages == TALK
    assert words.messages == ()
    assert chat.text == words.text == plain(TALK)
    assert words.text.endswith("user:\nGo.\n\nassistant:\n")


def test_a_skill_ends_the_system_message():
    """Or stands in one of its own; without a skill nothing changes."""
    assert with_skill(TALK, "") == TALK
    first, *rest = with_skill(TALK, "- look twice")
    assert first.content == f"Be brief.\n\n{SKILL_HEADING}\n\n- look twice"
    assert tuple(rest) == TALK[1:]
    added = with_skill(TALK[1:], "- look twice")
    assert (added[0].role, added[1:]) == ("system", TALK[1:])
    assert Prompter("chat").taught("- look twice").prompt(TALK).messages[0] == first


@pytest.mark.parametrize(
    ("renderer", "environment", "match"), [("slots", "math", "heuristics only"), ("board", "math", "Sudoku only")]
)
def test_a_model_that_cannot_act_there_is_refused(renderer, environment, match):
    """Before anything starts, naming both."""
    with pytest.raises(ConfigError, match=match):
        check_renderer(renderer, "some model", environment)
    check_renderer("board", "player", "sudoku")
    check_renderer("chat", "some model", environment)

from itertools import pairwise
from types import SimpleNamespace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from coevo.engines.conversation import plain_roles, write_conversation
from coevo.errors import ModelError
from coevo.interfaces import Message

EACH = "{% for m in messages %}[{{ m['role'] }}]{{ m['content'] }}{% endfor %}"
ASSISTANT = "{% if add_generation_prompt %}[assistant]{% endif %}"
THINKING = "{% if enable_thinking is defined and enable_thinking is false %}(no thoughts){% endif %}"
NO_SYSTEM = "{% if messages[0]['role'] == 'system' %}{{ raise_exception('System role not supported') }}{% endif %}"
TURNS = (
    "{% for m in messages %}{% if (m['role'] == 'user') != (loop.index0 % 2 == 0) %}"
    "{{ raise_exception('roles must alternate') }}{% endif %}{% endfor %}"
)
CONVERSATION = (Message("system", "be brief"), Message("user", "hi"), Message("assistant", ""), Message("user", "so"))
MESSAGES = st.builds(Message, role=st.sampled_from(["system", "user", "assistant"]), content=st.text("ab", max_size=3))


@pytest.fixture
def tokenizer(make_model):
    """Makes tokenizers of transformers with a chat template."""
    from transformers import AutoTokenizer

    def make(template):
        found = AutoTokenizer.from_pretrained(make_model(template=True))
        found.chat_template = template
        return found

    return make


def test_messages_keep_their_roles(tokenizer):
    """In order, empty ones too, up to where the answer begins."""
    text = write_conversation(tokenizer(EACH + ASSISTANT), CONVERSATION)
    assert text == "[system]be brief[user]hi[assistant][user]so[assistant]"


def test_thinking_is_turned_off(tokenizer):
    """Where the template reads the switch; a tokenizer that does not know the name is not told."""
    assert write_conversation(tokenizer(EACH + ASSISTANT + THINKING), CONVERSATION).endswith("[assistant](no thoughts)")
    told = []
    strict = SimpleNamespace(chat_template=EACH, apply_chat_template=lambda _, **options: told.append(options) or "x")
    assert write_conversation(strict, CONVERSATION) == "x"
    assert told == [{"add_generation_prompt": True, "tokenize": False}]


@pytest.mark.parametrize("strict", [NO_SYSTEM, TURNS])
def test_a_strict_template_gets_user_and_assistant_in_turns(tokenizer, strict):
    """What the system says is said by the user, in one message with the user's own."""
    text = write_conversation(tokenizer(strict + EACH), CONVERSATION)
    assert text == "[user]be brief\n\nhi[assistant][user]so"


def test_a_template_that_takes_no_form_is_an_error(tokenizer):
    """One line that says what the template says."""
    refusing = tokenizer("{{ raise_exception('never\nmind') }}")
    with pytest.raises(ModelError, match=r"\(system, user, assistant, user\).*never mind") as caught:
        write_conversation(refusing, CONVERSATION)
    assert "\n" not in str(caught.value)


@given(st.lists(MESSAGES, min_size=1, max_size=8))
def test_plain_roles_keep_every_word(messages):
    """Neighbours differ in role, no system is left, the words are all there in order, and doing it twice is once."""
    plain = plain_roles(messages)
    assert "\n\n".join(message.content for message in plain) == "\n\n".join(message.content for message in messages)
    assert all(one.role != other.role for one, other in pairwise(plain))
    assert {message.role for message in plain} <= {"user", "assistant"}
    assert plain_roles(plain) == plain

import json

import pytest

from coevo.engines.loading import inspect_folder
from coevo.engines.tokens import PlainCodec, TransformersCodec, end_tokens, make_codec
from coevo.errors import ModelError
from coevo.interfaces import Message


def codec(path, chat=False):
    """The codec of a folder."""
    folder = inspect_folder(path)
    return make_codec(folder, end_tokens(folder), chat=chat)


@pytest.mark.parametrize(("renderer", "expected"), [("slots", "<a0>+<a1>"), ("plain", "+"), ("chat", "+")])
def test_only_slot_programs_keep_special_tokens(make_model, renderer, expected):
    """Slots are special tokens of the slot model; everywhere else special tokens are markup. End and pad never show."""
    found = codec(make_model(renderer=renderer))
    tokens = found.encode("<a0>+<a1>")
    assert tokens[0] == 3
    assert found.decode([0, *tokens, 1, 0]) == expected


def test_both_codecs_say_the_same(make_model):
    """The quick codec reads and writes as transformers does, begin token included."""
    folder = inspect_folder(make_model(adds_bos=True))
    quick, usual = PlainCodec(folder, (1,)), TransformersCodec(folder, (1,), chat=False)
    for text in ("def f(a, b):\n    return a  # é ", "", "<a0> ,  x"):
        assert quick.encode(text) == usual.encode(text)
        assert quick.decode(quick.encode(text)) == usual.decode(usual.encode(text))
    assert quick.encode("x")[0] == 2


@pytest.mark.parametrize("adds_bos", [True, False])
def test_a_chat_prompt_has_one_begin_token(make_model, adds_bos):
    """The template writes the user's message and the begin token; tokenising does not add a second one."""
    found = codec(make_model(renderer="chat", template=True, adds_bos=adds_bos), chat=True)
    tokens = found.encode("hi")
    assert tokens.count(2) == 1
    assert found.decode(tokens) == "[user]hi[assistant]"


def test_chat_without_a_template_is_plain_text(make_model):
    """Asking in chat a model that has no template sends the text itself."""
    found = codec(make_model(), chat=True)
    assert found.decode(found.encode("hi")) == "hi"


CONVERSATION = (
    Message("system", "be brief"),
    Message("user", "hi"),
    Message("assistant", "yes"),
    Message("user", "so"),
)


@pytest.mark.parametrize("adds_bos", [True, False])
def test_a_conversation_goes_through_the_template(make_model, adds_bos):
    """Every message in its role and one begin token; the plain text is not read."""
    found = codec(make_model(renderer="chat", template=True, adds_bos=adds_bos), chat=True)
    tokens = found.encode("text", CONVERSATION)
    assert tokens.count(2) == 1
    assert found.decode(tokens) == "[system]be brief[user]hi[assistant]yes[user]so[assistant]"
    assert found.encode("hi", (Message("user", "hi"),)) == found.encode("hi")


@pytest.mark.parametrize(("template", "chat"), [(False, False), (False, True), (True, False)])
def test_without_a_template_a_conversation_is_its_text(make_model, template, chat):
    """The request's plain text is what the model reads, as it is where the template is not to be used."""
    found = codec(make_model(template=template), chat=chat)
    assert found.encode("text", CONVERSATION) == found.encode("text")


def test_an_empty_prompt_still_has_a_token(make_model):
    """A model cannot begin from nothing, so the end token stands in."""
    path = make_model()
    assert codec(path).encode("") == [1]
    assert codec(path, chat=True).encode("") == [1]


def test_every_end_token_counts(make_model):
    """Both config files may name end tokens, one or several."""
    path = make_model(eos_token_id=[1, 7])
    (path / "generation_config.json").write_text(json.dumps({"eos_token_id": 5}))
    assert end_tokens(inspect_folder(path)) == (1, 5, 7)


def test_a_model_that_never_ends_is_refused(make_model):
    """Without an end token no answer would ever be whole."""
    with pytest.raises(ModelError, match="expected eos_token_id"):
        end_tokens(inspect_folder(make_model(eos_token_id=None)))

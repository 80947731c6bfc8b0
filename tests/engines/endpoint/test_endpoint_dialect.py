import json
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from coevo.engines.endpoint.dialect import Dialect, reduced_seed
from coevo.engines.endpoint.refusals import read_refusal
from coevo.interfaces import Message, Request, Sampling

REQUEST = Request("r", "prompt", 2**63 + 5, None, Sampling(0.5, 0.9, 99))


def refusal(message, status=400, **more):
    """A refusal as most servers write it."""
    return read_refusal(status, json.dumps({"error": {"message": message, **more}}).encode())


def test_the_body_of_a_request():
    """One user message or the bare text; the three knobs, the limit, and no stream."""
    knobs = {"temperature": 0.5, "top_p": 0.9, "seed": reduced_seed(2**63 + 5), "max_tokens": 99, "stream": False}
    assert Dialect().parameters(REQUEST) == knobs
    assert Dialect().prompt(REQUEST) == {"messages": [{"role": "user", "content": "prompt"}]}
    assert Dialect(("completions",)).prompt(REQUEST) == {"prompt": "prompt"}


CONVERSATION = (
    Message("system", "be brief"),
    Message("user", "hi"),
    Message("assistant", "yes"),
    Message("user", "so"),
)
ASKED = replace(REQUEST, sampling=Sampling(0.5, 0.9, 99, 20, 1.5, ("Observation:",)), messages=CONVERSATION)


def test_a_conversation_goes_out_as_it_is():
    """Roles and words are the server's matter; where there is no chat, the plain text goes out."""
    assert Dialect().prompt(ASKED) == {
        "messages": [
            {"role": "system", "content": "be brief"},
            {"role": "user", "content": "hi"},
            {"role": "assistant", "content": "yes"},
            {"role": "user", "content": "so"},
        ]
    }
    assert Dialect(("completions",)).prompt(ASKED) == {"prompt": "prompt"}


def test_what_few_servers_take_is_sent_where_it_is_asked_for():
    """At their defaults neither is in the body."""
    more = {"top_k": 20, "presence_penalty": 1.5, "stop": ["Observation:"]}
    assert Dialect().parameters(ASKED) == {**Dialect().parameters(REQUEST), **more}


@pytest.mark.parametrize(
    "refused",
    [
        refusal("System role not supported"),
        refusal("Conversation roles must alternate user/assistant/user/assistant/..."),
        refusal("Only user and assistant roles are supported!", 500),
        refusal("Unsupported value: 'messages[0].role' does not support 'system' with this model."),
    ],
)
def test_a_server_without_a_system_role(refused):
    """Its words are put as the user's, in turns with the assistant's; the route stays."""
    changed, _ = Dialect().after(refused)
    assert changed == Dialect(has_plain_roles=True)
    assert changed.prompt(ASKED)["messages"][0] == {"role": "user", "content": "be brief\n\nhi"}
    assert [message["role"] for message in changed.prompt(ASKED)["messages"]] == ["user", "assistant", "user"]
    assert changed.prompt(REQUEST) == Dialect().prompt(REQUEST)


@given(st.integers(0, 2**64 - 1), st.integers(0, 63))
def test_reduced_seeds(seed, bit):
    """Seeds end in the 31 bits every server takes, and each of the 64 bits of the original changes them."""
    assert 0 <= reduced_seed(seed) < 2**31
    assert reduced_seed(seed) != reduced_seed(seed ^ (1 << bit))


@pytest.mark.parametrize("name", ["seed", "top_p", "temperature", "top_k", "presence_penalty", "stop"])
@pytest.mark.parametrize(
    ("message", "more"),
    [
        ("Unsupported parameter: '{}' is not supported with this model.", {}),
        ("Unsupported value: this model does not take it", {"param": "{}"}),
        ("[{{'type': 'extra_forbidden', 'loc': ('body', '{}')}}]", {}),
    ],
)
def test_a_parameter_that_is_refused_is_left_out(name, message, more):
    """By whatever way the refusal names it; the others stay."""
    named = {key: value.format(name) for key, value in more.items()}
    changed, words = Dialect().after(refusal(message.format(name), **named))
    assert changed == Dialect(omitted=frozenset({name}))
    assert changed.parameters(ASKED).keys() == Dialect().parameters(ASKED).keys() - {name}
    assert name in words
    assert changed.after(refusal(message.format(name), **named)) is None


def test_details_of_a_web_framework_name_parameters_too():
    """A refusal without an error object is searched as well."""
    body = {"detail": [{"loc": ["body", "seed"], "msg": "Extra inputs are not permitted"}]}
    assert Dialect().after(read_refusal(422, json.dumps(body).encode()))[0].omitted == {"seed"}


def test_the_other_name_of_the_limit():
    """Models that reason want max_completion_tokens; there is no third name, and /completions has no second."""
    refused = refusal("Unsupported parameter: 'max_tokens'. Use 'max_completion_tokens' instead.", param="max_tokens")
    changed, _ = Dialect().after(refused)
    assert changed.parameters(REQUEST)["max_completion_tokens"] == 99
    assert "max_tokens" not in changed.parameters(REQUEST)
    assert changed.after(refused) is None
    assert Dialect(("completions",)).after(refused) is None


@pytest.mark.parametrize(
    "refused",
    [
        refusal("Not Found", 404),
        refusal("Method Not Allowed", 405),
        refusal("not implemented", 501),
        refusal("you must provide a chat template if the tokenizer does not define one"),
        refusal("This is not a chat model and thus not supported in v1/chat/completions.", 404),
    ],
)
def test_a_server_without_chat_is_asked_for_completions(refused):
    """As long as chat has never answered; afterwards it is known to be there, and the refusal means something else."""
    changed, _ = Dialect().after(refused)
    assert changed.route == "completions"
    assert changed.after(refused) is None
    assert Dialect().proven.after(refused) is None


@pytest.mark.parametrize("status", [401, 403, 429, 500, 503])
def test_other_refusals_change_nothing(status):
    """A parameter that is mentioned by the way is no reason to leave it out."""
    assert Dialect().after(refusal("rate limit for this seed", status)) is None


def test_a_proxy_that_says_500_for_an_unsupported_parameter():
    """The words count there, not the status."""
    assert Dialect().after(refusal("host does not support parameters: {'seed': 1}", 500))[0].omitted == {"seed"}


REFUSED = ["seed", "top_p", "temperature", "top_k", "presence_penalty", "stop", "max_tokens", "model"]


@given(st.lists(st.sampled_from([*REFUSED, "chat template", "system role"]), max_size=40))
def test_there_are_at_most_nine_changes(mentioned):
    """Refusals of any kind in any order come to an end: each change strikes something for good."""
    dialect, changes = Dialect(), 0
    for words in mentioned:
        if (change := dialect.after(refusal(words))) is not None:
            dialect, changes = change[0], changes + 1
    assert changes <= 9


@pytest.mark.parametrize(
    ("message", "status", "more", "expected"),
    [
        ("This model's maximum context length is 512 tokens. However, your prompt contains 600", 400, {}, True),
        ("request (4390 tokens) exceeds the available context size (4096 tokens)", 400, {}, True),
        ("Context size has been exceeded.", 500, {"code": 500}, True),
        ("Requested tokens (2285) exceed context window of 2048", 400, {}, True),
        ("too much", 400, {"code": "context_length_exceeded"}, True),
        ("The response was filtered", 400, {"code": "content_filter"}, True),
        ("max_tokens=999 cannot be greater than max_model_len", 400, {"param": "max_tokens"}, False),
        ("internal error", 500, {}, False),
        ("maximum context length", 503, {}, False),
    ],
)
def test_refusals_of_one_prompt(message, status, more, expected):
    """Too long or filtered: that says nothing of other prompts."""
    assert refusal(message, status, **more).is_about_one_prompt is expected


@pytest.mark.parametrize(
    ("status", "more", "expected"),
    [
        (408, {}, True),
        (409, {}, True),
        (425, {}, True),
        (429, {}, True),
        (429, {"code": "insufficient_quota"}, False),
        (500, {}, True),
        (501, {}, False),
        (503, {}, True),
        (529, {}, True),
        (400, {}, False),
        (401, {}, False),
        (402, {}, False),
        (403, {}, False),
        (404, {}, False),
        (422, {}, False),
        (302, {}, False),
    ],
)
def test_what_may_pass(status, more, expected):
    """Limits and faults of the server may pass; a wrong question, a wrong key and an empty account do not."""
    assert refusal("words", status, **more).is_transient is expected


@pytest.mark.parametrize(
    ("payload", "said"),
    [
        (b'{"error": {"message": "a\\nb\\u001b[31m"}}', r"a b\x1b[31m"),
        (b'{"error": "plain"}', "plain"),
        (b'{"message": "bare"}', "bare"),
        (b'{"detail": "Not Found"}', "Not Found"),
        (b'{"object": "error", "message": "old vllm", "code": 400}', "old vllm"),
        (b'"just text"', "just text"),
        (b"<!DOCTYPE html><title>502</title><h1>Bad gateway</h1>", "502 Bad gateway"),
        (b"", "without a word"),
        (b'{"error": {"message": "' + b"x" * 999 + b'"}}', "x" * 200),
    ],
)
def test_messages_are_one_short_printable_line(payload, said):
    """Whatever form a refusal has, its words can be shown."""
    read = read_refusal(418, payload)
    assert (read.status, read.message) == (418, said)

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from coevo.engines.endpoint.answers import (
    Usage,
    answer_text,
    estimated_usage,
    read_answer,
    read_document,
    read_usage,
)
from coevo.engines.endpoint.refusals import RefusedError, UnansweredError

JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=8,
)


def chat(content, finish="stop", **more):
    """A chat response with one choice."""
    return {"choices": [{"message": {"role": "assistant", "content": content, **more}, "finish_reason": finish}]}


@pytest.mark.parametrize(
    ("finish", "expected"),
    [
        ("stop", "stop"),
        ("length", "length"),
        ("content_filter", "length"),
        ("tool_calls", "length"),
        ("error", "length"),
        (None, "length"),
        (["stop"], "length"),
    ],
)
def test_only_stop_is_whole(finish, expected):
    """Whatever else a server says of the end, the answer is not used as if whole."""
    assert read_answer(chat("text", finish)).finish == expected


@pytest.mark.parametrize(
    ("content", "expected"),
    [
        ("text", "text"),
        ("", ""),
        (None, ""),
        (17, ""),
        ([{"type": "text", "text": "a"}, {"type": "thinking", "text": "b"}, {"type": "text", "text": "c"}, 3], "ac"),
        ([{"type": "text", "text": None}], ""),
    ],
)
def test_forms_of_content(content, expected):
    """Text, nothing, or parts, of which those of text count."""
    assert read_answer(chat(content)).text == expected


def test_the_completions_form():
    """A response of /completions has its text in the choice."""
    assert read_answer({"choices": [{"text": "abc", "finish_reason": "stop"}]}).text == "abc"


@pytest.mark.parametrize(
    ("content", "expected"),
    [
        ("<think>draft</think>\n\nanswer", "answer"),
        ("\n<think>\n```python\ndraft\n```\n</think>answer", "answer"),
        ("draft without a beginning\n</think>\nanswer", "answer"),
        ("<think>never ends", ""),
        ("<think></think>answer with </think> in it", "answer with </think> in it"),
        ("answer that says <think> and goes on", "answer that says <think> and goes on"),
        ("answer", "answer"),
    ],
)
def test_reasoning_is_no_part_of_the_answer(content, expected):
    """A text goes on after the reasoning it begins with; reasoning that never ends leaves nothing."""
    assert answer_text(content) == expected


def test_reasoning_beside_the_answer_is_ignored():
    """A model that was cut off while it reasoned has answered nothing."""
    answer = read_answer(chat(None, "length", reasoning_content="def f(): ..."))
    assert (answer.text, answer.finish) == ("", "length")


def test_every_text_can_be_written_to_a_file():
    """Half a surrogate pair, which JSON can hold and UTF-8 cannot, is replaced."""
    document = read_document(b'{"choices": [{"text": "a\\ud800b", "finish_reason": "stop"}]}')
    assert read_answer(document).text.encode() == b"a?b"


@pytest.mark.parametrize(
    ("payload", "said"),
    [
        (b"", "an empty body"),
        (b"<html><head><style>b {}</style></head><body>Bad <b>gateway</b></body></html>", "no JSON but 'Bad gateway'"),
        (b'{"choices": [', "no JSON but"),
        (b"[" * 100_000, "no JSON but"),
        (b"\xff\xfe\xfd", "no JSON but"),
        (b"[1, 2]", r"no JSON object but '\[1, 2\]'"),
        (b"null", "no JSON object but 'null'"),
    ],
)
def test_what_is_no_json_object(payload, said):
    """The error says on one line what came instead."""
    with pytest.raises(UnansweredError, match=said) as caught:
        read_document(payload)
    assert "\n" not in str(caught.value)
    assert len(str(caught.value)) < 300


@pytest.mark.parametrize(
    ("document", "status", "said"),
    [
        ({"error": {"message": "no provider", "code": 429}}, 429, "no provider"),
        ({"error": {"message": "no provider", "code": "busy"}}, 502, "no provider"),
        ({"error": "model crashed", "choices": []}, 502, "model crashed"),
        ({"error": {"code": 400, "message": "too long"}, "choices": [{"text": "x"}]}, 400, "too long"),
        ({"choices": [{"error": {"code": 503, "message": "gone"}, "finish_reason": "error"}]}, 503, "gone"),
    ],
)
def test_an_error_in_an_ordinary_response(document, status, said):
    """Status 200 with an error inside is a refusal, with the status the error names."""
    with pytest.raises(RefusedError, match=said) as caught:
        read_answer(document)
    assert caught.value.refusal.status == status


@given(st.dictionaries(st.sampled_from(["choices", "error", "usage", "message"]), JSON | st.lists(JSON, max_size=2)))
def test_any_json_is_an_answer_or_one_of_two_errors(document):
    """Whatever a server sends, nothing else than the two errors comes out, and usage can be read or estimated."""
    read_usage(document)
    estimated_usage("prompt", document)
    try:
        read = read_answer(document)
        shown = read.reason
    except (RefusedError, UnansweredError) as error:
        shown = str(error)
    assert shown.isprintable()


@pytest.mark.parametrize(
    ("usage", "expected"),
    [
        ({"prompt_tokens": 7, "completion_tokens": 3}, Usage(7, 0, 3)),
        (
            {"prompt_tokens": 7, "completion_tokens": 0, "prompt_tokens_details": {"cached_tokens": 4}},
            Usage(7, 4, 0),
        ),
        ({"prompt_tokens": 7, "completion_tokens": 3, "prompt_tokens_details": None}, Usage(7, 0, 3)),
        ({"prompt_tokens": 7, "completion_tokens": 3, "prompt_tokens_details": {"cached_tokens": 9}}, Usage(7, 7, 3)),
        ({"prompt_tokens": 7}, None),
        ({"prompt_tokens": 10**400, "completion_tokens": 3}, None),
        ({"prompt_tokens": 7, "completion_tokens": 1.0}, None),
        ({"prompt_tokens": -1, "completion_tokens": 3}, None),
        ({"prompt_tokens": "7", "completion_tokens": 3}, None),
        ({"prompt_tokens": True, "completion_tokens": 3}, None),
        (None, None),
    ],
)
def test_reading_usage(usage, expected):
    """Whole numbers of tokens for prompt and answer count; anything else is as if the server had not said it."""
    assert read_usage({"usage": usage}) == expected


def test_an_estimate_is_a_token_per_four_bytes():
    """Rounded up, reasoning included, in bytes of UTF-8."""
    document = chat("abcd", reasoning_content="é")
    assert estimated_usage("12345", document) == Usage(2, 0, 2, is_estimate=True)
    assert estimated_usage("", json.loads('{"choices": [{"text": "\\ud800"}]}')) == Usage(0, 0, 1, is_estimate=True)

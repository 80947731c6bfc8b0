import pytest
from hypothesis import given
from hypothesis import strategies as st

from coevo.engines.endpoint.address import api_key, parse_address
from coevo.errors import ConfigError


@pytest.mark.parametrize(
    ("model", "expected"),
    [
        ("http://127.0.0.1:8000/v1#qwen", ("http://127.0.0.1:8000/v1", "qwen")),
        ("http://127.0.0.1:8000/v1", ("http://127.0.0.1:8000/v1", None)),
        ("http://127.0.0.1:8000/v1/", ("http://127.0.0.1:8000/v1", None)),
        ("https://host.example/api/v1//#owner/name:free", ("https://host.example/api/v1", "owner/name:free")),
        ("https://host.example/v1beta/openai#a#b", ("https://host.example/v1beta/openai", "a#b")),
        ("http://[::1]:11434/v1#llama3.2:1b", ("http://[::1]:11434/v1", "llama3.2:1b")),
        (" http://localhost/v1#who?@home ", ("http://localhost/v1", "who?@home")),
    ],
)
def test_an_address_and_its_model(model, expected):
    """The name is what follows the first #, taken literally; slashes at the end of the address do not matter."""
    assert parse_address(model) == expected


@pytest.mark.parametrize(
    ("model", "said"),
    [
        ("localhost:8000/v1#m", "begin with http"),
        ("127.0.0.1:8000/v1", "begin with http"),
        ("ftp://host/v1", "begin with http"),
        ("http:/host/v1", "begin with http"),
        ("http:///v1", "names no host"),
        ("http://host:99999/v1", "Port out of range"),
        ("http://host:port/v1", "Port could not be cast"),
        ("http://[::1/v1", "Invalid IPv6"),
        ("http://host:8000", "most servers want http://host:8000/v1"),
        ("http://host:8000/#m", "most servers want http://host:8000/v1"),
        ("http://host/v1/chat/completions#m", "drop /chat/completions"),
        ("http://host/v1/models", "drop /models"),
        ("http://host/v1#", "model name after the #"),
        ("http://ho st/v1", "blank or control character"),
        ("http://host/v1#a\nb", "blank or control character"),
        ("", "begin with http"),
    ],
)
def test_a_bad_address_is_refused(model, said):
    """One line says what an address looks like, what came, and what is wrong with it."""
    with pytest.raises(ConfigError, match=said) as caught:
        parse_address(model)
    assert str(caught.value).startswith("expected ")
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    "model",
    ["http://me:s3cret@host/v1", "https://s3cret@host/v1#m", "me:s3cret@host:80/v1", "http://host/v1?api-key=s3cret#m"],
)
def test_credentials_are_refused_and_not_repeated(model):
    """An address is written to config.toml, so a secret in it is refused, with a message that does not hold it."""
    with pytest.raises(ConfigError, match="COEVO_API_KEY") as caught:
        parse_address(model)
    assert "s3cret" not in str(caught.value)


@given(
    st.sampled_from(["http", "https"]),
    st.from_regex(r"[a-z][a-z0-9.-]{0,20}(:[1-9][0-9]{0,3})?", fullmatch=True),
    st.from_regex(r"(/[a-z0-9_.-]{1,8}){1,3}", fullmatch=True),
    st.from_regex(r"[A-Za-z0-9/:._#-]{1,30}", fullmatch=True),
)
def test_what_is_put_together_comes_apart(scheme, host, path, name):
    """Any address without credentials, joined to any name by #, gives both back."""
    url = f"{scheme}://{host}{path}"
    if not path.endswith(("/completions", "/models", "/responses")):
        assert parse_address(f"{url}#{name}") == (url, name)
        assert parse_address(f"{url}/") == (url, None)


@pytest.mark.parametrize(
    ("environ", "expected"),
    [
        ({}, ""),
        ({"OPENAI_API_KEY": "second"}, "second"),
        ({"COEVO_API_KEY": " first\n", "OPENAI_API_KEY": "second"}, "first"),
        ({"COEVO_API_KEY": "", "OPENAI_API_KEY": "second"}, ""),
    ],
)
def test_where_the_key_comes_from(environ, expected):
    """The first variable that is set decides; set but empty, it keeps the other's key from being sent."""
    assert api_key(environ) == expected


@pytest.mark.parametrize("key", ["s3cr\u00e9t-key", "s3cret key", "s3cret\nkey"])
def test_a_key_that_no_header_can_hold(key):
    """The message names the variable and not the key."""
    with pytest.raises(ConfigError, match="OPENAI_API_KEY") as caught:
        api_key({"OPENAI_API_KEY": key})
    assert "s3cr" not in str(caught.value)

"""What is wrong is what is said: the environment before the model, and an engine with the kind of model it serves."""

import pytest

from coevo.errors import ConfigError, ContentError


@pytest.mark.parametrize("command", ["tune", "eval-agent", "landscape"])
@pytest.mark.parametrize("more", [(), ("--engine", "scripted"), ("--model", "no/model-here")])
def test_an_environment_that_is_not_there_comes_first(command, more, coevo, tmp_path):
    """Whatever else is missing: no model would help."""
    with pytest.raises(ContentError, match=r"expected the name of an environment .* got '/nope'"):
        coevo(command, "--env", "/nope", *more, "--runs-dir", tmp_path)
    assert list(tmp_path.iterdir()) == []


ADDRESS = ("--model", "http://127.0.0.1:9/v1#m")


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("search", "--engine", "scripted"), "expected --model with --engine scripted: the script file"),
        (("probe", "--engine", "scripted"), "expected --model with --engine scripted: the script file"),
        (("tune", "--engine", "scripted"), "expected --model with --engine scripted: the script file"),
        (("eval-agent", "--engine", "scripted"), "expected --model with --engine scripted: the script file"),
        (("eval-agent", "--engine", "scripted", *ADDRESS), "the script file.* got a server's address"),
        (("search", "--engine", "scripted", *ADDRESS), "the address of a server goes with engine endpoint"),
        (("tune", "--engine", "scripted", *ADDRESS), "tuning moves weights"),
        (("eval-agent", "--engine", "torch", *ADDRESS), "--engine torch, got a server's address; drop --engine"),
        (("eval-agent", "--engine", "endpoint", "--model", "s.json"), "a server's address such as .*; got 's.json'"),
        (("eval-agent", "--engine", "endpoint"), "a server's address such as .*; got none"),
        (("search", "--engine", "endpoint", "--model", "s.json"), "a server's address such as .*; got 's.json'"),
        (("tune", "--engine", "endpoint", "--model", "s.json"), "those of a server are out of reach"),
    ],
)
def test_engine_and_model_are_of_a_kind(arguments, words, coevo, tmp_path):
    """One line that says what to name, and nothing is written."""
    with pytest.raises(ConfigError, match=words) as refusal:
        coevo(*arguments, "--runs-dir", tmp_path)
    assert "\n" not in str(refusal.value)
    assert list(tmp_path.iterdir()) == []

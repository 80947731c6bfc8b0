import json

import pytest

from coevo.engines.loading import resolve_model
from coevo.errors import ConfigError, ModelError


def test_everything_is_in_the_json(coevo):
    """One document with the facts, the totals, and the noise that the sample was taken with."""
    result = coevo("model", "inspect", "embedded", "--json")
    assert result.exit_code == 0, result.output
    answer = json.loads(result.stdout)
    assert answer["path"] == str(resolve_model("embedded"))
    assert (answer["parameters"], answer["moving"], answer["tensors"]) == (2_016_960, 2_016_960, 38)
    assert (answer["served_by"], answer["renderer"], answer["is_tied"]) == ("lean decoder", "slots", True)
    assert answer["noise"] == {"run_key": "0" * 16, "step": 0, "direction": 0, "sigma": 5e-3}
    assert {need["restore"] for need in answer["memory"]} == {"copy", "host", "tiles", "mapped"}
    (norm,) = (facts for facts in answer["roles"] if facts["role"] == "norm")
    assert norm["survival"]["bfloat16"]["swallowed"] > 0.2 > norm["survival"]["float16"]["swallowed"]


def test_one_screen_tells_the_same(coevo):
    """The words fit 80 columns and 30 lines, tables included, and nothing is cut off."""
    lines = coevo("model", "inspect", "embedded").stdout.splitlines()
    assert len(lines) <= 30
    assert "scope full: 38 of 38 tensors move, 2,016,960 of 2,016,960 parameters" in lines
    table = [line for line in lines if line.split()[:1] in (["embedding"], ["linear"], ["norm"], ["master"])]
    assert len(table) == 4
    assert all(len(line) <= 80 and "…" not in line for line in table)
    assert any("σ 0.005" in line for line in lines)


def test_subspaces_widen_the_noise_and_shrink_the_tiles(coevo):
    """K = 4 doubles a member's σ and saves three quarters of the touched tiles; few members in each are warned of."""
    flags = ("--members", 20, "--subspaces", 4, "--sigma", 1e-3, "--scope", "linear")
    answer = json.loads(coevo("model", "inspect", "embedded", *flags, "--json").stdout)
    assert answer["noise"]["sigma"] == 2e-3
    needs = {(need["rule"], need["restore"]): need["backup"] for need in answer["memory"]}
    assert needs["master", "tiles"] * 4 == needs["master", "copy"] == 4 * answer["moving"]
    assert answer["warnings"][0].startswith("20 members leave 5 for one of 4 subspaces")
    assert "warning: 20 members leave 5" in coevo("model", "inspect", "embedded", *flags).stdout


@pytest.mark.parametrize(
    ("flags", "error", "text"),
    [
        (["--sigma", "0"], ConfigError, "sigma"),
        (["--sigma", "nan"], ConfigError, "sigma"),
        (["--members", "6", "--subspaces", "4"], ConfigError, "expected 8 or more, got 6"),
        (["--scope", "("], ConfigError, "regular expression"),
    ],
)
def test_bad_flags_are_refused(coevo, flags, error, text):
    """The settings are those of a search, and so are the refusals."""
    with pytest.raises(error, match=text):
        coevo("model", "inspect", "embedded", *flags)


def test_an_unknown_model_is_refused(coevo):
    """A name that is no folder is told."""
    with pytest.raises(ModelError, match="no/such/model"):
        coevo("model", "inspect", "no/such/model")

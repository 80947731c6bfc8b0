"""`coevo eval-agent` and `coevo resume` of it, with a model of one weight."""

import json

import pytest
from aiming import write_environment
from one_weight_models import install

from coevo.errors import ConfigError


@pytest.fixture
def aim(tmp_path):
    """The environment's folder."""
    return write_environment(tmp_path / "aim")


@pytest.fixture
def engines(monkeypatch):
    """The engines opened: models of one weight."""
    return install(monkeypatch)


def test_a_table_and_the_same_as_json(coevo, aim, engines, tmp_path):
    """The table names Mean@K and Pass@k with intervals; JSON has the same numbers; progress is on standard error."""
    flags = ["eval-agent", "--env", aim, "--model", "one", "--split", "val", "--repeats", 2, "--tasks", 4]
    flags += ["--option", "turns=3", "--runs-dir", tmp_path / "runs"]
    done = coevo(*flags)
    assert done.exit_code == 0
    assert all(word in done.stdout for word in ("Mean@2", "Pass@1", "Pass@2", "turns", "tokens", "8 done"))
    assert "val: 8 of 8 episodes" in done.stderr
    result = json.loads(coevo(*flags, "--json").stdout)
    val = result["rows"][0]["splits"]["val"]
    mean = next(line.split() for line in done.stdout.splitlines() if "Mean@2" in line)
    assert mean[-4:] == [f"{val['mean'][end]:.3f}" if end else "…" for end in ("value", "low", "", "high")]
    assert (val["turns"]["value"], val["cases"]) == (3.0, 4)


def test_resume_goes_on_with_it(coevo, aim, engines, tmp_path):
    """An interrupt exits with 130 and says how to go on; that ends it."""
    engines.limit = 5
    flags = ["--env", aim, "--model", "one", "--repeats", 1, "--runs-dir", tmp_path / "runs"]
    stopped = coevo("eval-agent", *flags)
    assert stopped.exit_code == 130
    run = next((tmp_path / "runs").iterdir())
    assert f"coevo resume {run}" in stopped.stderr
    done = coevo("resume", run, "--json")
    assert (done.exit_code, json.loads(done.stdout)["status"]) == (0, "done")
    with pytest.raises(ConfigError, match="no page"):
        coevo("report", run)


def test_nothing_that_could_be_scored_exits_with_1(coevo, aim, engines, tmp_path):
    """An evaluation whose only task fails has run, and failed its purpose."""
    flags = ["--env", aim, "--model", "one", "--tasks", 1, "--option", "fault=val-0", "--runs-dir", tmp_path / "runs"]
    done = coevo("eval-agent", *flags)
    assert done.exit_code == 1
    assert "surroundings of val-0 failed" in done.stderr

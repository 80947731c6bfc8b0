"""How several engines are asked for, and what is refused."""

import subprocess
import sys

import pytest

from coevo.engines.fleet.engine import FleetEngine
from coevo.engines.scripted import ScriptedEngine
from coevo.errors import ConfigError
from coevo.experiments.probe_config import make_probe_config
from coevo.learning.choice import ModelChoice
from coevo.learning.models import open_model
from coevo.searching.config import SearchConfig, make_config
from coevo.searching.models import choice_of
from coevo.tuning.config import TuneConfig, make_tune_config

SERVER = "http://localhost:1/v1#m"


@pytest.mark.parametrize(
    ("values", "words"),
    [
        ({"engines": 0}, "engines"),
        ({"engines": 2, "model": SERVER}, "drop --engines"),
        ({"engines": 2, "method": "grammar"}, "drop --engines"),
        ({"heal": True}, "add --engines"),
    ],
)
def test_a_search_refuses_what_cannot_be(values, words):
    """One line, which says what to do."""
    with pytest.raises(ConfigError, match=words) as caught:
        make_config({"budget": 10, **values})
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("values", "words"),
    [({"engines": 0}, "engines"), ({"heal": True}, "add --engines"), ({"engines": 2, "method": "grpo"}, "engines 1")],
)
def test_a_tuning_run_refuses_what_cannot_be(values, words):
    """One line as well."""
    with pytest.raises(ConfigError, match=words) as caught:
        make_tune_config({"env": "sudoku", **values})
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("command", [("search", "--budget", "4"), ("tune",), ("probe",)])
def test_a_command_refuses_no_engines(command, tmp_path):
    """`--engines 0` ends with exit code 2 and one line, and leaves nothing on disk."""
    flags = [*command, "--engines", "0", "--runs-dir", str(tmp_path / "runs")]
    done = subprocess.run([sys.executable, "-m", "coevo", *flags], capture_output=True, text=True, cwd=tmp_path)
    assert done.returncode == 2
    assert "engines" in done.stderr
    assert len(done.stderr.strip().splitlines()) == 1
    assert not (tmp_path / "runs").exists()


def test_a_server_is_not_one_of_several():
    """Through the Python interface as well."""
    with pytest.raises(ConfigError, match="1 engine"):
        open_model(ModelChoice(SERVER, "endpoint", engines=2))


def test_a_choice_opens_one_engine_or_a_fleet(tiny_script):
    """A single engine is what it was without fleets."""
    one, two = (open_model(ModelChoice(str(tiny_script), "scripted", engines=n)).engine for n in (1, 2))
    assert isinstance(one, ScriptedEngine)
    assert isinstance(two, FleetEngine)
    assert two.fingerprint() == one.fingerprint()
    two.close()


def test_settings_of_earlier_runs_are_those_of_one_engine():
    """A recorded configuration without the fields loads, and means one engine; they reach the choice of the model."""
    search = make_config({"budget": 10, "engines": 3, "heal": True})
    kept = {k: v for k, v in search.model_dump(mode="json").items() if k not in ("engines", "heal")}
    assert choice_of(SearchConfig.model_validate(kept)).engines == 1
    assert (choice_of(search).engines, choice_of(search).heals) == (3, True)
    tune = make_tune_config({"env": "sudoku", "engines": 3, "heal": True})
    kept = {k: v for k, v in tune.model_dump(mode="json").items() if k not in ("engines", "heal")}
    assert TuneConfig.model_validate(kept).choice.engines == 1
    assert (tune.choice.engines, tune.choice.heals) == (3, True)
    assert make_probe_config({"engines": 3}).as_search().engines == 3

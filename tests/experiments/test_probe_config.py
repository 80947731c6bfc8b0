"""The configuration of a probe: defaults, what goes together, and the way through a run directory."""

import pytest

from coevo.errors import ConfigError, RunError
from coevo.experiments.probe_config import make_probe_config, probe_config_of, with_absolute_paths
from coevo.records.run_directory import RunDirectory
from coevo.searching.config import make_config


def test_defaults_are_a_searchs_but_for_the_form():
    """Model, σ, α and sampling are those of a search on the same model; the step is larger and σ constant."""
    probe, search = make_probe_config({}), make_config({"budget": 1})
    own, its = probe.evolution_strategy, search.evolution_strategy
    assert (own.sigma, own.alpha, probe.max_tokens, probe.weights) == (
        its.sigma, its.alpha, search.max_tokens, search.weights,
    )  # fmt: skip
    assert (own.members, own.children, own.schedule) == (20, 4, "constant")
    assert probe.training == 20 * 20 * 4


def test_given_values_win_over_the_form():
    """What the user says about the strategy is kept, the rest is the form's."""
    strategy = make_probe_config({"evolution_strategy": {"members": 6, "sigma": 0.5}}).evolution_strategy
    assert (strategy.members, strategy.sigma, strategy.children) == (6, 0.5, 4)


def test_a_search_with_the_same_model_can_be_made_of_it():
    """Everything that decides model and noise is carried over."""
    probe = make_probe_config({"model": "some/folder", "es": "low-rank", "seed": 4, "workers": 3})
    search = probe.as_search()
    for name in ("model", "es", "seed", "workers", "evolution_strategy", "weights", "max_tokens", "top_p"):
        assert getattr(search, name) == getattr(probe, name)


def test_a_run_directory_gives_the_same_configuration_back(tmp_path):
    """What is written as TOML is read as it was."""
    probe = make_probe_config({"evolution_strategy": {"sigma": 0.1}, "every": 5, "parents": ["a.py", "b.py"]})
    run = RunDirectory.create(tmp_path, "probe", probe.model_dump(mode="json"))
    assert probe_config_of(run.path) == probe


def test_the_run_directory_of_a_search_is_no_probe(run_directory):
    """A search's configuration is refused by name."""
    with pytest.raises(RunError, match="expected a probe, got a search"):
        probe_config_of(run_directory.path)


def test_a_guided_probe_takes_the_longer_step_of_parents_that_stand_still():
    """Its α is three σ, a search's half of σ; what is given wins."""
    guided = {"weights": {"scope": "guided"}}
    own = make_probe_config(guided).evolution_strategy
    assert own.alpha == 3 * own.sigma
    assert make_config(guided | {"budget": 1}).evolution_strategy.alpha == own.sigma / 2
    assert make_probe_config(guided | {"evolution_strategy": {"alpha": 1e-4}}).evolution_strategy.alpha == 1e-4


def test_paths_become_absolute(tmp_path, monkeypatch):
    """Parents, and a model that is a folder here, can be found from anywhere afterwards; names stay names."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "model").mkdir()
    probe = with_absolute_paths(make_probe_config({"model": "model", "parents": ["a.py", "b.py"]}))
    assert probe.model == str(tmp_path / "model")
    assert probe.parents == (str(tmp_path / "a.py"), str(tmp_path / "b.py"))
    assert with_absolute_paths(make_probe_config({})).model == "embedded"
    guided = make_probe_config({"weights": {"scope": "guided", "basis": "a.safetensors"}})
    assert with_absolute_paths(guided).weights.basis == str(tmp_path / "a.safetensors")


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ({"parents": ["a.py"]}, "two files or more"),
        ({"steps": -1}, "steps"),
        ({"evaluations": 1}, "evaluations"),
        ({"trained": 0}, "trained"),
        ({"rewards": "random", "learns": False}, "random rewards without learning"),
        ({"rewards": "praise"}, "rewards"),
        ({"es": "off"}, "expected es dense or low-rank"),
        ({"es": "low-rank", "evolution_strategy": {"rank": 0}}, "rank of 1 or more"),
        ({"model": "http://localhost:1/v1#m"}, "the server"),
        ({"weights": {"scope": "none"}}, "scope none leaves nothing"),
        ({"guard_floor": 0.0}, "guard_floor"),
        ({"evolution_strategy": {"members": 3, "antithetic": True}}, "must be even"),
        ({"evolution_strategy": 3}, "table for evolution_strategy"),
        ({"budget": 5}, "budget"),
        ({"nonsense": 5}, "nonsense"),
    ],
)
def test_what_cannot_be_used_is_refused_by_name(values, message):
    """Each bad value gives one line that names it."""
    with pytest.raises(ConfigError, match=message) as caught:
        make_probe_config(values)
    assert "\n" not in str(caught.value)

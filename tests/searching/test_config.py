import pytest

from coevo.errors import ConfigError
from coevo.searching.config import EMBEDDED_STRATEGY, RECIPES, absolute, make_config
from coevo.searching.idle import refuse_idle

GUIDED = {"weights": {"scope": "guided"}}


def test_flags_win_over_recipe_and_defaults():
    """Precedence is defaults < recipe < what the user gave, field by field."""
    config = make_config({"seed": 3, "evolution_strategy": {"sigma": 0.02}}, "esopt-eoh-1000")
    assert (config.seed, config.budget, config.charge_first) == (3, 1000, False)
    assert (config.evolution_strategy.sigma, config.evolution_strategy.alpha) == (0.02, 5e-4)


@pytest.mark.parametrize("recipe", [None, "esopt-eoh-1000"])
def test_a_recorded_search_by_the_grammar_can_be_read(recipe):
    """What is recorded holds defaults that mean nothing there; only a wish for them is refused."""
    config = make_config({"budget": 100, "method": "grammar"}, recipe)
    assert make_config(config.model_dump(mode="json")) == config
    with pytest.raises(ConfigError, match="method grammar has no model to evolve, got es dense; drop es"):
        refuse_idle({"method": "grammar", "es": "dense"})
    refuse_idle({"method": "grammar", "es": "off"})


def test_the_embedded_model_has_its_own_strategy():
    """Its weights are larger than a hub model's, so σ and α are; any other model gets the published ones."""
    own = make_config({"budget": 1}).evolution_strategy
    assert own.model_dump() | EMBEDDED_STRATEGY == own.model_dump()
    assert make_config({"budget": 1, "model": "x/y"}).evolution_strategy.sigma == 1e-3


@pytest.mark.parametrize(
    ("values", "field"),
    [
        ({"budget": 0}, "budget"),
        ({"budget": 10, "evolution_strategy": {"sigma": float("nan")}}, "evolution_strategy.sigma"),
        ({"budget": 10, "evolution_strategy": {"members": 1}}, "evolution_strategy.members"),
        ({"budget": 10, "methd": "eoh"}, "methd"),
        ({"budget": 10, "es": "on"}, "es"),
        ({"budget": 10, "workers": 0}, "workers"),
        ({"budget": 10, "evolution_strategy": 3}, "expected a table for evolution_strategy, got 3"),
    ],
)
def test_a_bad_value_names_its_field(values, field):
    """Whatever is wrong with a configuration, the message starts with the field."""
    with pytest.raises(ConfigError, match=rf"^{field}"):
        make_config(values)


def test_an_unknown_recipe_lists_the_known():
    """A misspelt recipe shows what there is."""
    with pytest.raises(ConfigError, match=", ".join(RECIPES)):
        make_config({}, "esopt")


def test_paths_become_absolute(tmp_path, monkeypatch):
    """A run can be resumed from another directory; names that are no paths stay as they are."""
    (tmp_path / "mine.py").write_text("x = 1\n")
    monkeypatch.chdir(tmp_path)
    config = absolute(make_config({"budget": 1, "start": ["mine.py"]}))
    assert config.start == (str(tmp_path / "mine.py"),)
    assert (config.problem, config.model) == ("tsp", "embedded")


def test_a_name_is_not_hijacked_by_the_working_directory(tmp_path, monkeypatch):
    """Folders that happen to be called like a problem or like the shipped model change nothing."""
    for name in ("tsp", "embedded"):
        (tmp_path / name).mkdir()
    monkeypatch.chdir(tmp_path)
    config = absolute(make_config({"budget": 1}))
    assert (config.problem, config.model) == ("tsp", "embedded")


@pytest.mark.parametrize(
    ("values", "text"),
    [
        ({"evolution_strategy": {"rank": 2}}, "add --es low-rank, or drop the rank"),
        ({"es": "off", "evolution_strategy": {"rank": 2}}, "add --es low-rank, or drop the rank"),
        ({"es": "low-rank", "evolution_strategy": {"rank": 0}}, "needs a rank of 1 or more"),
        ({"es": "low-rank", "weights": {"scope": "full"}}, "take scope linear"),
        ({"es": "low-rank", "evolution_strategy": {"subspaces": 2}}, "no published meaning"),
        ({"weights": {"scope": "none"}}, "take es off"),
        ({"weights": {"scope": "("}}, "or a regular expression"),
        ({"model": "http://localhost/v1", "es": "dense"}, "take es off"),
        ({"model": "http://localhost/v1", "engine": "torch"}, "drop --engine, or name what that engine serves"),
        ({"tensor_parallel": 2}, "add --engine vllm"),
        ({**GUIDED, "es": "low-rank"}, "got es low-rank and rank 1; take es dense and rank 0"),
        ({**GUIDED, "es": "low-rank", "evolution_strategy": {"rank": 3}}, "got es low-rank and rank 3; take es dense"),
        ({**GUIDED, "evolution_strategy": {"rank": 2}}, "got es dense and rank 2; take es dense and rank 0"),
        ({**GUIDED, "evolution_strategy": {"subspaces": 2}}, "is one subspace, got 2 subspaces; take 1"),
        ({**GUIDED, "es": "off"}, "got es off; take es dense, or drop the scope"),
        ({**GUIDED, "es": "off", "evolution_strategy": {"rank": 2}}, "got es off and rank 2; take es dense and rank 0"),
        ({"evolution_strategy": {"sigma": float("nan")}}, "finite"),
        ({"evolution_strategy": {"alpha": float("inf")}}, "finite"),
    ],
)
def test_choices_that_do_not_go_together_say_what_would(values, text):
    """One line that names what came and what to do instead, without a dump of the configuration."""
    with pytest.raises(ConfigError, match=text) as caught:
        make_config({"budget": 100, **values})
    assert "\n" not in str(caught.value)
    assert "'budget'" not in str(caught.value)


@pytest.mark.parametrize("values", [{}, {"evolution_strategy": {"antithetic": True}}, {"learns": False}])
def test_a_guided_search_of_dense_members_is_fine(values):
    """What moves in one subspace, in pairs or not, learning or not."""
    config = make_config({"budget": 100, **GUIDED, **values})
    assert (config.es, config.weights.scope, config.evolution_strategy.rank) == ("dense", "guided", 0)


def test_defaults_follow_from_choices():
    """An address is an endpoint with a frozen model, whatever its case; low rank brings its rank and its scope."""
    served = make_config({"budget": 10, "model": "HTTP://localhost:8000/v1#m"})
    low_rank = make_config({"budget": 10, "es": "low-rank"})
    assert served.es == "off"
    assert (low_rank.evolution_strategy.rank, low_rank.weights.scope) == (1, "linear")


def test_scope_guided_has_a_sigma_of_its_own():
    """Noise along gradients is told apart from noise in all directions; what the user gives wins."""
    guided = make_config({"budget": 5, "weights": {"scope": "guided"}}).evolution_strategy
    full = make_config({"budget": 5}).evolution_strategy
    assert (guided.sigma, guided.alpha) == (6e-4, 3e-4)
    assert guided.sigma < full.sigma / 5
    assert guided.antithetic
    own = make_config({"budget": 5, "weights": {"scope": "guided"}, "evolution_strategy": {"sigma": 0.5}})
    assert own.evolution_strategy.sigma == 0.5

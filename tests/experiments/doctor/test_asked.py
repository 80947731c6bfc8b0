"""A wish becomes the configuration of the run itself; what cannot be used is refused before anything is looked at."""

import pytest

from coevo.errors import CoevoError
from coevo.searching.config import make_config
from coevo.tuning.config import make_tune_config


def test_without_a_word_it_is_the_default_search(asked):
    """The search on tsp with the embedded model, whose defaults are those of the search itself."""
    run = asked()
    assert run.search == make_config({"problem": "tsp", "budget": 200, "model": "embedded"})
    assert (run.tuning, run.environment) == (None, None)
    assert run.problem.spec.name == "tsp"
    assert run.moves


def test_an_environment_means_a_tuning_run(asked):
    """With the player, where that plays it; a problem that is named beside it is looked at as well."""
    run = asked(env="sudoku", members=6)
    assert run.tuning == make_tune_config({"env": "sudoku", "model": "player", "evolution_strategy": {"members": 6}})
    assert (run.search, run.problem) == (None, None)
    assert asked(env="sudoku", problem="kp").problem.spec.name == "kp"
    assert asked(env="math").choice.model == "embedded"


def test_a_server_has_no_weights_to_move(asked):
    """The address decides, as it does for a search."""
    run = asked(model="http://127.0.0.1:1/v1#tiny")
    assert (run.holds_weights, run.moves) == (False, False)


@pytest.mark.parametrize(
    ("wish", "words"),
    [
        ({"problem": "nowhere"}, "expected the name of a problem"),
        ({"env": "nowhere"}, "expected the name of an environment"),
        ({"model": "./nowhere"}, "no such folder"),
        ({"model": "http://me:secret@host/v1"}, "without user, password or query"),
        ({"engine": "magic"}, "engine"),
        ({"budget": 0}, "budget"),
        ({"members": 1}, "members"),
        ({"env": "sudoku", "budget": 5}, "drop one of them"),
        ({"env": "sudoku", "model": "http://127.0.0.1:1/v1"}, "tuning moves weights"),
    ],
)
def test_bad_input_is_refused(asked, wish, words):
    """One line that names what cannot be used."""
    with pytest.raises(CoevoError, match=words) as caught:
        asked(**wish)
    assert "secret" not in str(caught.value)

import pytest

from coevo.errors import ConfigError
from coevo.experiments.grid import MOST_CELLS, MOST_SEEDS, bundled_grids, find_grid, read_grid


def test_a_count_of_seeds_is_the_seeds_from_zero(grid_file, grid_text):
    """`seeds = 2` and `seeds = [0, 1]` are the same grid."""
    counted = read_grid(grid_file())
    listed = read_grid(grid_file(grid_text.replace("seeds = 2", "seeds = [0, 1]")))
    assert counted.seeds == (0, 1)
    assert counted == listed


def test_a_baseline_is_compared_with_every_other_arm(grid_file, grid_text):
    """The pairs of a grid with a baseline, and of one that names them."""
    assert read_grid(grid_file()).pairs_of("tsp") == (("es", "frozen"),)
    named = grid_text.replace('baseline = "frozen"', 'comparisons = [["frozen", "es"]]')
    assert read_grid(grid_file(named)).pairs_of("tsp") == (("frozen", "es"),)


def test_an_override_narrows_arms_and_budgets(grid_file, grid_text):
    """A problem without one arm of a pair has no such comparison."""
    override = '[arms.more]\npopulation = 5\n[overrides.tsp]\narms = ["frozen", "more"]\nbudgets = [20]\n'
    grid = read_grid(grid_file(grid_text + override))
    assert (grid.arms_of("tsp"), grid.budgets_of("tsp")) == (("frozen", "more"), (20,))
    assert grid.pairs_of("tsp") == (("more", "frozen"),)


def test_the_model_of_the_command_line_is_that_of_the_common_table(grid_file, grid_text):
    """`--model` wins over `[common]`, and works without that table."""
    assert read_grid(grid_file(), model="m").common == {"compare": False, "model": "m"}
    assert read_grid(grid_file(grid_text.replace("[common]\ncompare = false", "")), model="m").common == {"model": "m"}


@pytest.mark.parametrize(
    ("old", "new", "fragments"),
    [
        ("title =", "titel =", ["titel: there is no such field, was title meant?"]),
        ("schema_version = 1", "schema_version = 2", ["schema_version"]),
        ("schema_version = 1", "schema_version = true", ["schema_version: ", "whole number", "got True"]),
        ("schema_version = 1", "schema_version = 1.0", ["schema_version: ", "whole number", "got 1.0"]),
        ("schema_version = 1", f"schema_version = 1\n[{'a.' * 3000}a]\nb = 1\n[c]", ["a: ", "nested too deeply"]),
        ("seeds = 2", "seeds = 1000000000000", ["seeds: ", f"at most {MOST_SEEDS} seeds", "got 1000000000000"]),
        ("seeds = 2", f"seeds = {list(range(MOST_SEEDS + 1))}", ["seeds: ", f"at most {MOST_SEEDS} of them"]),
        (
            "budgets = [10]\nseeds = 2",
            f"budgets = {list(range(1, 12))}\nseeds = {MOST_SEEDS}",
            [f"at most {MOST_CELLS} cells", f"got {2 * 11 * MOST_SEEDS}"],
        ),
        ("[arms.es]", f"[arms.{'x' * 65}]\n[arms.es]", ["arms.x", "length 64 or less"]),
        ("[arms.es]", '[overrides.tsp]\narms = ["es"]\n[arms.es]', ["overrides.tsp.arms: ", "nothing to compare"]),
        ("seeds = 2", "seeds = []", ["seeds: ", "at least 1 of them"]),
        ("seeds = 2", "seeds = 0", ["seeds: ", "at least 1 of them"]),
        ("seeds = 2\n", "", ["seeds: expected a value, found none"]),
        ("seeds = 2", "seeds = [1, 1]", ["seeds: expected each value once, got [1, 1]"]),
        ("seeds = 2", "seeds = [-1]", ["seeds.0: "]),
        ("seeds = 2", "seeds = true", ["seeds: "]),
        ("budgets = [10]", 'budgets = ["10"]', ["budgets.0: expected a whole number"]),
        ("budgets = [10]", "budgets = [0]", ["budgets.0: "]),
        ("[arms.es]", "[arms.frozen]", ["expected a grid file (TOML)"]),
        ('baseline = "frozen"', 'baseline = "cold"', ["baseline: expected one of the arms frozen, es, got 'cold'"]),
        ('baseline = "frozen"', 'comparisons = [["es", "cold"]]', ["comparisons: expected one of the arms", "'cold'"]),
        ('baseline = "frozen"', 'comparisons = [["es", "es"]]', ["comparisons: expected two different arms"]),
        ('baseline = "frozen"\n', "", ["expected either baseline", "neither"]),
        ('baseline = "frozen"', 'baseline = "es"\ncomparisons = [["es", "frozen"]]', ["either baseline", "both"]),
        ('baseline = "frozen"', 'baseline = "frozen"\ncompare_at = ["tokens"]', ["compare_at.0: "]),
        ("[common]", "[common]\nseed = 3", ["common.seed: ", "the grid's seeds"]),
        ("population = 4", "population = 4\nbudget = 3", ["arms.es.budget: "]),
        ("population = 4", 'population = 4\nsplits = ["val"]', ["arms.es.splits: ", "the grid's test_splits"]),
        ("[arms.es]", "[test_splits]\ntsp = []\n[arms.es]", ["test_splits.tsp: ", "at least 1 of them"]),
        ("[arms.es]", '[arms."a/b"]\n[arms.es]', ["arms.a/b"]),
        ("[arms.es]", '[overrides.kp]\narms = ["es"]\n[arms.es]', ["overrides: expected one of the problems tsp"]),
        ("[arms.es]", '[overrides.tsp]\narms = ["x"]\n[arms.es]', ["overrides.tsp.arms: ", "'x'"]),
        ("[arms.es]", '[test_splits]\nkp = ["test50"]\n[arms.es]', ["test_splits: expected one of the problems tsp"]),
    ],
)
def test_a_bad_file_is_refused_by_name_and_field(grid_file, grid_text, old, new, fragments):
    """The message names the file, the field, and what is wrong with it."""
    file = grid_file(grid_text.replace(old, new, 1))
    with pytest.raises(ConfigError) as refusal:
        read_grid(file)
    for fragment in [str(file), *fragments]:
        assert fragment in str(refusal.value)


def test_a_grid_is_found_by_path_and_by_name(grid_file):
    """A file wins over a bundled grid; a name that is neither is refused with the names there are."""
    file = grid_file()
    assert find_grid(str(file)) == file
    assert find_grid("quick") == bundled_grids()["quick"]
    with pytest.raises(ConfigError, match=r"'quack'; bundled: .*paper36.*quick"):
        find_grid("quack")

import shutil
from collections import Counter

import pytest

from coevo.content import find_problem
from coevo.errors import ConfigError
from coevo.es.strategy import EvolutionStrategy
from coevo.experiments.cell_folder import select
from coevo.experiments.cells import lay_out
from coevo.experiments.grid import bundled_grids, read_grid
from coevo.searching.models import start_model

SKILLS = "[arms.skills]\nskill_every = 2\n"


def test_values_come_from_common_then_problem_then_arm(layout, grid_text):
    """Later tables win key by key, also inside `evolution_strategy`; a cell has one worker."""
    text = grid_text.replace(
        "compare = false", "compare = false\nbatch = 3\nevolution_strategy = { sigma = 0.1, alpha = 0.2 }"
    ).replace("population = 4", "population = 4\nevolution_strategy = { alpha = 0.4 }")
    text += "[overrides.tsp.settings]\nbatch = 5\npopulation = 7\nevolution_strategy = { members = 6 }\n"
    configs = {cell.arm: cell.config for cell in layout(text).cells}
    strategy = configs["es"].evolution_strategy
    assert (strategy.sigma, strategy.alpha, strategy.members) == (0.1, 0.4, 6)
    assert [configs[arm].population for arm in ("frozen", "es")] == [7, 4]
    assert {(config.batch, config.workers, config.compare) for config in configs.values()} == {(5, 1, False)}


def test_cells_go_seed_by_seed(layout):
    """Drift of the machine falls on all arms alike."""
    names = [cell.name for cell in layout().cells]
    assert names == ["tsp/10/frozen/s0", "tsp/10/es/s0", "tsp/10/frozen/s1", "tsp/10/es/s1"]
    assert [cell.config.seed for cell in layout().cells] == [0, 0, 1, 1]


def test_a_recipe_may_follow_the_budget(layout, grid_text):
    """`{budget}` in a recipe's name is the cell's budget."""
    text = grid_text.replace("budgets = [10]", "budgets = [1000, 2000]")
    text = text.replace("population = 4", 'recipe = "esopt-eoh-{budget}"')
    members = {cell.budget: cell.config.evolution_strategy.members for cell in layout(text).cells if cell.arm == "es"}
    assert members == {1000: 10, 2000: 30}


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("population = 4", "populaton = 4", "arms.es on problem tsp at budget 10: populaton"),
        ("population = 4", 'recipe = "x-{budget}"', "expected a recipe among .* got 'x-10'"),
        (
            "population = 4",
            "recipe = 5",
            "arms.es on problem tsp at budget 10: expected the name of a recipe, got int",
        ),
        ("[arms.es]", f"[arms.es.recipe{'.a' * 3000}]\n[arms.es]", "expected the name of a recipe, got dict"),
        ("[arms.es]", f"[arms.es.batch{'.a' * 3000}]\n[arms.es]", "batch: .*nested too deeply"),
        ("population = 4", 'es = "off"', "expected different arms, got frozen and es"),
        ('"tsp"', '"tps"', "problems: expected the name of a problem"),
        (
            "[common]",
            '[test_splits]\ntsp = ["test7"]\n[common]',
            "test_splits.tsp: expected splits among .* got 'test7'",
        ),
    ],
)
def test_what_cannot_be_run_is_refused(layout, grid_text, old, new, message):
    """Names the arm or table, and the value."""
    with pytest.raises(ConfigError, match=message):
        layout(grid_text.replace(old, new, 1))


def test_reported_are_the_splits_that_neither_search_nor_choose(layout, grid_text):
    """Unless the grid names others; measured are exactly these."""
    for text, splits in (("", ("test20", "test50", "test100")), ('[test_splits]\ntsp = ["search"]\n', ("search",))):
        found = layout(grid_text + text)
        assert found.splits == {"tsp": splits}
        assert {cell.config.splits for cell in found.cells} == {splits}


def test_a_problem_without_test_splits_reports_the_one_it_chooses_on(layout, grid_text, tiny_problem, tmp_path):
    """There is nothing better to report."""
    folder = shutil.copytree(tiny_problem, tmp_path / "bare")
    file = folder / "problem.toml"
    file.write_text(file.read_text().replace('test = "4 instances"\n', ""))
    assert layout(grid_text.replace('"tsp"', f'"{folder}"')).splits == {"tiny": ("val",)}


def test_equal_totals_raise_the_side_without_skills(layout, grid_text):
    """The other arm gets a cell per seed that waits for the cell with skills; pairs without skills are left out."""
    text = grid_text.replace('baseline = "frozen"', 'baseline = "frozen"\ncompare_at = ["operator", "total"]') + SKILLS
    found = layout(text)
    raised = [cell for cell in found.cells if cell.matches]
    assert [(cell.name, cell.measured_by) for cell in raised] == [
        ("tsp/10/frozen@skills/s0", "tsp/10/skills/s0"),
        ("tsp/10/frozen@skills/s1", "tsp/10/skills/s1"),
    ]
    totals = [(c.arm, c.baseline) for c in found.comparisons if c.at == "total"]
    assert totals == [("skills", "frozen@skills")]
    assert raised[0].raised(7).config.budget == 17
    assert raised[0].raised(7).name == raised[0].name


def test_equal_totals_of_two_arms_with_skills_are_refused(layout, grid_text):
    """Each side's total would depend on the other's."""
    text = grid_text.replace('baseline = "frozen"', 'baseline = "frozen"\ncompare_at = ["total"]')
    text = text.replace('es = "off"', 'es = "off"\nskill_every = 2') + SKILLS
    with pytest.raises(ConfigError, match="one side without skills, got skills and frozen"):
        layout(text)


def test_patterns_select_cells(layout):
    """A pattern that matches nothing is refused with the name of a cell."""
    cells = layout().cells
    assert [cell.name for cell in select(cells, ("tsp/*/es/*",), "--only")] == ["tsp/10/es/s0", "tsp/10/es/s1"]
    assert select(cells, (), "--only") == list(cells)
    with pytest.raises(ConfigError, match=r"--only to match a cell .* got 'kp.*a cell is tsp/10/frozen/s0"):
        select(cells, ("kp/*",), "--only")


def test_the_published_grid_counts_36_comparisons():
    """12 test sets; 24 comparisons on the constructive half, 12 on the ant-colony half, with the published settings."""
    layout = lay_out(read_grid(bundled_grids()["paper36"]))
    counted = Counter()
    for comparison in layout.comparisons:
        counted[comparison.problem] += len(layout.splits[comparison.problem])
    assert counted == {"tsp": 8, "kp": 8, "asp": 8, "tsp-aco": 4, "cvrp-aco": 4, "bpp": 4}
    assert counted.total() == 36
    assert sum(len(splits) for splits in layout.splits.values()) == 12
    strategies = {(c.budget, c.arm): c.config.evolution_strategy for c in layout.cells}
    eoh = [strategies[budget, "esopt-eoh"] for budget in (1000, 2000)]
    assert [(s.members, s.children, s.sigma, s.sigma_end, s.alpha) for s in eoh] == [
        (10, 1, 1e-3, 0.0, 5e-4),
        (30, 1, 1e-3, 0.0, 5e-4),
    ]
    assert {cell.config.es for cell in layout.cells if cell.arm in ("eoh", "sample")} == {"off"}


@pytest.mark.parametrize("name", sorted(bundled_grids()))
def test_a_bundled_grid_can_be_laid_out(name):
    """Every shipped grid resolves with this version's settings, and has something to compare."""
    layout = lay_out(read_grid(bundled_grids()[name]))
    assert layout.comparisons
    assert len(layout.grid.seeds) >= 3


def test_the_quick_grid_has_the_control_and_enough_seeds():
    """Five seeds or more, and the grammar arm."""
    grid = read_grid(bundled_grids()["quick"])
    assert len(grid.seeds) >= 5
    assert grid.arms["grammar"]["method"] == "grammar"


def different_models():
    """One cell for each model that any arm of a bundled grid starts, and the grid's and the arm's name."""
    found = {}
    for name, file in bundled_grids().items():
        for cell in lay_out(read_grid(file)).cells:
            config = cell.config
            form = (config.model, config.engine, config.es, config.weights, config.evolution_strategy.rank)
            key = (*form, config.method == "grammar" and cell.problem)
            found.setdefault(key, pytest.param(cell, id=f"{name}-{cell.problem}-{cell.arm}"))
    return found.values()


@pytest.mark.slow
@pytest.mark.parametrize("cell", different_models())
def test_every_arm_of_a_bundled_grid_can_start(cell):
    """Its model is found with all that its weights need, tells its fingerprint, and suits its ES."""
    config = cell.config
    model = start_model(config, find_problem(cell.problem))
    try:
        assert model.engine.fingerprint() >= 0
        if config.es != "off":
            EvolutionStrategy(config.evolution_strategy, 0, basis=model.basis)
    finally:
        model.engine.close()

from hypothesis import given
from hypothesis import strategies as st

from coevo.searching.config import make_config
from coevo.searching.plan import plan
from coevo.searching.recipes import RECIPES

configs = st.builds(
    lambda budget, population, batch, members, children: make_config(
        {
            "budget": budget,
            "population": population,
            "batch": batch,
            "evolution_strategy": {"members": members, "children": children},
        }
    ),
    st.integers(1, 5000), st.integers(2, 30), st.integers(1, 30), st.integers(2, 40), st.integers(1, 4),
)  # fmt: skip


@given(configs)
def test_a_plan_spends_exactly_the_budget(config):
    """First population and generations together ask for the budget, never for more."""
    the_plan = plan(config)
    asked = the_plan.first + sum(sum(counts.values()) for counts in the_plan.generations)
    assert asked == config.budget == the_plan.charged


@given(configs)
def test_the_rest_goes_to_the_last_generation(config):
    """All generations but the last are alike, and the last is at least as large unless it is the only one."""
    *earlier, last = plan(config).generations or [{}]
    strategy = config.evolution_strategy
    evolving = strategy.members * strategy.children
    full = {"e1": config.batch, "e2": config.batch, "m1": evolving, "m2": evolving}
    assert all(counts == full for counts in earlier)
    if earlier:
        assert all(last[name] >= full[name] for name in full)
        assert max(last[name] - full[name] for name in full) - min(last[name] - full[name] for name in full) <= 1


def test_the_published_recipes_have_25_generations():
    """Population 10 and 25 generations of 10 + 10 + G + G, the first population charged on top (table 13)."""
    for name, members in (("esopt-eoh-1000", 10), ("esopt-eoh-2000", 30), ("eoh-1000", 10), ("eoh-2000", 30)):
        config = make_config({}, name)
        the_plan = plan(config)
        assert the_plan.first == 10
        assert the_plan.generations == ({"e1": 10, "e2": 10, "m1": members, "m2": members},) * 25
        assert the_plan.charged == RECIPES[name]["budget"] == config.budget


def test_a_budget_of_one_is_one_completion():
    """The smallest search asks once and has no generation."""
    the_plan = plan(make_config({"budget": 1}))
    assert (the_plan.first, the_plan.generations) == (1, ())


def test_the_published_samplers_have_batches_of_20():
    """50 or 100 batches of 20 new heuristics, an update after each, and no first population (table 13)."""
    for budget in (1000, 2000):
        for name in (f"sample-{budget}", f"esopt-sample-{budget}"):
            the_plan = plan(make_config({}, name))
            assert (the_plan.first, the_plan.on_top, the_plan.charged) == (0, 0, budget)
            assert the_plan.generations == ({"i1": 20},) * (budget // 20)


def test_only_recipes_called_esopt_move_the_model():
    """Every published setting comes with and without ES, alike in everything else."""
    for name in RECIPES:
        if name.startswith("esopt-"):
            moving, frozen = make_config({}, name), make_config({}, name.removeprefix("esopt-"))
            assert (moving.es, frozen.es) == ("dense", "off")
            assert moving.model_copy(update={"es": "off"}) == frozen


@given(st.integers(1, 3000), st.integers(2, 40), st.integers(1, 4))
def test_sampling_spends_exactly_the_budget(budget, members, children):
    """Whole batches of members × children, the rest in the last."""
    strategy = {"members": members, "children": children}
    the_plan = plan(make_config({"budget": budget, "method": "sample", "evolution_strategy": strategy}))
    counts = [generation["i1"] for generation in the_plan.generations]
    assert the_plan.first + sum(counts) == budget
    assert all(count == members * children for count in counts[:-1])

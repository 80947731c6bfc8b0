from collections import Counter

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from coevo.candidate import Candidate
from coevo.evolution.population import Population, Scored

costs = st.lists(st.floats(-1e6, 1e6), max_size=30)


def children_of(values):
    """Distinct candidates with these costs."""
    return [Scored(Candidate(f"# {place}"), value) for place, value in enumerate(values)]


@given(costs, costs)
def test_managing_keeps_the_best_distinct_costs_in_order(first, second):
    """After any two batches the population is sorted, distinct, within capacity, and nothing better was dropped."""
    population = Population(10).manage(children_of(first)).manage(children_of(second))
    kept = [scored.cost for scored in population]
    distinct = sorted({round(value, 9) for value in first + second})
    assert [round(cost, 9) for cost in kept] == distinct[:10]


def test_the_first_of_equal_cost_stays(scored):
    """A child that repeats a cost of the population does not replace the candidate that had it first."""
    old, new = scored(1.0, "# old"), scored(1.0, "# new")
    assert Population(10, (old,)).manage([new]).ranked == (old,)


def test_managing_leaves_the_old_population_alone(scored):
    """Population management returns a new value."""
    population = Population(10, (scored(2.0),))
    population.manage([scored(1.0)])
    assert [s.cost for s in population] == [2.0]


def test_parents_are_drawn_by_rank(scored):
    """Rank r of n is drawn with probability proportional to 1 / (r + 1 + n)."""
    population = Population(4, tuple(scored(float(cost)) for cost in range(4)))
    rng = np.random.default_rng(0)
    counts = Counter(population.draw(1, rng)[0].cost for _ in range(20_000))
    weights = np.array([1 / (rank + 5) for rank in range(4)])
    expected = weights / weights.sum()
    observed = np.array([counts[float(rank)] for rank in range(4)]) / 20_000
    assert np.abs(observed - expected).max() < 0.015


@given(st.integers(1, 6), st.integers(1, 4), st.integers(0, 2**32))
def test_parents_are_distinct_while_the_population_suffices(size, count, seed):
    """No heuristic is combined with itself unless there are too few."""
    population = Population(10, tuple(children_of([float(n) for n in range(size)])))
    drawn = population.draw(count, np.random.default_rng(seed))
    assert len(drawn) == count
    if count <= size:
        assert len({s.candidate.identity for s in drawn}) == count

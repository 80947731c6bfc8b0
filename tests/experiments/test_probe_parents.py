"""The fixed parents of a probe: chosen, ranked, split."""

import itertools

import pytest
from hypothesis import given
from hypothesis import strategies as st

from coevo.candidate import Candidate
from coevo.errors import ContentError, ModelError
from coevo.evolution.population import Scored
from coevo.experiments.probe_parents import CHOICE, MOST, PATIENCE, read_parents, split, spread_out, written

distinct_costs = st.lists(st.integers(0, 10_000), min_size=2, max_size=40, unique=True)


def scored(cost):
    """A candidate of a cost."""
    return Scored(Candidate(f"# {cost}\n"), float(cost))


def costs(parents):
    """The costs of a set."""
    return [parent.cost for parent in parents]


@given(distinct_costs, st.data())
def test_every_parent_is_in_exactly_one_set(values, data):
    """The two sets are disjoint, together all parents, of the sizes asked for, and each in order of cost."""
    held_out = data.draw(st.integers(1, len(values) - 1))
    found = split([scored(value) for value in values], held_out)
    assert sorted(costs(found.trained) + costs(found.held_out)) == sorted(map(float, values))
    assert len(found.held_out) == held_out
    assert costs(found.trained) == sorted(costs(found.trained))
    assert found.scale == max(values) - min(values)


def test_halves_alternate_in_rank():
    """Of two halves, one parent of each pair of neighbours in rank is held out."""
    found = split([scored(value) for value in (5, 3, 1, 2, 4, 6)], 3)
    assert (costs(found.trained), costs(found.held_out)) == ([1, 3, 5], [2, 4, 6])
    assert found.of("trained") == found.trained
    assert found.of("held_out") == found.held_out


def test_parents_of_one_cost_are_refused():
    """Without a spread of costs rewards have no scale."""
    with pytest.raises(ContentError, match="differ"):
        split([Scored(Candidate("a"), 1.0), Scored(Candidate("b"), 1.0)], 1)


@given(distinct_costs, st.data())
def test_spread_out_keeps_both_ends_and_order(values, data):
    """Distinct candidates in order, the best and the worst among them."""
    count = data.draw(st.integers(2, len(values)))
    ranked = [scored(value) for value in sorted(values)]
    found = spread_out(ranked, count)
    assert len(set(costs(found))) == count
    assert costs(found) == sorted(costs(found))
    assert (found[0], found[-1]) == (ranked[0], ranked[-1])


def test_parents_come_from_the_better_half():
    """Where the model writes plenty, no parent is of the worse half; the best answer is one of them."""
    numbers = itertools.count()
    found = written(lambda count: [scored(next(numbers)) for _ in range(count)], 4)
    assert costs(found) == [0, 2, 5, 7]
    assert next(numbers) == 4 * CHOICE


def test_the_model_is_asked_until_there_are_enough():
    """Invalid answers and repeats of a cost are made up for by further batches."""
    batches = []

    def ask(count):
        batches.append(count)
        return [scored(len(batches)), scored(0)]

    assert len(written(ask, 2)) == 2
    assert batches == [2 * CHOICE] * (2 * CHOICE - 1)


def test_a_model_that_writes_nothing_valid_is_given_up():
    """After a stated number of answers the message says how many there were and what to do."""
    with pytest.raises(ModelError, match=rf"got 0 among {3 * CHOICE * PATIENCE} answers.*--parents"):
        written(lambda count: [], 3)


def test_the_parents_of_a_large_probe_cost_no_more_than_stated():
    """However many are wanted, the model is asked for so many completions and no more."""
    batches = []
    with pytest.raises(ModelError, match=f"got 0 among {MOST} answers"):
        written(lambda count: batches.append(count) or [], 2000)
    assert batches == [2000 * CHOICE, MOST - 2000 * CHOICE]


def test_parents_in_files_must_differ(tmp_path, tsp):
    """The same program twice is refused, both files named."""
    for name in ("a.py", "b.py"):
        (tmp_path / name).write_text("def select_next_node(a, b, c, d):\n    return c[0]\n")
    with pytest.raises(ContentError, match=r"the same program in .*a\.py, .*b\.py"):
        read_parents([str(tmp_path / "a.py"), str(tmp_path / "b.py")], tsp)

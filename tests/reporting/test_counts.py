from collections import Counter

from hypothesis import given
from hypothesis import strategies as st

from coevo.evolution.population import COST_DECIMALS
from coevo.reporting.counts import Counts
from coevo.reporting.story import ChildStory

CHILDREN = st.lists(
    st.builds(
        ChildStory,
        name=st.text(max_size=3),
        place=st.integers(0, 50),
        generation=st.integers(0, 3),
        operator=st.sampled_from(["e1", "m1", "unasked"]),
        parents=st.just(()),
        candidate=st.none() | st.sampled_from("abcd"),
        status=st.sampled_from(["ok", "crash"]),
        detail=st.sampled_from(["", "why"]),
        cost=st.none() | st.floats(-10, 10),
        fate=st.sampled_from(["new", "copy", "repeat", "failed"]),
    ),
    max_size=30,
)


def counted(children):
    """Counts of these children, after two operators asked."""
    counts = Counts()
    counts.ask("e1", ["a", "b"])
    counts.ask("m1", ["c"])
    for child in children:
        counts.add(child)
    return counts


@given(children=CHILDREN)
def test_what_is_kept_is_what_counting_again_gives(children):
    """Batches, generations, fates and failures are those of going through all children once more."""
    counts = counted(children)
    batches = counts.batches({(1, "e1"): -0.5})
    assert [(b.generation, b.operator) for b in batches] == list(
        dict.fromkeys((child.generation, child.operator) for child in children)
    )
    for batch in batches:
        group = [c for c in children if (c.generation, c.operator) == (batch.generation, batch.operator)]
        assert (batch.children, batch.valid) == (len(group), sum(c.cost is not None for c in group))
        assert batch.reward == (-0.5 if (batch.generation, batch.operator) == (1, "e1") else None)
    for generation in counts.generations({2: (1.0, 2.0)}):
        group = [c for c in children if c.generation == generation.generation]
        costs = [c.cost for c in group if c.cost is not None]
        assert (generation.children, generation.valid, generation.place) == (len(group), len(costs), group[-1].place)
        assert generation.candidates == len({c.candidate for c in group} - {None})
        assert generation.costs == len({round(cost, COST_DECIMALS) for cost in costs})
        assert generation.best == (1.0 if generation.generation == 2 else None)
    for use in counts.operators():
        assert use.fates == Counter(c.fate for c in children if c.operator == use.operator)
    reasons = Counter(f"{c.status}: {c.detail}" for c in children if c.cost is None)
    assert counts.failures() == tuple(reasons.most_common())


def test_answers_are_counted_for_whoever_asked():
    """Tokens and cut-off answers are the asking operator's; what nobody asked for is nobody's."""
    counts = counted([])
    counts.answer("a", 7, is_cut_off=False)
    counts.answer("b", 9, is_cut_off=True)
    counts.answer("strange", 100, is_cut_off=True)
    e1, m1 = counts.operators()
    assert (e1.operator, e1.asked, e1.answered, e1.tokens, e1.cut_off) == ("e1", 2, 2, 16, 1)
    assert (m1.operator, m1.asked, m1.answered, m1.tokens, m1.cut_off) == ("m1", 1, 0, 0, 0)

"""Scores: rewards of members, Pass@j, standard errors."""

from itertools import combinations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from coevo.interfaces import Member
from coevo.tuning.episodes import Episode
from coevo.tuning.scores import earned, pass_at, score_of

SCORES = st.one_of(st.none(), st.floats(0, 1))


def episode(task, score, name="e", turns=1, tokens=1):
    """One that ended by its rules, or in a fault."""
    return Episode(name, task, score, turns, tokens, "fault" if score is None else "done")


@given(st.integers(1, 7), st.data())
def test_pass_at_is_the_share_of_subsets_with_a_success(count, data):
    """Drawing j of n episodes without replacement, counted one by one, gives the same probability."""
    passed, tries = data.draw(st.integers(0, count)), data.draw(st.integers(1, count))
    subsets = list(combinations(range(count), tries))
    share = sum(any(place < passed for place in subset) for subset in subsets) / len(subsets)
    assert pass_at(count, passed, tries) == pytest.approx(share)


@pytest.mark.parametrize(("count", "passed", "tries"), [(3, 4, 1), (3, -1, 1), (3, 1, 4), (3, 1, 0)])
def test_pass_at_refuses_numbers_that_do_not_fit(count, passed, tries):
    """There are no more successes than episodes, and no more tries."""
    with pytest.raises(ValueError, match="expected"):
        pass_at(count, passed, tries)


@given(st.lists(st.lists(SCORES, min_size=3, max_size=3), min_size=2, max_size=5))
def test_a_member_is_rewarded_for_what_all_could_play(scores):
    """A task that failed for one member counts for none; what is left is averaged; all are 0 without any."""
    members = [Member(1, 0, n, 1, 0.1) for n in range(len(scores))]
    episodes = [episode(f"t{n}", score) for own in scores for n, score in enumerate(own)]
    found = earned(members, episodes)
    dropped = {n for own in scores for n, score in enumerate(own) if score is None}
    assert found.dropped == tuple(f"t{n}" for n in sorted(dropped))
    for member, own in zip(members, scores, strict=True):
        kept = [score for n, score in enumerate(own) if n not in dropped]
        assert found.rewards[member.identity] == pytest.approx(sum(kept) / len(kept) if kept else 0.0)


def test_a_measurement_averages_tasks_and_not_episodes():
    """A task with a fault still counts once; its fault does not count as 0."""
    episodes = [episode("a", 1.0), episode("a", None), episode("b", 0.0), episode("b", 0.5)]
    found = score_of(episodes, at_best=1.0)
    assert (found.mean, found.tasks, found.episodes, found.faults) == (0.625, 2, 3, 1)
    assert found.error == pytest.approx(0.375)
    assert found.passed == {1: 0.5}
    assert found.ended == {"done": 3, "fault": 1}


def test_nothing_played_is_no_score():
    """Faults alone give neither a mean nor an error, and not 0."""
    found = score_of([episode("a", None)], at_best=1.0)
    assert (found.mean, found.error, found.turns, found.tasks, found.faults) == (None, None, None, 0, 1)


@given(st.lists(st.lists(st.floats(0, 1), min_size=2, max_size=4), min_size=1, max_size=4))
def test_pass_rises_with_tries(scores):
    """More tries never pass less, and one try passes as often as episodes do."""
    episodes = [episode(f"t{n}", score) for n, own in enumerate(scores) for score in own]
    passed = score_of(episodes, at_best=0.5).passed
    assert list(passed) == list(range(1, min(map(len, scores)) + 1))
    assert list(passed.values()) == sorted(passed.values())
    rate = sum(sum(s >= 0.5 for s in own) / len(own) for own in scores) / len(scores)
    assert passed[1] == pytest.approx(rate)


@given(st.dictionaries(st.sampled_from("abcdef"), st.floats(0, 1), min_size=1), st.data())
def test_losing_a_task_does_not_make_a_model_better(scores, data):
    """The same play with some tasks spoilt by the surroundings beats nothing and is not beaten."""
    whole = score_of([episode(task, score) for task, score in scores.items()], at_best=1.0)
    kept = data.draw(st.sets(st.sampled_from(sorted(scores))))
    spoilt = score_of([episode(t, s if t in kept else None) for t, s in scores.items()], at_best=1.0)
    assert not spoilt.beats(whole)
    assert not whole.beats(spoilt)


def test_a_higher_score_on_shared_tasks_wins():
    """Also where the mean over all that could be played is lower."""
    before = score_of([episode("hard", None), episode("easy", 0.5)], at_best=1.0)
    after = score_of([episode("hard", 0.0), episode("easy", 0.75)], at_best=1.0)
    assert after.beats(before)
    assert not before.beats(after)
    assert after.mean < before.mean

"""The guard: when a step is refused, and what becomes of σ and α."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from coevo.es.guard import Guard, scaled
from coevo.es.settings import ESSettings
from coevo.es.strategy import EvolutionStrategy

shares = st.floats(0.0, 1.0)


def watched(guard, values):
    """The guards after each of several steps."""
    found = []
    for value in values:
        guard = guard.after(value)
        found.append(guard)
    return found


def test_a_collapse_trips_and_halves():
    """Half of the reference still holds; less than that refuses the step and halves once."""
    held, fallen = watched(Guard(0.5, reference=0.8), [0.4, 0.39])
    assert (held.tripped, held.scale) == (False, 1.0)
    assert (fallen.tripped, fallen.scale) == (True, 0.5)


def test_a_recovery_releases_but_keeps_the_scale():
    """After a step that holds again updates are applied again, at the halved width."""
    last = watched(Guard(reference=1.0), [0.1, 0.9])[-1]
    assert (last.tripped, last.scale) == (False, 0.5)


def test_without_a_reference_the_start_stands_for_it():
    """The mean of the first three steps that held is the reference; later steps and refused ones do not count."""
    last = watched(Guard(0.5), [0.9, 0.1, 0.6, 0.6, 1.0, 1.0])[-1]
    assert last.start == (0.9, 0.6, 0.6)
    assert last.bound == pytest.approx(0.35)


def test_the_first_step_holds_whatever_it_is():
    """With nothing to compare with, nothing is refused."""
    assert not Guard(1.0).after(0.0).tripped


@given(st.lists(shares, max_size=40), shares, st.floats(0.1, 1.0))
def test_the_scale_counts_the_refused_steps(values, reference, floor):
    """σ is halved once for every refused step, up to a millionth, and never grows."""
    found = watched(Guard(floor, reference), values)
    refused = sum(guard.tripped for guard in found)
    assert [guard.tripped for guard in found] == [value < floor * reference for value in values]
    assert (found[-1].scale if found else 1.0) == 2.0 ** -min(refused, 20)


@given(st.lists(shares, max_size=10))
def test_it_depends_on_what_was_observed_alone(values):
    """The same shares give the same guards: it is a value."""
    assert watched(Guard(), values) == watched(Guard(), values)


def test_what_is_no_share_is_refused():
    """Shares and floors outside their range are a fault of the caller's."""
    with pytest.raises(ValueError, match=r"in \[0, 1\]"):
        Guard().after(1.5)
    with pytest.raises(ValueError, match="floor"):
        Guard(0.0)


def test_scaled_settings_give_members_and_updates_of_that_width():
    """Half the settings means half of σ, and an update half as long, under both rules for α."""
    for rule in ("constant", "proportional"):
        settings = ESSettings(members=4, sigma=0.5, sigma_end=0.25, alpha=0.25, alpha_rule=rule)
        half = scaled(settings, 0.5)
        assert (half.sigma, half.sigma_end, half.alpha) == (0.25, 0.125, 0.125)
        updates = []
        for each in (settings, half):
            strategy = EvolutionStrategy(each, 7)
            members = strategy.ask(each.sigma)
            updates.append(strategy.tell({member.identity: float(member.direction) for member in members}))
        assert updates[1].coefficients == tuple(value / 2 for value in updates[0].coefficients)

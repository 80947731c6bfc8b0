import itertools

import pytest
from hypothesis import given
from hypothesis import strategies as st

from coevo.es import ESSettings, alpha_at, sigma_at

PUBLISHED = ESSettings(sigma=1e-3, sigma_end=0.0)


@pytest.mark.parametrize(
    ("generation", "sigma"),
    [(1, 9.957224306869053e-4), (12, 5e-4), (20, 6.6987298107805e-05), (23, 4.277569313094809e-6)],
)
def test_cosine_gives_the_published_values(generation, sigma):
    """The values printed by the Agentic-ESOpt runs over 25 generations from 1e-3 to 0."""
    assert sigma_at(generation, 25, PUBLISHED) == pytest.approx(sigma, rel=1e-12)


@given(
    generations=st.integers(2, 200),
    sigma=st.floats(1e-6, 1.0),
    share=st.floats(0.0, 1.0),
)
def test_cosine_starts_and_ends_exactly_and_never_rises(generations, sigma, share):
    """The first σ is σ₀ to the bit, the last is σ_T to the bit, and between them σ never rises."""
    end = sigma * share if sigma * share > 1e-30 else 0.0
    settings = ESSettings(sigma=sigma, sigma_end=end)
    course = [sigma_at(generation, generations, settings) for generation in range(generations)]
    assert (course[0], course[-1]) == (sigma, end)
    assert all(later <= earlier * (1 + 1e-15) for earlier, later in itertools.pairwise(course))


def test_a_single_generation_gets_the_first_sigma():
    """With T = 1 there is no course: σ₀, so that the one step can learn."""
    assert sigma_at(0, 1, PUBLISHED) == 1e-3


def test_a_constant_schedule_stays():
    """Constant is σ₀ in every generation, the last one included."""
    settings = ESSettings(schedule="constant", sigma=2e-3)
    assert {sigma_at(generation, 7, settings) for generation in range(7)} == {2e-3}


@pytest.mark.parametrize(("generation", "generations"), [(-1, 5), (5, 5), (0, 0)])
def test_generations_outside_the_run_are_refused(generation, generations):
    """A generation the run does not have would get a made-up σ."""
    with pytest.raises(ValueError, match="generation must be in"):
        sigma_at(generation, generations, PUBLISHED)


def test_alpha_is_constant_or_follows_sigma():
    """The constant rule gives α at every σ; the proportional rule gives α at σ₀, half of it at half of σ₀, 0 at 0."""
    proportional = ESSettings(alpha_rule="proportional")
    assert [alpha_at(sigma, ESSettings()) for sigma in (1e-3, 5e-4, 0.0)] == [5e-4, 5e-4, 5e-4]
    assert [alpha_at(sigma, proportional) for sigma in (1e-3, 5e-4, 0.0)] == [5e-4, 2.5e-4, 0.0]

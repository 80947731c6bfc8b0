import math

import pytest
from pydantic import ValidationError

from coevo.es import ESSettings


def test_defaults_are_the_published_ones():
    """G 10, σ 1e-3 to 0 by cosine, α 5e-4 constant, one-sided, one child: Agentic-ESOpt at test time."""
    assert ESSettings().model_dump() == {
        "members": 10,
        "children": 1,
        "sigma": 1e-3,
        "sigma_end": 0.0,
        "schedule": "cosine",
        "alpha": 5e-4,
        "alpha_rule": "constant",
        "antithetic": False,
    }


@pytest.mark.parametrize(
    ("change", "text"),
    [
        ({"members": 1}, "greater than or equal to 2"),
        ({"children": 0}, "greater than or equal to 1"),
        ({"sigma": 0.0}, "greater than 0"),
        ({"sigma": math.nan}, "finite number"),
        ({"sigma": 1e-60}, "normal fp32 number"),
        ({"sigma_end": -1e-4}, "greater than or equal to 0"),
        ({"sigma_end": math.inf}, "finite number"),
        ({"sigma_end": 2e-3}, "sigma_end must not exceed sigma 0.001, got 0.002"),
        ({"alpha": 0.0}, "greater than 0"),
        ({"alpha": 1e39}, "normal fp32 number"),
        ({"schedule": "linear"}, "'cosine' or 'constant'"),
        ({"alpha_rule": "adam"}, "'constant' or 'proportional'"),
        ({"antithetic": True, "members": 9}, "must be even, got 9; take 10"),
        ({"popsize": 4}, "Extra inputs"),
    ],
)
def test_unusable_settings_are_refused(change, text):
    """Every bad value is told with what was expected."""
    with pytest.raises(ValidationError, match=text):
        ESSettings(**change)


def test_settings_are_frozen():
    """The settings of a run do not change under way."""
    with pytest.raises(ValidationError, match="frozen"):
        ESSettings().alpha = 1.0


def test_few_members_are_allowed_with_a_warning():
    """Fewer than ten members are a choice, told in words; ten are not worth a word."""
    assert ESSettings(members=10).warnings() == ()
    (text,) = ESSettings(members=4).warnings()
    assert "4 members are rough" in text


def test_a_constant_schedule_ignores_the_end():
    """With a constant σ the end value has no meaning, so it cannot be wrong."""
    assert ESSettings(schedule="constant", sigma=1e-4, sigma_end=1e-3).sigma == 1e-4

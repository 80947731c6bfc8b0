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
        "subspaces": 1,
        "subspace_unit": "element",
        "z_scores": "joint",
        "spread": "step",
        "rank": 0,
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
        ({"subspaces": 0}, "greater than or equal to 1"),
        ({"subspaces": 2**16 + 1, "members": 2**18}, "less than or equal to 65536"),
        ({"subspaces": 6}, "each of 6 subspaces needs 2 members: expected 12 or more, got 10; take more members or"),
        ({"subspace_unit": "row"}, "'element' or 'tile'"),
        ({"z_scores": "none"}, "'joint' or 'separate'"),
        ({"spread": "none"}, "'step' or 'run'"),
        ({"rank": -1}, "greater than or equal to 0"),
        ({"rank": 1, "subspaces": 2}, "no published meaning in subspaces, got rank 1 and 2 subspaces"),
        ({"subspaces": 2, "z_scores": "separate", "spread": "run"}, "set spread to step or z_scores to joint"),
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


@pytest.mark.parametrize(
    ("settings", "left"),
    [
        ({"members": 40, "subspaces": 4}, None),
        ({"members": 40, "subspaces": 8}, 5),
        ({"members": 39, "subspaces": 4}, 9),
        ({"members": 30, "subspaces": 4, "antithetic": True}, 6),
    ],
)
def test_few_members_in_a_subspace_are_allowed_with_a_warning(settings, left):
    """The smallest subspace counts, both signs of a pair counted; CoPES advises ten (its K = 8 ablation)."""
    warnings = ESSettings(**settings).warnings()
    if left is None:
        assert warnings == ()
    else:
        (text,) = warnings
        assert f"{settings['members']} members leave {left} for one of {settings['subspaces']} subspaces" in text
        assert f"take {10 * settings['subspaces']} members or fewer subspaces" in text


def test_a_constant_schedule_ignores_the_end():
    """With a constant σ the end value has no meaning, so it cannot be wrong."""
    assert ESSettings(schedule="constant", sigma=1e-4, sigma_end=1e-3).sigma == 1e-4

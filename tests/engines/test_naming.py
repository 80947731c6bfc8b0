import pytest

from coevo.engines.naming import match_names
from coevo.errors import ModelError


def test_names_pair_with_and_without_the_prefix():
    """A checkpoint of the bare base model leaves the prefix out; its names stay the canonical ones."""
    parameters = {"model.w": (2,), "head": (3,)}
    tensors = {"w": (2,), "head": (3,), "mask": (1,)}
    pairs = match_names(parameters, tensors, prefix="model", ignorable=["^mask$"])
    assert pairs == {"model.w": "w", "head": "head"}


@pytest.mark.parametrize(
    ("parameters", "tensors", "named"),
    [
        ({"w": (2,), "v": (2,)}, {"w": (2,)}, "v"),
        ({"w": (2,)}, {"w": (2,), "extra": (2,)}, "extra"),
        ({"w": (2, 1)}, {"w": (1, 2)}, "w"),
        ({"m.w": (2,), "w": (2,)}, {"w": (2,)}, "m.w"),
    ],
)
def test_a_checkpoint_that_is_not_covered_once_is_refused(parameters, tensors, named):
    """Missing, left over, of another shape, or claimed twice: the tensor is named."""
    with pytest.raises(ModelError, match=f"'{named}'"):
        match_names(parameters, tensors, prefix="m", ignorable=[])

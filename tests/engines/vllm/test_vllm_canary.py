"""The check before a run that answers depend on the weights that move, on models that are made to fail it."""

import pytest

from coevo.engines.vllm.canary import distance, require_adapting, require_moving
from coevo.errors import ModelError


class Dial:
    """A model of two parameters, one of which may be a shadow; answers what it holds."""

    def __init__(self, dead: str = "", sticks: bool = False) -> None:
        self.values, self.dead, self.sticks = {"a": 0, "b": 0}, dead, sticks

    def nudge(self, tensors, member):
        """See `Shards.nudge`."""
        for name in tensors:
            if name != self.dead and not (self.sticks and member is None):
                self.values[name] = 0 if member is None else 1 + member.direction

    def look(self):
        """What the model says."""
        return tuple(self.values.values())


def test_live_parameters_pass_the_canary():
    """Every one is moved and put back."""
    dial = Dial()
    require_moving({"p": ["a"], "q": ["b"]}, dial.nudge, dial.look)
    assert dial.values == {"a": 0, "b": 0}


def test_a_shadow_is_told_by_the_canary():
    """P1, P2: a parameter that does not count is refused by name."""
    dial = Dial(dead="b")
    with pytest.raises(ModelError, match="served parameter 'q'"):
        require_moving({"p": ["a"], "q": ["b"]}, dial.nudge, dial.look)


def test_a_parameter_that_is_not_put_back_is_told_by_the_canary():
    """P6: a trace of the check itself would be a trace in the run."""
    dial = Dial(sticks=True)
    with pytest.raises(ModelError, match="same log-probabilities"):
        require_moving({"p": ["a"], "q": ["b"]}, dial.nudge, dial.look)


class Wired:
    """A model of two matrices that answers what weights and adapter add up to; some adapters go astray."""

    def __init__(self, *, lost: str = "", crossed: bool = False, sticks: bool = False) -> None:
        self.weights, self.lost, self.crossed, self.sticks = {"a": 0.0, "b": 0.0}, lost, crossed, sticks
        self.trace = 0.0

    def noise(self, member, tensor):
        """What a member adds to a tensor; nothing that shows for the first direction in one of them."""
        return 0.0 if (member.direction, tensor) == (0, "a") else 1.0 + 3 * (tensor == "b") + member.direction

    def nudge(self, tensors, member):
        """See `Shards.nudge`."""
        self.weights |= {name: 0.0 if member is None else self.noise(member, name) for name in tensors}

    def look(self, extra=0.0):
        """What the model says: log-probabilities of two tokens for one place."""
        total = sum(self.weights.values()) + extra + self.trace
        return (((7, -1.0 - total), (8, -2.0 + total)),)

    def look_with(self, member, tensor):
        """What it says with an adapter, which is a little off, as by rounding."""
        self.trace += self.sticks
        reached = {"a": "b", "b": "a"}[tensor] if self.crossed else tensor
        return self.look(0.0 if tensor == self.lost else 1.01 * self.noise(member, reached))


def test_adapters_that_do_what_moved_weights_do_pass_the_canary():
    """Also where a direction happens to show nothing: another one is tried."""
    model = Wired()
    require_adapting(["a", "b"], model.nudge, model.look, model.look_with)
    assert model.weights == {"a": 0.0, "b": 0.0}


@pytest.mark.parametrize("fault", [{"lost": "b"}, {"crossed": True}])
def test_an_adapter_that_goes_astray_is_told_by_the_canary(fault):
    """P1: one that vLLM drops, and one that reaches another matrix, are refused by the tensor's name."""
    model = Wired(**fault)
    with pytest.raises(ModelError, match=r"adapter of tensor '[ab]'"):
        require_adapting(["a", "b"], model.nudge, model.look, model.look_with)


def test_an_adapter_that_leaves_a_trace_is_told_by_the_canary():
    """P6: the base must not keep anything of it."""
    model = Wired(sticks=True)
    with pytest.raises(ModelError, match="adapter"):
        require_adapting(["a"], model.nudge, model.look, model.look_with)


def test_answers_without_a_common_token_are_far_apart():
    """No number could be said of them."""
    assert distance((((1, -0.5), (2, -1.5)),), (((2, -1.0), (3, -0.5)),)) == 0.5
    assert distance((((1, -0.5),),), (((2, -0.5),),)) == float("inf")

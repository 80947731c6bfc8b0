"""Models of one weight in the place of real ones, wherever tuning opens a model."""

from aiming import OneWeight

from coevo.learning.models import OpenModel

_OPENING = ("coevo.tuning.assemble", "coevo.tuning.api", "coevo.tuning.subjects")
_RENDERING = ("coevo.tuning.assemble", "coevo.tuning.evaluating")


class Opened(list):
    """The engines opened, in order. `limit` makes the next one die after so many answers; `limits` the n-th one."""

    limit = None

    def __init__(self):
        super().__init__()
        self.limits = {}


def install(monkeypatch):
    """Make every model that is opened one of one weight; the engines opened from now on."""
    opened = Opened()

    def open_model(choice):
        opened.append(OneWeight(opened.limits.pop(len(opened), opened.limit)))
        opened.limit = None
        opened[-1].choice = choice
        return OpenModel(opened[-1], "plain")

    for module in _OPENING:
        monkeypatch.setattr(f"{module}.open_model", open_model)
    for module in _RENDERING:
        monkeypatch.setattr(f"{module}.renderer_of_model", lambda choice: "plain")
    return opened

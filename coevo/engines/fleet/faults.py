"""What may go wrong with one engine among several, and which of it another engine could still do."""

from coevo.errors import ModelError


class EngineLost(ModelError):  # noqa: N818 - what happened, as its siblings are named
    """Raised by an engine that stands for one elsewhere, once that is gone: says nothing of what it was asked.

    Engines that end for a reason of their own raise a plain `ModelError`, and then what they were asked is suspected.
    """


class EngineDisagreement(ModelError):  # noqa: N818 - what happened, as its siblings are named
    """Engines hold other weights than they should, or than each other."""


FAILURES = (ModelError, ConnectionError, EOFError)
"""What ends an engine and not a call: it is opened anew, and another may do its work. Everything else (a request that
no engine takes, a fault of coevo's) would be the same on every engine and is raised as it is."""

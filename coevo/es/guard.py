"""A guard against too much noise: beyond some σ a model's answers fall apart, and nothing is learned from ruins.

An engine cannot take an update back exactly, because nothing is ever added and subtracted. Going back therefore means:
the step whose members failed does not move the weights, and σ and α are halved from then on. All of that follows from
the shares that were observed, so a resumed run decides alike.
"""

from dataclasses import dataclass, replace

from coevo.es.settings import ESSettings

_START = 3
"""Steps whose mean share is the reference where none is given."""
_MOST_HALVINGS = 20
"""A millionth of σ: members are the base by then, and halving further would only leave the range of fp32."""


@dataclass(frozen=True, slots=True)
class Guard:
    """What has been seen so far of the valid share of members' children; a value, replaced at every step.

    Attributes:
        floor: Fraction of the reference that the share of a step must reach, in (0, 1].
        reference: Valid share, in [0, 1], to compare with: the unperturbed model's. If None, the mean of the first
            three steps that held (of as many as there are) stands for it; the first step then always holds.
        start: The shares of those steps.
        halvings: How often σ and α have been halved.
        tripped: Whether the last step fell below the floor: its update must not be applied.
    """

    floor: float = 0.5
    reference: float | None = None
    start: tuple[float, ...] = ()
    halvings: int = 0
    tripped: bool = False

    def __post_init__(self) -> None:
        if not 0.0 < self.floor <= 1.0:
            raise ValueError(f"floor must be in (0, 1], got {self.floor}")

    @property
    def bound(self) -> float:
        """The least valid share that the next step may have; 0 as long as there is nothing to compare with."""
        known = self.reference
        if known is None:
            known = sum(self.start) / len(self.start) if self.start else 0.0
        return self.floor * known

    @property
    def scale(self) -> float:
        """What σ and α are to be multiplied by: 2 to the power of minus `halvings`."""
        return 2.0**-self.halvings

    def after(self, share: float) -> "Guard":
        """The guard after a step.

        Args:
            share: Valid children of the step's members over all their children, in [0, 1].

        Raises:
            ValueError: If it is not in that range.
        """
        if not 0.0 <= share <= 1.0:
            raise ValueError(f"a share must be in [0, 1], got {share}")
        if share < self.bound:
            return replace(self, tripped=True, halvings=min(self.halvings + 1, _MOST_HALVINGS))
        return replace(self, tripped=False, start=(*self.start, share)[:_START])


def scaled(settings: ESSettings, scale: float) -> ESSettings:
    """The same settings with σ at both ends of the schedule, and α, multiplied by a scale in (0, 1]."""
    changes = {name: getattr(settings, name) * scale for name in ("sigma", "sigma_end", "alpha")}
    return settings.model_copy(update=changes)

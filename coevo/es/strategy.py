"""The evolution strategy as ask and tell: which perturbed models to try, and where to move.

Holds numbers, never weights: an engine turns a `Member` into a model and applies an `Update`. Rewards are
maximised. The update is θ ← θ + Σᵢ (α/G)·ẑᵢ·sᵢ·εᵢ, with ẑ the z-scores over all members of the step and s the sign;
there is no 1/σ, no momentum and no weight decay (Agentic-ESOpt).
"""

import math
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence

import numpy as np

from coevo.es.schedule import alpha_at
from coevo.es.settings import ESSettings
from coevo.es.shaping import z_scores
from coevo.interfaces import Member, Update

Rewards = Mapping[str, float] | Iterable[tuple[str, float]]


class EvolutionStrategy:
    """Asks for members, is told their rewards, answers with the update; strictly in turn.

    Attributes:
        settings: G, α and the rules.
        run_key: 64-bit key of the run's noise.
        step: Index of the next step to ask for; a resumed run starts where its history ends.
    """

    def __init__(self, settings: ESSettings, run_key: int, *, step: int = 0) -> None:
        if not 0 <= run_key < 2**64:
            raise ValueError(f"run_key must be a whole number in [0, 2^64), got {run_key}")
        if step < 0:
            raise ValueError(f"step must not be negative, got {step}")
        self.settings = settings
        self.run_key = run_key
        self.step = step
        self._asked: tuple[Member, ...] = ()
        self._alpha = 0.0

    @property
    def pending(self) -> tuple[Member, ...]:
        """The members whose rewards are awaited; empty between steps."""
        return self._asked

    def ask(self, sigma: float, members: int | None = None) -> tuple[Member, ...]:
        """The members of the next step, all of them new directions.

        Args:
            sigma: Standard deviation of the perturbation, in weight units, rounded to fp32; 0 asks for members
                that equal the base.
            members: How many, where the budget leaves a step fewer or more than `settings.members`.

        Raises:
            RuntimeError: If the previous step has not been told.
            ValueError: If sigma is negative or not finite, or the number of members is not possible.
        """
        if self._asked:
            raise RuntimeError(f"step {self._asked[0].step} awaits its rewards: call tell before the next ask")
        width = _fp32(sigma)
        if not (math.isfinite(width) and sigma >= 0):
            raise ValueError(f"sigma must be finite in fp32 and not negative, got {sigma}")
        count = self.settings.members if members is None else members
        places = self._places(count)
        self._asked = tuple(Member(self.run_key, self.step, direction, sign, width) for direction, sign in places)
        self._alpha = alpha_at(sigma, self.settings)
        self.step += 1
        return self._asked

    def tell(self, rewards: Rewards) -> Update | None:
        """Close the step: turn the rewards of its members into an update.

        Args:
            rewards: Member identity -> reward (higher is better), for every member of the step, in any order.

        Returns:
            The update, coefficients rounded to fp32 and one per direction (antithetic pairs merged); None where
            moving would be noise: at sigma 0, when all rewards are equal, or when all pairs cancel.

        Raises:
            RuntimeError: If no step is open.
            ValueError: If a member is missing, unknown, told twice or has no finite reward. The step stays open.
        """
        if not self._asked:
            raise RuntimeError("no step is open: call ask before tell")
        members = self._asked
        scores = z_scores(_in_member_order(members, rewards))
        self._asked = ()
        if scores is None or members[0].sigma == 0.0:
            return None
        share = self._alpha / len(members)
        return _update(members, [share * float(score) for score in scores])

    def _places(self, count: int) -> list[tuple[int, int]]:
        """Direction and sign of every member."""
        if count < 2:
            raise ValueError(f"a step needs at least 2 members to compare, got {count}")
        if not self.settings.antithetic:
            return [(direction, 1) for direction in range(count)]
        if count % 2:
            raise ValueError(f"antithetic members come in pairs: expected an even number, got {count}")
        return [(direction, sign) for direction in range(count // 2) for sign in (1, -1)]


def _in_member_order(members: Sequence[Member], rewards: Rewards) -> list[float]:
    """The rewards in the order of the members, after refusing any that do not belong."""
    pairs = list(rewards.items() if isinstance(rewards, Mapping) else rewards)
    told = Counter(identity for identity, _ in pairs)
    expected = {member.identity for member in members}
    _refuse("are missing", expected - told.keys())
    _refuse("do not belong to this step", told.keys() - expected)
    _refuse("are told twice", {identity for identity, times in told.items() if times > 1})
    _refuse("have no finite reward", {identity for identity, reward in pairs if not math.isfinite(reward)})
    by_identity = dict(pairs)
    return [by_identity[member.identity] for member in members]


def _refuse(fault: str, identities: Iterable[str]) -> None:
    names = sorted(identities)
    if names:
        raise ValueError(f"every member of the step needs exactly one finite reward; these {fault}: {', '.join(names)}")


def _update(members: Sequence[Member], weights: Sequence[float]) -> Update | None:
    """Merge the members' weights by direction, in member order, and round each sum to fp32."""
    terms: dict[int, list[float]] = {}
    for member, weight in zip(members, weights, strict=True):
        terms.setdefault(member.direction, []).append(member.sign * weight)
    # Adding 0.0 turns a negative zero into a plain one.
    coefficients = tuple(_fp32(math.fsum(parts)) + 0.0 for parts in terms.values())
    if not any(coefficients):
        return None
    return Update(members[0].run_key, members[0].step, tuple(terms), coefficients)


def _fp32(value: float) -> float:
    with np.errstate(over="ignore"):
        return float(np.float32(value))

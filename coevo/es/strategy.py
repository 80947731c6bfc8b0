"""The evolution strategy as ask and tell: which perturbed models to try, and where to move.

Holds numbers, never weights: an engine turns a `Member` into a model and applies an `Update`. Rewards are
maximised. The update is θ ← θ + Σᵢ (α/G)·ẑᵢ·sᵢ·εᵢ, with ẑ the z-scores over all members of the step and s the sign;
there is no 1/σ, no momentum and no weight decay (Agentic-ESOpt). With K > 1 subspaces a member moves only its own, by
√K·σ, and α is divided by the members of that subspace: θ ← θ + Σₖ (α/Nₖ) Σ_{i∈k} ẑᵢ·sᵢ·εᵢ (CoPES, arXiv:2608.02391).
z-scores make every step as long as any other, however little its rewards differ; `spread = "run"` (ours) measures them
by the largest standard deviation of a step's rewards so far.
"""

import math
import statistics
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from coevo.errors import ConfigError
from coevo.es.dealing import Place, deal, fault
from coevo.es.schedule import alpha_at
from coevo.es.settings import ESSettings
from coevo.es.shaping import z_scores, z_scores_within
from coevo.interfaces import Member, Partition, Update

Rewards = Mapping[str, float] | Iterable[tuple[str, float]]


class EvolutionStrategy:
    """Asks for members, is told their rewards, answers with the update; strictly in turn.

    Attributes:
        settings: G, α and the rules.
        run_key: 64-bit key of the run's noise.
        step: Index of the next step to ask for; a strategy that goes on starts where its history ends.
        basis: Identity of the basis whose span members move in; 0 for all directions.
        widest: Largest standard deviation of the rewards of one step so far, kept for a spread of the run; it, too, is
            where its history ends.

    Raises:
        ConfigError: If guided members are to have a rank or subspaces.
    """

    def __init__(
        self, settings: ESSettings, run_key: int, *, step: int = 0, basis: int = 0, widest: float = 0.0
    ) -> None:
        if not 0 <= run_key < 2**64:
            raise ValueError(f"run_key must be a whole number in [0, 2^64), got {run_key}")
        if step < 0:
            raise ValueError(f"step must not be negative, got {step}")
        if basis and (settings.rank or settings.subspaces > 1):
            raise ConfigError(
                f"guided noise lies in the span of its basis: expected rank 0 and 1 subspace, got rank {settings.rank} "
                f"and {settings.subspaces} subspaces; drop them, or take another scope"
            )
        self.settings = settings
        self.run_key = run_key
        self.step = step
        self.basis = basis
        self.widest = widest
        self._asked: tuple[Member, ...] = ()
        self._alpha = 0.0

    @property
    def pending(self) -> tuple[Member, ...]:
        """The members whose rewards are awaited; empty between steps."""
        return self._asked

    def continued(self, settings: ESSettings) -> "EvolutionStrategy":
        """The strategy that goes on from here with other settings.

        Raises:
            RuntimeError: If a step is open: its rewards would be lost.
        """
        self._refuse_open()
        return EvolutionStrategy(settings, self.run_key, step=self.step, basis=self.basis, widest=self.widest)

    def can_ask(self, count: int) -> bool:
        """Whether a step of `count` members is possible: enough to compare in every subspace, and in whole pairs."""
        return fault(count, subspaces=self.settings.subspaces, antithetic=self.settings.antithetic) is None

    def ask(self, sigma: float, members: int | None = None) -> tuple[Member, ...]:
        """The members of the next step, all of them new directions.

        Args:
            sigma: Standard deviation of the perturbation of all weights, in weight units; 0 asks for members that
                equal the base. A member of one of K subspaces gets √K·sigma, which keeps the expected squared length
                of its perturbation. Rounded to fp32.
            members: How many, where the budget leaves a step fewer or more than `settings.members`.

        Raises:
            RuntimeError: If the previous step has not been told.
            ValueError: If sigma is negative or not finite, or `can_ask` denies the number of members.
        """
        self._refuse_open()
        width = _fp32(math.sqrt(self.settings.subspaces) * sigma)
        if not (math.isfinite(width) and sigma >= 0):
            raise ValueError(f"sigma must be finite in fp32 and not negative, got {sigma}")
        count = self.settings.members if members is None else members
        places = deal(count, subspaces=self.settings.subspaces, antithetic=self.settings.antithetic)
        self._asked = tuple(self._member(place, width) for place in places)
        self._alpha = alpha_at(sigma, self.settings)
        self.step += 1
        return self._asked

    def tell(self, rewards: Rewards) -> Update | None:
        """Close the step: turn the rewards of its members into an update.

        Args:
            rewards: Member identity -> reward (higher is better), for every member of the step, in any order.

        Returns:
            The update, coefficients rounded to fp32 and one per direction (antithetic pairs merged); None where
            moving would be noise: at sigma 0, when all rewards are equal, or when all pairs cancel. Under separate
            z-scores a subspace whose members all earned the same gets coefficients of 0 and stays.

        Raises:
            RuntimeError: If no step is open.
            ValueError: If a member is missing, unknown, told twice or has no finite reward. The step stays open.
        """
        if not self._asked:
            raise RuntimeError("no step is open: call ask before tell")
        members = self._asked
        ordered = _in_member_order(members, rewards)
        scores = self._scores(members, ordered)
        self._asked = ()
        share = self._share(ordered)
        if scores is None or members[0].sigma == 0.0:
            return None
        sizes = Counter(member.subspace for member in members)
        shares = [share * self._alpha / sizes[member.subspace] for member in members]
        return _update(members, [share * float(score) for share, score in zip(shares, scores, strict=True)])

    def _refuse_open(self) -> None:
        if self._asked:
            raise RuntimeError(f"step {self._asked[0].step} awaits its rewards: call tell first")

    def _member(self, place: Place, sigma: float) -> Member:
        count = self.settings.subspaces
        return Member(
            self.run_key,
            self.step,
            place.direction,
            place.sign,
            sigma,
            partition=Partition(count, self.settings.subspace_unit) if count > 1 else None,
            subspace=place.subspace,
            rank=self.settings.rank,
            basis=self.basis,
        )

    def _scores(self, members: Sequence[Member], rewards: Sequence[float]) -> NDArray[np.float64] | None:
        if self.settings.z_scores == "joint":
            return z_scores(rewards)
        return z_scores_within(rewards, [member.subspace for member in members])

    def _share(self, rewards: Sequence[float]) -> float:
        """How much of a step's full length its spread is worth, in [0, 1]."""
        if self.settings.spread == "step":
            return 1.0
        spread = statistics.pstdev(rewards)  # exact sums: the same on every machine
        self.widest = max(self.widest, spread)
        return spread / self.widest if self.widest > 0 else 1.0


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


def _refuse(what: str, identities: Iterable[str]) -> None:
    names = sorted(identities)
    if names:
        raise ValueError(f"every member of the step needs exactly one finite reward; these {what}: {', '.join(names)}")


def _update(members: Sequence[Member], weights: Sequence[float]) -> Update | None:
    """Merge the members' weights by direction, in member order, and round each sum to fp32."""
    terms: dict[int, list[float]] = {}
    for member, weight in zip(members, weights, strict=True):
        terms.setdefault(member.direction, []).append(member.sign * weight)
    # Adding 0.0 turns a negative zero into a plain one.
    coefficients = tuple(_fp32(math.fsum(parts)) + 0.0 for parts in terms.values())
    if not any(coefficients):
        return None
    first, subspaces = members[0], {member.direction: member.subspace for member in members}
    return Update(
        first.run_key,
        first.step,
        tuple(terms),
        coefficients,
        partition=first.partition,
        subspaces=tuple(subspaces.values()) if first.partition else (),
        rank=first.rank,
        basis=first.basis,
    )


def _fp32(value: float) -> float:
    with np.errstate(over="ignore"):
        return float(np.float32(value))

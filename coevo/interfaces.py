"""The contracts between the parts: values that cross a boundary, and Protocols for what can be plugged in.

Nothing here has behaviour or imports a part; every part may import this.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal, Protocol, runtime_checkable

from numpy.typing import NDArray

Solution = NDArray[Any]
"""A solution is one numeric array (bool, integer or float): it has to cross the sandbox pipe as plain bytes."""

Heuristic = Callable[..., Any]
"""The untrusted function a candidate defines."""


@dataclass(frozen=True, slots=True)
class Instance:
    """One problem instance.

    Attributes:
        name: Unique within its split.
        seed: The instance's own seed: whatever is random about solving it draws from this.
        data: Plain numbers and arrays only, because it is sent into the sandbox as bytes.
    """

    name: str
    seed: int
    data: Mapping[str, NDArray[Any] | float | int]


@runtime_checkable
class Problem(Protocol):
    """What `problem.py` of a problem folder provides (module-level functions satisfy it).

    Optional functions, all of them trusted and run outside the sandbox:

    - `reference(split) -> float array`: the best known objective of each instance, or a bound on it.
    - `classics() -> {name: function(instance) -> solution}`: textbook algorithms outside the heuristic's interface.
    - `read(path, **options) -> list[Instance]`: the instances in a file of the user's; raises `InstanceFileError`.
    - `read_reference(path, **options) -> sequence of float or None, or None`: the best known objective of each of
      these instances, where the file, or a solution file beside it, states it.
    - `solvers() -> {name: function(instance) -> solution}`: reference solvers; a package that is not installed is
      reported by the function, when called, as `ExtraMissingError`.
    - `draw(instance, solution) -> str`: the solution as SVG text; raises `Infeasible`.
    """

    def instances(self, split: str) -> list[Instance]:
        """The instances of a split; deterministic."""

    def solve(self, heuristic: Heuristic, instance: Instance) -> Solution:
        """Run the untrusted heuristic on one instance; called inside the sandbox."""

    def objective(self, instance: Instance, solution: Solution) -> float:
        """Value of a solution in the problem's own sense; trusted and pure; raises `Infeasible`."""


Unit = Literal["element", "tile"]
Storage = Literal["float32", "bfloat16", "float16"]
UpdateRule = Literal["master", "stochastic", "nearest"]
"""How an update reaches the weights: added to fp32 masters of what is served, or rounded once to the type that is
served, stochastically with replayable bits or to nearest (published). With fp32 weights all three are the same."""


@dataclass(frozen=True, slots=True)
class Partition:
    """The weights cut at random into disjoint subspaces, anew every step (CoPES, arXiv:2608.02391, section 3).

    Attributes:
        count: K, the number of subspaces.
        unit: What is assigned as a whole: every element on its own (published), or tiles of 4,096 elements that are
            consecutive in their tensor, which save K times the noise and the backup.
    """

    count: int
    unit: Unit = "element"


@dataclass(frozen=True, slots=True)
class Member:
    """One perturbed model of an ES step: weights + sign · sigma · ε(run_key, step, direction) on its subspace.

    Attributes:
        run_key: 64-bit key of the run's noise.
        step: Index of the ask/tell this member belongs to; no two steps share noise.
        direction: Index of the noise direction within the step.
        sign: +1, or -1 for the mirrored half of an antithetic pair.
        sigma: Standard deviation of the perturbation, in weight units; in one of K subspaces √K times the run's σ.
        partition: How the weights are cut into subspaces, or None where every member moves all of them.
        subspace: Index of the member's subspace, in [0, partition.count).
        rank: r, for ε = A·Bᵀ/√r with A and B of r columns on every matrix (EGGROLL); 0 for dense noise.
        basis: Identity of the basis whose span ε lies in (guided noise); 0 for noise in all directions.
    """

    run_key: int
    step: int
    direction: int
    sign: int
    sigma: float
    partition: Partition | None = None
    subspace: int = 0
    rank: int = 0
    basis: int = 0

    @property
    def identity(self) -> str:
        """Unique within the run, e.g. "12.3+"."""
        return f"{self.step}.{self.direction}{'+' if self.sign > 0 else '-'}"


@dataclass(frozen=True, slots=True)
class Update:
    """A step of the weights: θ ← θ + Σᵢ coefficientᵢ · ε(directionᵢ) on subspaceᵢ, summed in fp32 in this order.

    Attributes:
        run_key: 64-bit key of the run's noise.
        step: The step whose members earned the rewards.
        directions: Noise directions, in summation order.
        coefficients: Exact fp32 values of (α/Nₖ)·ẑᵢ·signᵢ, one per direction.
        partition: As of the members.
        subspaces: The subspace of each direction; empty without a partition.
        rank: As of the members.
        basis: As of the members.
    """

    run_key: int
    step: int
    directions: tuple[int, ...]
    coefficients: tuple[float, ...]
    partition: Partition | None = None
    subspaces: tuple[int, ...] = ()
    rank: int = 0
    basis: int = 0


@dataclass(frozen=True, slots=True)
class Guidance:
    """What a run has learned about writing good heuristics, for the prompts to come.

    Attributes:
        text: Advice in Markdown, for models that read words; empty for none.
        use: Idioms (`coevo.idioms`) that good children have had, for the slot codec.
        avoid: Idioms that bad ones have had.
    """

    text: str = ""
    use: tuple[str, ...] = ()
    avoid: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Sampling:
    """How completions are drawn. `top_p` keeps the smallest set of tokens whose probability reaches it."""

    temperature: float = 1.0
    top_p: float = 0.98
    max_tokens: int = 768


@dataclass(frozen=True, slots=True)
class Request:
    """One completion asked of an engine.

    Attributes:
        id: Unique in the run; the key under which budget and resume account for it.
        text: The rendered prompt.
        seed: Sampling seed (64 bit); the same seed, text and weights draw the same tokens.
        member: The perturbed model that answers, or None for the unperturbed one.
        sampling: Limits and distribution.
    """

    id: str
    text: str
    seed: int
    member: Member | None = None
    sampling: Sampling = field(default_factory=Sampling)


@dataclass(frozen=True, slots=True)
class Completion:
    """An engine's answer. `finish` is "length" for an answer that was cut off: it is never used as if whole."""

    request_id: str
    text: str
    finish: Literal["stop", "length"]
    num_tokens: int


@runtime_checkable
class Engine(Protocol):
    """Something that completes text and can move its own weights.

    Callers never apply or revert a perturbation: a request names its member and the engine sees to it.
    """

    def generate(self, requests: Sequence[Request]) -> Iterator[Completion]:
        """Answer every request exactly once, in any order, as the answers come."""

    def commit(self, update: Update) -> int:
        """Move the base weights along an update; return the new fingerprint."""

    def fingerprint(self) -> int:
        """64-bit fingerprint of the unperturbed weights; 0 for an engine without weights."""

    def export(self, folder: Path) -> None:
        """Write the unperturbed weights as a model folder."""

    def close(self) -> None:
        """Release processes and memory; safe to call twice."""

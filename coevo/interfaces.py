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
    """How completions are drawn.

    Attributes:
        temperature: 0 is greedy.
        top_p: Keeps the smallest set of tokens whose probability reaches it.
        max_tokens: Longest completion; a longer one is cut off.
        top_k: Keeps the k likeliest tokens; 0 keeps all.
        presence_penalty: Subtracted from the logit of every token that the completion already has.
        stop: Texts at which a completion ends; the text itself is left out.
    """

    temperature: float = 1.0
    top_p: float = 0.98
    max_tokens: int = 768
    top_k: int = 0
    presence_penalty: float = 0.0
    stop: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Message:
    """One message of a conversation."""

    role: Literal["system", "user", "assistant"]
    content: str


@dataclass(frozen=True, slots=True)
class Request:
    """One completion asked of an engine.

    Attributes:
        id: Unique in the run; the key under which budget and resume account for it.
        text: The rendered prompt; of a conversation, all of it as plain text.
        seed: Sampling seed (64 bit); the same seed, text and weights draw the same tokens.
        member: The perturbed model that answers, or None for the unperturbed one.
        sampling: Limits and distribution.
        messages: The conversation that the answer continues, for engines with a chat template, which read it in the
            place of `text`; empty where the text is all there is.
    """

    id: str
    text: str
    seed: int
    member: Member | None = None
    sampling: Sampling = field(default_factory=Sampling)
    messages: tuple[Message, ...] = ()


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


@dataclass(frozen=True, slots=True)
class Task:
    """What an agent is to do in one episode.

    Attributes:
        name: Unique within its split.
        data: Plain JSON values, whatever the environment needs.
    """

    name: str
    data: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Step:
    """What an environment answers to one action.

    Attributes:
        messages: What the agent is told next; where the conversation is renewed at every turn, all that it is told.
        reward: Earned by this action, maximised; the score of an episode is the sum.
        done: The episode is over by its own rules.
        truncated: The episode was cut off by a limit; its rewards so far count.
        info: Plain JSON values for the trace, e.g. {"valid": false}; never shown to the agent.
    """

    messages: tuple[Message, ...] = ()
    reward: float = 0.0
    done: bool = False
    truncated: bool = False
    info: Mapping[str, Any] = field(default_factory=dict)


@runtime_checkable
class Environment(Protocol):
    """One episode at a time, many such objects at once. Trusted code, called from threads.

    What an agent says can be anything: an action that cannot be read, or an empty one, is answered in the episode and
    never raises. Where the surroundings fail (a browser dies, a server is gone) any method raises
    `EnvironmentFault`: the episode is tried again and its task dropped for all if it stays so, never scored 0.
    """

    def reset(self, task: Task, seed: int) -> Sequence[Message]:
        """Begin an episode; whatever is random about it draws from the seed. What the agent is told first."""

    def step(self, text: str) -> Step:
        """Take the agent's answer as its next action."""

    def close(self) -> None:
        """Release processes and files; safe to call twice, and in the middle of an episode."""


@runtime_checkable
class EnvironmentModule(Protocol):
    """What `environment.py` of an environment folder provides (module-level functions satisfy it).

    Both functions take the options that `environment.toml` lists, by name and all of them.
    """

    def tasks(self, split: str, **options: Any) -> Sequence[Task]:
        """The tasks of a split, in order; deterministic. Raises `ContentError` for data that is not as it should be."""

    def open(self, **options: Any) -> Environment:
        """A new environment, without an episode yet."""

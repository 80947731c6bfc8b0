"""Do evolution strategies reach every parameter? Asked of a live engine, through its public side alone.

Members answer and leave no trace; an update moves the engine to the same bits as a freshly opened one, and as the
replay of a history, in which each tensor's own part of the fingerprint is seen to change.
"""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from coevo.engines.loading import inspect_folder
from coevo.engines.policy import WeightPolicy
from coevo.engines.replay import open_weights
from coevo.engines.scope import names_in_scope
from coevo.engines.storage import STORAGE, exact_storage
from coevo.experiments.doctor.finding import Finding, failed, passed, warned
from coevo.interfaces import Engine, Member, Request, Update

NAME = "es"
RUN_KEY = 0xC0E0_D0C7_0000_0001
SIGMAS = (0.05, 0.2, 1.0)
"""Standard deviations of the large members, in weight units, tried one after the other until the answers change."""
MEMBERS = 4
_REPORT = "do not evolve this model on this engine: its updates would be lost or wrong; report it with the model's name"
_MEMORY = "check this machine's memory; do not evolve on it before that"


@dataclass(frozen=True, slots=True)
class Tracks:
    """What a replay shows of an update, apart from any engine.

    Attributes:
        fingerprint: Of the weights after it.
        moving: Tensors that the scope lets move.
        still: Those of them whose part of the fingerprint stayed the same.
        strayed: Tensors outside the scope whose part changed.
    """

    fingerprint: int
    moving: int
    still: tuple[str, ...]
    strayed: tuple[str, ...]


def canary_update(sigma: float) -> Update:
    """An update along two directions, each of them a step of a good part of σ."""
    coefficients = tuple(float(np.float32(share * sigma)) for share in (0.5, -0.25))
    return Update(RUN_KEY, 0, (0, 1), coefficients)


def es(
    served: Engine, request: Request, sigma: float, replayed: Tracks | None, reopen: Callable[[], Engine]
) -> Finding:
    """Whether members are served and leave no trace, and an update reaches what it is to reach.

    Args:
        served: The engine; its weights are moved, and it is closed before another is opened.
        request: What it is asked.
        sigma: That of the run, in weight units.
        replayed: What a replay of `canary_update(sigma)` shows; None where there is no memory for one.
        reopen: Opens another engine on the same model.
    """
    before = served.fingerprint()
    if (heard := _first_heard(served, request)) is None:
        return failed(NAME, f"members answer like the unperturbed model, even at σ {SIGMAS[-1]:g}", _REPORT)
    if (after := served.fingerprint()) != before:
        return failed(NAME, f"members leave a trace: fingerprint {before:016x} became {after:016x}", _REPORT)
    moved = served.commit(canary_update(sigma))
    if moved == before:
        return failed(NAME, "an update leaves the fingerprint as it was", _REPORT)
    served.close()
    if fault := _differences(moved, before, replayed, reopen, sigma):
        return fault
    words = (
        f"members answer otherwise from σ {heard:g} on and leave no trace; an update gives a new engine the same bits"
    )
    if replayed is None:
        return warned(
            NAME, f"{words}; single tensors were not looked at", "a replay needs the whole model in host memory"
        )
    return passed(NAME, f"{words}, as its replay; each of {replayed.moving} tensors by itself changes the fingerprint")


def needs_bytes(model: Path, policy: WeightPolicy) -> int:
    """Memory of a replay."""
    folder = inspect_folder(model)
    return folder.num_parameters * STORAGE[exact_storage(folder.dtype, policy.update_rule)].itemsize


def track(model: Path, policy: WeightPolicy, update: Update) -> Tracks:
    """Replay an update and compare each tensor's part of the fingerprint before and after.

    Raises:
        CoevoError: If the folder cannot be served, or the scope is empty.
    """
    weights = open_weights(model, policy).weights
    before = {block.tensor: part for block, part in weights.parts()}
    weights.commit(update)
    after = {block.tensor: part for block, part in weights.parts()}
    shapes = {name: info.shape for name, info in inspect_folder(model).tensors.items() if name in before}
    inside = set(names_in_scope(policy.scope, shapes))
    changed = {name for name in before if before[name] != after[name]}
    return Tracks(
        fingerprint=sum(after.values()) % 2**64,
        moving=len(inside),
        still=tuple(sorted(inside - changed)),
        strayed=tuple(sorted(changed - inside)),
    )


def _first_heard(served: Engine, request: Request) -> float | None:
    """The first of the large σ at which some member answers otherwise than the base."""
    for step, sigma in enumerate(SIGMAS):
        asked = [*_asked_of(request, (None,)), *_asked_of(request, _members(step, sigma))]
        answers = {each.request_id: each.text for each in served.generate(asked)}
        if len(set(answers.values())) > 1:
            return sigma
    return None


def _members(step: int, sigma: float) -> Iterator[Member]:
    return (Member(RUN_KEY, step, number // 2, 1 if number % 2 == 0 else -1, sigma) for number in range(MEMBERS))


def _asked_of(request: Request, members: Iterable[Member | None]) -> Iterator[Request]:
    """The same request, with the same seed, of each of them."""
    for member in members:
        name = "base" if member is None else member.identity
        yield Request(name, request.text, request.seed, member, request.sampling, request.messages)


def _differences(
    moved: int, before: int, replayed: Tracks | None, reopen: Callable[[], Engine], sigma: float
) -> Finding | None:
    """The first way in which a new engine or the replay disagrees with the engine that was moved."""
    if replayed is not None:
        if replayed.still:
            return failed(NAME, f"an update does not reach {_named(replayed.still)}", _REPORT)
        if replayed.strayed:
            return failed(NAME, f"an update moves {_named(replayed.strayed)}, outside the scope", _REPORT)
        if replayed.fingerprint != moved:
            return failed(NAME, f"replaying an update gives {replayed.fingerprint:016x}, not {moved:016x}", _REPORT)
    again = reopen()
    try:
        if (fresh := again.fingerprint()) != before:
            return failed(NAME, f"the model opened anew has fingerprint {fresh:016x}, not {before:016x}", _MEMORY)
        if (repeated := again.commit(canary_update(sigma))) != moved:
            return failed(NAME, f"the same update gives a new engine {repeated:016x}, not {moved:016x}", _REPORT)
    finally:
        again.close()
    return None


def _named(tensors: tuple[str, ...]) -> str:
    return tensors[0] if len(tensors) == 1 else f"{tensors[0]} and {len(tensors) - 1} more tensors"

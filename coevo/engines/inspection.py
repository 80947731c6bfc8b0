"""What an evolution strategy will find in a model folder, known before anything is loaded.

Read from `config.json`, the headers of the checkpoint and a sample of its weights: no torch, and no memory that grows
with the model.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, get_args

from coevo.engines.checkpoint import TensorInfo
from coevo.engines.guiding import basis_file, load_basis, missing_basis
from coevo.engines.llama_shape import lean_shape
from coevo.engines.loading import ModelFolder
from coevo.engines.policy import GUIDED, Restore, WeightPolicy
from coevo.engines.precision import Survival, survival
from coevo.engines.scope import ROLES, Role, names_in_scope, roles
from coevo.engines.storage import CODES, STORAGE, exact_storage
from coevo.engines.tying import is_tied, own_names, tied_copies
from coevo.errors import ModelError
from coevo.interfaces import UpdateRule

MODES: tuple[Restore, ...] = tuple(mode for mode in get_args(Restore) if mode != "auto")
RULES: tuple[UpdateRule, ...] = get_args(UpdateRule)
MUCH_SWALLOWED = 0.2
"""Share of the noise whose loss is worth a warning (pitfall P17)."""


@dataclass(frozen=True, slots=True)
class TensorFacts:
    """One tensor: its name, its shape, what it does, and whether the scope lets it move."""

    name: str
    shape: tuple[int, ...]
    role: Role
    moves: bool


@dataclass(frozen=True, slots=True)
class RoleFacts:
    """The tensors of one role.

    Attributes:
        role: What they do.
        tensors: How many there are, tied ones counted once.
        parameters: Elements in them.
        moving: Elements that the scope lets move.
        stored: Types the checkpoint stores them in.
        survival: What each storage type would keep of the noise on those that move; empty if none does.
    """

    role: Role
    tensors: int
    parameters: int
    moving: int
    stored: tuple[str, ...]
    survival: Mapping[str, Survival]


@dataclass(frozen=True, slots=True)
class MemoryNeed:
    """What one copy of the model needs for its weights, in bytes; prompts and caches come on top.

    Attributes:
        rule: Update rule.
        restore: Restore mode.
        weights: The served weights.
        backup: What is kept beside them in memory; None if the mode cannot serve this rule exactly.
        disk: Scratch file.
    """

    rule: UpdateRule
    restore: Restore
    weights: int
    backup: int | None
    disk: int


@dataclass(frozen=True, slots=True)
class GuideFacts:
    """The basis beside a model.

    Attributes:
        file: Where it lies.
        vectors: k.
        rank: Products that a member costs in each element.
        tensors: The tensors it covers.
        elements: d, the elements in them.
        num_bytes: Size of the file.
        method: What its vectors are.
        captured: Share of the vectors' squared length that is stored.
        made_at: Fingerprint of the weights it was made at.
        identity: What members and histories name it by.
    """

    file: str
    vectors: int
    rank: int
    tensors: tuple[str, ...]
    elements: int
    num_bytes: int
    method: str
    captured: float
    made_at: str
    identity: str


@dataclass(frozen=True, slots=True)
class Inspection:
    """Everything that is known of a model before it is loaded.

    Attributes:
        architecture: As `config.json` names it, or "unknown".
        served_by: "lean decoder" or "transformers".
        storage: Type the weights are served in.
        renderer: How prompts are written.
        is_tied: Whether the output head is the embedding.
        duplicate: The head that a tied checkpoint stores a second time, or None.
        scope: Which tensors move.
        moving_tensors: How many those are.
        sigma: Standard deviation of a member's noise, in weight units.
        roles: Facts by role, only of roles there are.
        tensor_list: Every tensor, in checkpoint order.
        memory: Needs by update rule and restore mode.
        guide: The basis beside the model, or None.
        warnings: What is allowed but unwise, one sentence each.
    """

    architecture: str
    served_by: str
    storage: str
    renderer: str
    is_tied: bool
    duplicate: str | None
    scope: str
    moving_tensors: int
    sigma: float
    roles: tuple[RoleFacts, ...]
    tensor_list: tuple[TensorFacts, ...]
    memory: tuple[MemoryNeed, ...]
    guide: GuideFacts | None
    warnings: tuple[str, ...]

    @property
    def num_tensors(self) -> int:
        """Tensors, tied ones once."""
        return sum(facts.tensors for facts in self.roles)

    @property
    def num_parameters(self) -> int:
        """Elements, tied ones once."""
        return sum(facts.parameters for facts in self.roles)

    @property
    def num_moving(self) -> int:
        """Elements that move."""
        return sum(facts.moving for facts in self.roles)


def inspect_model(folder: ModelFolder, *, scope: str = "full", sigma: float, subspaces: int = 1) -> Inspection:
    """What an evolution strategy would do to a model and what it would need.

    Args:
        folder: The model, as `inspect_folder` read it.
        scope: Which tensors are to move: "full", "linear", "guided" (by the basis beside the model) or a regular
            expression.
        sigma: Standard deviation of a member's noise, in weight units; in K subspaces √K times the run's.
        subspaces: K.

    Raises:
        ConfigError: If the scope is not an expression or names nothing.
        ModelError: If the basis beside the model is damaged or fits another model.
    """
    stored = {name: info.shape for name, info in folder.tensors.items()}
    copies = tied_copies(stored, folder.config)
    tensors = {name: folder.tensors[name] for name in own_names(stored, folder.config)}
    shapes = {name: info.shape for name, info in tensors.items()}
    guide = guide_facts(folder, shapes, is_needed=scope == GUIDED)
    names = names_in_scope(scope, shapes, guide.tensors if guide else ())
    facts = _role_facts(tensors, set(names), sigma)
    by_role = roles(shapes)
    return Inspection(
        architecture=next(iter(folder.config.get("architectures") or ()), "unknown"),
        served_by="lean decoder" if lean_shape(folder) is not None else "transformers",
        storage=folder.dtype,
        renderer=folder.card.renderer,
        is_tied=is_tied(stored, folder.config),
        duplicate=copies[0] if copies else None,
        scope=scope,
        moving_tensors=len(names),
        sigma=sigma,
        roles=facts,
        tensor_list=tuple(TensorFacts(n, info.shape, by_role[n], n in set(names)) for n, info in tensors.items()),
        memory=memory_needs(
            folder.dtype,
            parameters=sum(info.size for info in tensors.values()),
            moving=sum(tensors[name].size for name in names),
            subspaces=subspaces,
        ),
        guide=guide,
        warnings=_warnings(folder, facts),
    )


def guide_facts(folder: ModelFolder, shapes: Mapping[str, tuple[int, ...]], *, is_needed: bool) -> GuideFacts | None:
    """What is known of the basis beside a model; None if there is none and none is needed.

    Raises:
        ModelError: If it is needed and missing, or it is damaged or fits another model.
    """
    file = basis_file(WeightPolicy(), folder.path)
    if not file.is_file():
        if is_needed:
            raise missing_basis(file, folder.path)
        return None
    basis = load_basis(file, shapes)
    return GuideFacts(
        file=str(file),
        vectors=basis.vectors,
        rank=basis.rank,
        tensors=tuple(basis.parts),
        elements=basis.elements,
        num_bytes=file.stat().st_size,
        method=basis.origin.method,
        captured=basis.origin.captured,
        made_at=basis.origin.fingerprint,
        identity=f"{basis.identity:016x}",
    )


def memory_needs(storage: str, *, parameters: int, moving: int, subspaces: int = 1) -> tuple[MemoryNeed, ...]:
    """What one copy of a model needs under every update rule and restore mode.

    Args:
        storage: Type the weights are served in.
        parameters: Elements in all, tied ones once.
        moving: Elements that the scope lets move.
        subspaces: K; touched tiles are a K-th of the weights.
    """
    served = STORAGE[storage]
    needs = []
    for rule in RULES:
        try:
            exact = STORAGE[exact_storage(storage, rule)]
        except ModelError:
            exact = None
        for mode in MODES:
            whole = 0 if exact is None else moving * exact.itemsize
            backup: int | None = {"tiles": -(-whole // subspaces), "mapped": 0}.get(mode, whole)
            if exact is None or (mode == "tiles" and exact != served):
                backup = None
            disk = whole if mode == "mapped" and backup is not None else 0
            needs.append(MemoryNeed(rule, mode, parameters * served.itemsize, backup, disk))
    return tuple(needs)


def _role_facts(tensors: Mapping[str, TensorInfo], moving: set[str], sigma: float) -> tuple[RoleFacts, ...]:
    by_role = roles({name: info.shape for name, info in tensors.items()})
    facts = []
    for role in ROLES:
        own = [tensors[name] for name, its in by_role.items() if its == role]
        inside = [info for info in own if info.name in moving]
        if own:
            facts.append(
                RoleFacts(
                    role,
                    tensors=len(own),
                    parameters=sum(info.size for info in own),
                    moving=sum(info.size for info in inside),
                    stored=tuple(sorted({CODES[info.dtype] for info in own})),
                    survival=survival(inside, sigma),
                )
            )
    return tuple(facts)


def _warnings(folder: ModelFolder, facts: tuple[RoleFacts, ...]) -> tuple[str, ...]:
    lost = [
        f"{folder.dtype} swallows {each.survival[folder.dtype].swallowed:.0%} of the noise on {each.role} weights; "
        "raise sigma, leave them out of the scope, or serve the model in float32"
        for each in facts
        if each.survival and each.survival[folder.dtype].swallowed > MUCH_SWALLOWED
    ]
    if _text_config(folder.config).get("kv_lora_rank") is not None:
        lost.append(
            "multi-head latent attention: vLLM serves products of its weights, which noise would miss, and the engine "
            "vllm refuses it; the engine torch serves the weights themselves"
        )
    if folder.config.get("auto_map"):
        lost.append("config.json asks for code from the model folder, which is never run: only built-in classes serve")
    return tuple(lost)


def _text_config(config: Mapping[str, Any]) -> Mapping[str, Any]:
    inner = config.get("text_config")
    return inner if isinstance(inner, Mapping) else config

"""One line of a run's history: what happened in a step, exactly enough to repeat its movement of the weights."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, Any, Literal, NoReturn

import numpy as np
from pydantic import (
    AfterValidator,
    BaseModel,
    ConfigDict,
    Field,
    FiniteFloat,
    SerializerFunctionWrapHandler,
    ValidationError,
    model_serializer,
    model_validator,
)

from coevo.errors import RunError
from coevo.explaining import explain
from coevo.interfaces import Member, Partition, Storage, Unit, Update, UpdateRule


def _exact_fp32(value: float) -> float:
    with np.errstate(over="ignore"):
        if float(np.float32(value)) != value:
            raise ValueError(f"must be exact in fp32, got {value!r}")
    return value


Fp32 = Annotated[FiniteFloat, AfterValidator(_exact_fp32)]
Hex64 = Annotated[str, Field(pattern=r"^[0-9a-f]{16}$")]
Count = Annotated[int, Field(ge=0, lt=2**64)]
Sign = Literal[1, -1]

NO_BASIS = "0" * 16

SECOND = frozenset({"subspace_count", "subspace_unit", "subspaces", "rank", "scope", "storage", "update_rule", "basis"})
"""The fields that a record of version 1 does not have: there they are what their defaults say."""


@dataclass(frozen=True, slots=True)
class WeightRecipe:
    """What, beside the updates, decides the weights that a history leads to.

    Attributes:
        scope: Which tensors move: "full", "linear" or a regular expression.
        storage: Type of the exact base, the weights that the fingerprint is of.
        rule: How an update reaches the base.
        basis: Identity of the basis that guided weights move in, or 0.
    """

    scope: str = "full"
    storage: Storage = "float32"
    rule: UpdateRule = "master"
    basis: int = 0


class StepRecord(BaseModel):
    """What happened in one step. Directions, signs, rewards and subspaces have one entry per member.

    Version 1 knows one subspace, dense noise and an fp32 master of all weights; a step that needs no more is still
    written that way. Everything else is version 2.
    """

    model_config = ConfigDict(frozen=True, extra="forbid", use_attribute_docstrings=True)

    schema_version: Literal[1, 2] = 1
    noise_scheme: Literal["coevo-noise-v1"] = "coevo-noise-v1"
    run_key: Hex64
    """64-bit key of the run's noise."""
    step: Count
    generation: Count
    operator: str
    sigma: Annotated[Fp32, Field(ge=0)]
    """Standard deviation of the members' perturbations, in weight units; in K subspaces √K times the schedule's."""
    directions: tuple[Count, ...]
    signs: tuple[Sign, ...]
    rewards: tuple[FiniteFloat, ...]
    """Higher is better, before z-scores."""
    coefficients: tuple[Fp32, ...] = ()
    """One per distinct direction, in order of first appearance; empty when the step gave no update."""
    applied: bool = False
    """Whether the weights moved along the coefficients."""
    fingerprint: Hex64 | None = None
    """Fingerprint of the weights after the step."""
    subspace_count: Annotated[int, Field(ge=1)] = 1
    """K."""
    subspace_unit: Unit = "element"
    subspaces: tuple[Count, ...] = ()
    """Empty with a single subspace."""
    rank: Count = 0
    """r of low-rank noise; 0 is dense."""
    scope: str = "full"
    storage: Storage = "float32"
    update_rule: UpdateRule = "master"
    basis: Hex64 = NO_BASIS
    """Identity of the basis of guided noise; a record without one does not write it."""

    @model_validator(mode="after")
    def _consistent(self) -> "StepRecord":
        if not len(self.directions) == len(self.signs) == len(self.rewards):
            raise ValueError("directions, signs and rewards must have one entry per member")
        if self.coefficients and len(self.coefficients) != len(self.distinct_directions):
            raise ValueError(
                f"expected one coefficient for each of {len(self.distinct_directions)} directions, "
                f"got {len(self.coefficients)}"
            )
        if self.applied and not self.coefficients:
            raise ValueError("an applied step needs its coefficients")
        return self

    @model_validator(mode="after")
    def _known_to_its_version(self) -> "StepRecord":
        if self.schema_version == 1 and (named := sorted(SECOND & self.model_fields_set)):
            raise ValueError(f"a record of version 1 has no {named[0]}")
        return self

    @model_validator(mode="after")
    def _in_subspaces(self) -> "StepRecord":
        if len(self.subspaces) != (len(self.directions) if self.subspace_count > 1 else 0):
            raise ValueError(f"expected the subspace of every member where there are several, got {self.subspaces}")
        if max(self.subspaces, default=0) >= self.subspace_count:
            raise ValueError(f"expected subspaces below {self.subspace_count}, got {max(self.subspaces)}")
        if len(set(zip(self.directions, self.subspaces, strict=False))) > len(self.distinct_directions):
            raise ValueError("the members of a direction must share a subspace")
        return self

    @model_serializer(mode="wrap")
    def _fields_of_its_version(self, written: SerializerFunctionWrapHandler) -> dict[str, Any]:
        values: dict[str, Any] = written(self)
        hidden = SECOND if self.schema_version == 1 else {"basis"} if self.basis == NO_BASIS else set()
        return {k: v for k, v in values.items() if k not in hidden}

    @classmethod
    def of(
        cls,
        members: Sequence[Member],
        rewards: Mapping[str, float],
        update: Update | None,
        *,
        generation: int,
        operator: str,
        recipe: WeightRecipe | None = None,
    ) -> "StepRecord":
        """The record of a told step, before the weights move; `after` completes it.

        Args:
            members: As `ask` gave them.
            rewards: As told.
            update: As `tell` answered.
            generation: The generation the step belongs to.
            operator: Name of the operator whose prompts the members answered.
            recipe: How the engine keeps and moves the weights; the default is that of version 1.
        """
        second = _second(members, recipe or WeightRecipe())
        return cls(
            schema_version=2 if second else 1,
            run_key=_hex(members[0].run_key),
            step=members[0].step,
            generation=generation,
            operator=operator,
            sigma=members[0].sigma,
            directions=tuple(member.direction for member in members),
            signs=tuple(1 if member.sign > 0 else -1 for member in members),
            rewards=tuple(rewards[member.identity] for member in members),
            coefficients=update.coefficients if update else (),
            **second,
        )

    def after(self, fingerprint: int, *, applied: bool) -> "StepRecord":
        """The same record with what the engine answered: the fingerprint, and whether the weights moved."""
        return StepRecord.model_validate(self.model_dump() | {"fingerprint": _hex(fingerprint), "applied": applied})

    @property
    def distinct_directions(self) -> tuple[int, ...]:
        """The directions without repetition, in order of first appearance."""
        return tuple(dict.fromkeys(self.directions))

    @property
    def recipe(self) -> WeightRecipe:
        """How the weights were kept and moved."""
        return WeightRecipe(self.scope, self.storage, self.update_rule, int(self.basis, 16))

    @property
    def update(self) -> Update | None:
        """The recorded movement, or None where the weights stayed."""
        if not self.applied:
            return None
        return Update(
            int(self.run_key, 16),
            self.step,
            self.distinct_directions,
            self.coefficients,
            partition=Partition(self.subspace_count, self.subspace_unit) if self.subspace_count > 1 else None,
            subspaces=tuple(dict(zip(self.directions, self.subspaces, strict=False)).values()),
            rank=self.rank,
            basis=int(self.basis, 16),
        )

    def to_line(self) -> str:
        """One line of JSON, newline included; numbers keep every bit."""
        return json.dumps(self.model_dump(), allow_nan=False) + "\n"

    @classmethod
    def from_line(cls, line: str) -> "StepRecord":
        """Read what `to_line` wrote.

        Raises:
            RunError: If the line is not a step record of a known version.
        """
        try:
            return cls.model_validate(json.loads(line, parse_constant=_refuse_constant))
        except ValidationError as error:
            raise RunError(
                f"expected a step record of version 1 or 2, got {line.strip()[:80]!r}: {explain(error, cls)}"
            ) from error
        except (ValueError, RecursionError) as error:
            raise RunError(f"expected one JSON object per line, got {line.strip()[:80]!r}: {error}") from error


def _second(members: Sequence[Member], recipe: WeightRecipe) -> dict[str, Any]:
    """The fields of version 2; none where version 1 says the same."""
    first = members[0]
    partition = first.partition or Partition(1)
    is_cut = partition.count > 1
    if not is_cut and first.rank == first.basis == 0 and recipe == WeightRecipe():
        return {}
    return {
        "subspace_count": partition.count,
        "subspace_unit": partition.unit,
        "subspaces": tuple(member.subspace for member in members) if is_cut else (),
        "rank": first.rank,
        "scope": recipe.scope,
        "storage": recipe.storage,
        "update_rule": recipe.rule,
        **({"basis": _hex(first.basis)} if first.basis else {}),
    }


def _hex(word: int) -> str:
    return f"{word:016x}"


def _refuse_constant(name: str) -> NoReturn:
    raise ValueError(f"{name} is not JSON")

"""The history of a run's steps: one JSON line each, and a full checkpoint.

An update is a few directions and coefficients, and noise is a pure function, so base weights and this file give the
trained weights bit for bit. Replay consumes the recorded coefficients and never recomputes them from the rewards.
"""

import json
import logging
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Annotated, Any, Literal, NoReturn

import numpy as np
from pydantic import AfterValidator, BaseModel, ConfigDict, Field, FiniteFloat, ValidationError, model_validator

from coevo.errors import RunError
from coevo.interfaces import Member, Update

_log = logging.getLogger(__name__)


def _exact_fp32(value: float) -> float:
    with np.errstate(over="ignore"):
        if float(np.float32(value)) != value:
            raise ValueError(f"must be exact in fp32, got {value!r}")
    return value


Fp32 = Annotated[FiniteFloat, AfterValidator(_exact_fp32)]
Hex64 = Annotated[str, Field(pattern=r"^[0-9a-f]{16}$")]
Count = Annotated[int, Field(ge=0)]
Sign = Literal[1, -1]


class StepRecord(BaseModel):
    """What happened in one step. Directions, signs and rewards have one entry per member."""

    model_config = ConfigDict(frozen=True, extra="forbid", use_attribute_docstrings=True)

    schema_version: Literal[1] = 1
    noise_scheme: Literal["coevo-noise-v1"] = "coevo-noise-v1"
    run_key: Hex64
    """64-bit key of the run's noise."""
    step: Count
    generation: Count
    operator: str
    sigma: Annotated[Fp32, Field(ge=0)]
    """Standard deviation of the perturbations, in weight units."""
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

    @classmethod
    def of(
        cls,
        members: Sequence[Member],
        rewards: Mapping[str, float],
        update: Update | None,
        *,
        generation: int,
        operator: str,
    ) -> "StepRecord":
        """The record of a told step, before the weights move; `after` completes it.

        Args:
            members: As `ask` gave them.
            rewards: As told.
            update: As `tell` answered.
            generation: The generation the step belongs to.
            operator: Name of the operator whose prompts the members answered.
        """
        return cls(
            run_key=_hex(members[0].run_key),
            step=members[0].step,
            generation=generation,
            operator=operator,
            sigma=members[0].sigma,
            directions=tuple(member.direction for member in members),
            signs=tuple(1 if member.sign > 0 else -1 for member in members),
            rewards=tuple(rewards[member.identity] for member in members),
            coefficients=update.coefficients if update else (),
        )

    def after(self, fingerprint: int, *, applied: bool) -> "StepRecord":
        """The same record with what the engine answered: the fingerprint, and whether the weights moved."""
        return StepRecord.model_validate(self.model_dump() | {"fingerprint": _hex(fingerprint), "applied": applied})

    @property
    def distinct_directions(self) -> tuple[int, ...]:
        """The directions without repetition, in order of first appearance."""
        return tuple(dict.fromkeys(self.directions))

    @property
    def update(self) -> Update | None:
        """The recorded movement, or None where the weights stayed."""
        if not self.applied:
            return None
        return Update(int(self.run_key, 16), self.step, self.distinct_directions, self.coefficients)

    def to_line(self) -> str:
        """One line of JSON, newline included; numbers keep every bit."""
        return json.dumps(self.model_dump(), allow_nan=False) + "\n"

    @classmethod
    def from_line(cls, line: str) -> "StepRecord":
        """Read what `to_line` wrote.

        Raises:
            RunError: If the line is not a step record of this version.
        """
        try:
            return cls.model_validate(json.loads(line, parse_constant=_refuse_constant))
        except ValidationError as error:
            raise RunError(
                f"expected a step record of version 1, got {line.strip()[:80]!r}: {_first(error)}"
            ) from error
        except ValueError as error:
            raise RunError(f"expected one JSON object per line, got {line.strip()[:80]!r}: {error}") from error


def read_history(lines: Iterable[str]) -> list[StepRecord]:
    """All records of a history, checked to be one run in order.

    A last line without newline that cannot be read was cut off by a kill: it is left out, with a warning in the log.

    Raises:
        RunError: If a line cannot be read, names another run, or does not come after the step before it.
    """
    every = [line for line in lines if line.strip()]
    records: list[StepRecord] = []
    for number, line in enumerate(every, 1):
        try:
            record = StepRecord.from_line(line)
            _check_follows(records, record)
        except RunError as error:
            if number == len(every) and not line.endswith(("\n", "}")):
                _log.warning("history line %d is cut off and left out", number)
                break
            raise RunError(f"history line {number}: {error}") from error
        records.append(record)
    return records


def updates(lines: Iterable[str]) -> Iterator[Update]:
    """The updates of a history, in order, with the recorded coefficients; what replay feeds to `Engine.commit`.

    Raises:
        RunError: As `read_history`; raised before the first update is given out.
    """
    moved = (record.update for record in read_history(lines))
    return (update for update in moved if update is not None)


def _check_follows(records: Sequence[StepRecord], record: StepRecord) -> None:
    if not records:
        return
    before = records[-1]
    if record.run_key != before.run_key:
        raise RunError(f"expected a step of run {before.run_key}, got run {record.run_key}; do not join histories")
    if record.step <= before.step:
        raise RunError(f"expected a step after {before.step}, got {record.step}; the history is out of order")


def _hex(word: int) -> str:
    return f"{word:016x}"


def _refuse_constant(name: str) -> NoReturn:
    raise ValueError(f"{name} is not JSON")


def _first(error: ValidationError) -> str:
    """The first complaint of pydantic, on one line."""
    fault: Mapping[str, Any] = error.errors(include_url=False)[0]
    place = ".".join(str(part) for part in fault["loc"])
    return f"{place}: {fault['msg']}" if place else str(fault["msg"])

"""What environments there are, from their metadata alone: none of their code is imported."""

from dataclasses import dataclass

from coevo.environments.loading import environment_names, find_environment, origin
from coevo.environments.spec import EnvironmentOption, Need


@dataclass(frozen=True, slots=True)
class OptionRow:
    """Something that `--option name=value` sets."""

    name: str
    type: str
    default: float | int | str
    description: str


@dataclass(frozen=True, slots=True)
class NeedRow:
    """A program or package that is not on this machine, and the command that brings it."""

    name: str
    install: str


@dataclass(frozen=True, slots=True)
class EnvironmentRow:
    """One environment.

    Attributes:
        origin: "bundled", or the package that declares it under the entry point group.
        at_best: The score of an episode that could not be better.
        missing: What it needs and this machine lacks; empty for one that runs here.
    """

    name: str
    title: str
    origin: str
    path: str
    conversation: str
    splits: dict[str, str]
    turns: int
    at_best: float
    options: tuple[OptionRow, ...]
    missing: tuple[NeedRow, ...]


def list_environments() -> list[EnvironmentRow]:
    """Every environment that can be named, in search order; one hidden behind an earlier one of its name is left out.

    Raises:
        ContentError: If metadata does not parse, or a package declares what is no folder.
    """
    return [_row(name) for name in environment_names()]


def _row(name: str) -> EnvironmentRow:
    folder = find_environment(name)
    spec = folder.spec
    return EnvironmentRow(
        name=spec.name,
        title=spec.title,
        origin=origin(folder),
        path=str(folder.path),
        conversation=spec.conversation,
        splits=spec.splits,
        turns=spec.limits.turns,
        at_best=spec.at_best,
        options=tuple(map(_option, spec.options)),
        missing=tuple(map(_need, folder.missing())),
    )


def _option(option: EnvironmentOption) -> OptionRow:
    return OptionRow(option.name, option.type, option.default, option.description)


def _need(need: Need) -> NeedRow:
    return NeedRow(need.program or need.package, need.install)

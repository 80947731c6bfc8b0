"""The basis of guided noise: where it is found, and that it fits the model."""

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from coevo.engines.loading import ModelFolder
from coevo.engines.policy import GUIDED, WeightPolicy
from coevo.errors import ModelError

if TYPE_CHECKING:
    from coevo.noise.basis import Basis

BASIS_FILE = "guided.basis"
"""Its name beside a model's weights."""


def basis_file(policy: WeightPolicy, model: Path) -> Path:
    """The file that a policy means: the one it names, or the one in the model folder."""
    return Path(policy.basis).expanduser() if policy.basis else model / BASIS_FILE


def load_guide(policy: WeightPolicy, folder: ModelFolder, served: Iterable[str] | None = None) -> "Basis | None":
    """The basis of scope guided; None for every other scope.

    Args:
        policy: Scope, and where the basis is.
        folder: The model.
        served: The checkpoint tensors that have weights of their own, a tied one once; None for all there are.

    Raises:
        ModelError: If there is none, it cannot be read, or a tensor of it is not the model's.
    """
    if policy.scope != GUIDED:
        return None
    file = basis_file(policy, folder.path)
    if not file.is_file():
        raise missing_basis(file, folder.path)
    names = folder.tensors if served is None else served
    return load_basis(file, {name: folder.tensors[name].shape for name in names})


def missing_basis(file: Path, model: Path) -> ModelError:
    """What to say where a basis is expected and there is none."""
    return ModelError(
        f"expected the basis of scope guided in {file}, found none; name one by --basis, or build it with "
        f"`coevo model basis {model} --to {file}`"
    )


def load_basis(file: Path, shapes: Mapping[str, tuple[int, ...]]) -> "Basis":
    """Read a basis and check it against a model.

    Args:
        file: The basis.
        shapes: Checkpoint name -> shape of every tensor of the model.

    Raises:
        ModelError: If it cannot be read, or naming the first tensor that does not fit.
    """
    from coevo.noise.basis import read_basis
    from coevo.noise.guided import part_of

    basis = read_basis(file)
    for name in basis.parts:
        if name not in shapes:
            raise ModelError(
                f"{file}: expected a basis for this model, got one that covers tensor {name!r}, which it has not; "
                "build one with `coevo model basis`"
            )
        try:
            part_of(basis, name, shapes[name])
        except ModelError as error:
            raise ModelError(f"{file}: {error}") from error
    return basis

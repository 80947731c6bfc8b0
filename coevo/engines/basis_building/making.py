"""Make the basis of a model folder: which vectors, from where, and what is told of their origin."""

from dataclasses import dataclass
from pathlib import Path
from typing import Literal, get_args

from coevo.engines.basis_building.building import BasisReport, build_basis
from coevo.engines.basis_building.vectors import Differences, RandomVectors, Vectors
from coevo.engines.loading import ModelFolder
from coevo.engines.replay import checkpoint_names, open_weights
from coevo.errors import ConfigError
from coevo.noise.basis import Basis, BasisOrigin

Method = Literal["gradients", "random", "differences"]
METHODS: tuple[Method, ...] = get_args(Method)


@dataclass(frozen=True, slots=True)
class BasisRecipe:
    """How a basis is to be made.

    Attributes:
        method: What its vectors are.
        vectors: k, unless there is one for each checkpoint.
        rank: Most columns and rows of the factors that the vectors share in each tensor.
        seed: Of the grammar's texts, of random vectors, and of the search for shared factors.
        batch: Texts per gradient.
        corpus: Texts as JSON lines; None for the grammar of the embedded model.
        families: Kinds of problem that the grammar's texts are of; none for all.
        checkpoints: Folders whose differences to the model are the vectors.
    """

    method: Method = "gradients"
    vectors: int = 48
    rank: int = 48
    seed: int = 0
    batch: int = 8
    corpus: Path | None = None
    families: tuple[str, ...] = ()
    checkpoints: tuple[Path, ...] = ()


def make_basis(folder: ModelFolder, recipe: BasisRecipe) -> tuple[Basis, BasisReport]:
    """The basis of a model by a recipe; the same on one machine for the same recipe.

    Raises:
        ConfigError: If the parts of the recipe do not go together.
        ContentError: If the corpus cannot be used.
        ModelError: If a model cannot be loaded, or the vectors are not independent.
    """
    _check(folder, recipe)
    origin = BasisOrigin(
        method=recipe.method,
        architecture=next(iter(folder.config.get("architectures") or ()), "unknown"),
        fingerprint=f"{open_weights(folder.path).weights.fingerprint():016x}",
        seed=recipe.seed,
        source=_source(recipe),
    )
    return build_basis(_vectors(folder, recipe), recipe.rank, origin)


def _vectors(folder: ModelFolder, recipe: BasisRecipe) -> Vectors:
    if recipe.method == "gradients":
        from coevo.engines.basis_building.corpus import grammar_texts, read_texts
        from coevo.engines.basis_building.gradients import Gradients

        count = recipe.vectors * recipe.batch
        if recipe.corpus is not None:
            return Gradients(folder, read_texts(recipe.corpus, count), recipe.batch)
        return Gradients(folder, grammar_texts(recipe.seed, count, recipe.families), recipe.batch)
    tensors = {name: folder.tensors[name] for name in checkpoint_names(folder)}
    if recipe.method == "differences":
        return Differences(tensors, recipe.checkpoints)
    return RandomVectors({name: info.shape for name, info in tensors.items()}, recipe.vectors, recipe.seed)


def _check(folder: ModelFolder, recipe: BasisRecipe) -> None:
    if (recipe.method == "differences") != bool(recipe.checkpoints):
        raise ConfigError("--from differences and --checkpoint go together: name at least one other checkpoint")
    if recipe.method != "gradients" and (recipe.corpus is not None or recipe.families):
        raise ConfigError(f"a corpus is for --from gradients, got --from {recipe.method}; drop --corpus and --family")
    if recipe.corpus is not None and recipe.families:
        raise ConfigError("--family chooses among the grammar's own texts, got --corpus as well; drop one of them")
    if recipe.method == "gradients" and recipe.corpus is None and folder.card.renderer != "slots":
        raise ConfigError(
            f"expected --corpus FILE for {folder.path}: the built-in corpus is in the slots that only the embedded "
            "model reads; name a file of JSON lines with prompt and completion"
        )


def _source(recipe: BasisRecipe) -> str:
    if recipe.method == "random":
        return "standard normal numbers"
    if recipe.method == "differences":
        return f"{len(recipe.checkpoints)} checkpoints"
    if recipe.corpus is not None:
        return f"{recipe.corpus.name}, {recipe.batch} texts a vector"
    return (
        f"grammar of the embedded model ({', '.join(recipe.families) or 'all families'}), {recipe.batch} texts a vector"
    )

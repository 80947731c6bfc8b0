"""From a model to a basis: what the vectors are, what is kept of them, and that rows are orthonormal."""

import json
import shutil
from dataclasses import replace

import numpy as np
import pytest

from coevo.block import Block, matrix_shape
from coevo.engines.basis_building.building import build_basis, gram_matrix
from coevo.engines.basis_building.corpus import Text, grammar_texts, read_texts
from coevo.engines.basis_building.gradients import Gradients
from coevo.engines.basis_building.making import BasisRecipe, make_basis
from coevo.engines.basis_building.vectors import RandomVectors
from coevo.engines.checkpoint import write_checkpoint
from coevo.engines.loading import inspect_folder
from coevo.engines.replay import open_weights
from coevo.errors import ConfigError, ContentError, ModelError
from coevo.interfaces import Member
from coevo.noise import perturb
from coevo.noise.basis import BasisOrigin

SHAPES = {"w": (12, 20), "stack": (2, 3, 5), "v": (9,)}
ORIGIN = BasisOrigin(method="random", architecture="none", fingerprint="", seed=1)


def stored(basis):
    """The stored vectors, one a row, tensors in the basis's order."""
    rows = [
        (part.left.astype(np.float64) @ part.core @ part.right * part.scale[:, None, None]).reshape(basis.vectors, -1)
        for part in basis.parts.values()
    ]
    return np.hstack(rows)


def given(vectors, basis):
    """The vectors that a basis was made of, scaled to length 1, like `stored`."""
    rows = np.array([np.hstack([vector[name].reshape(-1) for name in basis.parts]) for vector in vectors.each()])
    return rows / np.linalg.norm(rows, axis=1, keepdims=True)


@pytest.fixture
def corpus(tmp_path):
    """Thirty texts as JSON lines."""
    file = tmp_path / "texts.jsonl"
    lines = [{"prompt": f"add {n}: ", "completion": f"n + {n * n}"} for n in range(30)]
    file.write_text("\n".join(map(json.dumps, lines)) + "\n")
    return file


@pytest.mark.parametrize("rank", [2, 5, 40])
def test_rows_are_orthonormal_and_errors_are_as_told(rank):
    """Q = M · G has orthonormal rows; captured length and error are those of the stored vectors."""
    vectors = RandomVectors(SHAPES, 6, 4)
    basis, report = build_basis(vectors, rank, ORIGIN)
    rows = basis.mixing.astype(np.float64) @ stored(basis)
    np.testing.assert_allclose(rows @ rows.T, np.eye(6), atol=1e-5)
    assert report.orthonormality < 1e-5
    np.testing.assert_allclose(gram_matrix(basis.parts), stored(basis) @ stored(basis).T, rtol=1e-9, atol=1e-12)
    distance = np.square(given(vectors, basis) - stored(basis)).sum(axis=1).mean() ** 0.5
    assert report.error == pytest.approx(distance, abs=1e-3)
    assert basis.elements == 12 * 20 + 30 + 9


def test_full_rank_loses_only_what_rounding_does():
    """With as many columns as there are, all of the length is captured and 8 bits lose about a hundredth of it."""
    _, report = build_basis(RandomVectors(SHAPES, 6, 4), 40, ORIGIN)
    assert report.captured == pytest.approx(1.0, abs=1e-6)
    assert 0 < report.error < 0.02


def test_shared_factors_find_what_is_shared():
    """Vectors of one column space and one row space are kept whole at its dimension, and not below it."""

    class Shared:
        count = 4

        def each(self):
            rng = np.random.default_rng(5)
            left, right = rng.standard_normal((30, 3)), rng.standard_normal((3, 25))
            for _ in range(self.count):
                yield {"w": (left @ rng.standard_normal((3, 3)) @ right).astype(np.float32)}

    assert build_basis(Shared(), 3, ORIGIN)[1].captured > 0.999
    assert build_basis(Shared(), 2, ORIGIN)[1].captured < 0.99


def test_members_move_in_the_span_alone():
    """The noise of a member is a combination of the stored vectors, of variance near 1 over the elements."""
    basis, _ = build_basis(RandomVectors(SHAPES, 6, 4), 4, ORIGIN)
    noise, member = [], Member(1, 2, 3, 1, 1.0, basis=basis.identity)
    for name in basis.parts:
        block = Block.whole(name, SHAPES[name])
        out = np.empty((block.rows, block.cols), np.float32)
        perturb(np.zeros_like(out), out, block, member, basis=basis)
        noise.append(out.reshape(-1))
    noise = np.hstack(noise).astype(np.float64)
    rows = stored(basis)
    outside = noise - rows.T @ np.linalg.lstsq(rows.T, noise, rcond=None)[0]
    assert np.linalg.norm(outside) < 1e-5 * np.linalg.norm(noise)


def test_gradients_are_those_of_finite_differences(tiny_llama):
    """The derivative along a gradient is its squared length, so it is the gradient of the loss on completions."""
    import torch

    gradients = Gradients(inspect_folder(tiny_llama), [Text("a b", "cd"), Text("x", "yz z")], 2)
    (vector,) = gradients.each()
    squared = sum(float(np.square(values, dtype=np.float64).sum()) for values in vector.values())
    losses, step = [], 1e-2 / squared**0.5
    with torch.no_grad():
        for sign in (1, -1):
            for name, parameter in gradients._parameters.items():
                parameter += sign * step * torch.from_numpy(vector[name]).reshape(parameter.shape)
            losses.append(gradients._loss(gradients._batches[0]).item())
            for name, parameter in gradients._parameters.items():
                parameter -= sign * step * torch.from_numpy(vector[name]).reshape(parameter.shape)
    assert (losses[0] - losses[1]) / (2 * step) == pytest.approx(squared, rel=0.02)


def test_a_basis_of_gradients_is_made_from_a_corpus(tiny_llama, corpus):
    """The same recipe gives the same basis, which says where it comes from and fits the model."""
    folder, recipe = inspect_folder(tiny_llama), BasisRecipe(vectors=4, rank=6, batch=3, corpus=corpus)
    basis, report = make_basis(folder, recipe)
    again, _ = make_basis(folder, recipe)
    assert basis.identity == again.identity
    assert basis.vectors == 4
    assert {name: (len(part.left), part.right.shape[1]) for name, part in basis.parts.items()} == {
        name: matrix_shape(info.shape) for name, info in folder.tensors.items()
    }
    assert basis.origin.fingerprint == f"{open_weights(tiny_llama).weights.fingerprint():016x}"
    assert (basis.origin.method, basis.origin.source) == ("gradients", "texts.jsonl, 3 texts a vector")
    assert 0.2 < report.captured <= 1.0
    assert report.rounding < 0.05


def test_other_seeds_are_other_vectors(tiny_llama):
    """Random vectors follow the seed."""
    folder, recipe = inspect_folder(tiny_llama), BasisRecipe(method="random", vectors=3, rank=4)
    found = {make_basis(folder, replace(recipe, seed=seed))[0].identity for seed in (0, 1, 0)}
    assert len(found) == 2


def test_differences_of_checkpoints_need_no_gradients(tiny_llama, tmp_path):
    """What moves the model to other checkpoints is in the span."""
    folder, others = inspect_folder(tiny_llama), []
    for number in range(2):
        other, rng = tmp_path / str(number), np.random.default_rng(number)
        shutil.copytree(tiny_llama, other)
        shapes = {name: info.shape for name, info in folder.tensors.items()}
        moved = {name: info.read() + rng.normal(0, 0.1, info.size) for name, info in folder.tensors.items()}
        arrays = {name: values.astype(np.float32).reshape(shapes[name]) for name, values in moved.items()}
        write_checkpoint(other / "model.safetensors", arrays, shapes)
        others.append(other)
    basis, report = make_basis(folder, BasisRecipe(method="differences", rank=300, checkpoints=tuple(others)))
    assert (basis.vectors, basis.origin.source) == (2, "2 checkpoints")
    assert report.error < 0.05
    with pytest.raises(ModelError, match="independent"):
        make_basis(folder, BasisRecipe(method="differences", rank=300, checkpoints=(others[0], others[0])))
    with pytest.raises(ModelError, match="finite length above 0"):
        make_basis(folder, BasisRecipe(method="differences", rank=3, checkpoints=(tiny_llama,)))


def test_the_grammar_gives_edits_of_a_seed():
    """Texts of the operators that evolve the model, the same for a seed, of all families or of one."""
    texts = grammar_texts(9, 6)
    assert texts == grammar_texts(9, 6)
    assert texts != grammar_texts(10, 6)
    assert all(text.prompt.startswith(("<m1>", "<m2>")) and text.completion.strip() for text in texts)
    with pytest.raises(ContentError, match="expected families among"):
        grammar_texts(9, 1, ["nonsense"])


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ("{", "line 2: expected prompt and completion"),
        ('{"prompt": "x"}', "line 2: expected prompt and completion"),
        ('{"prompt": "x", "completion": ""}', "line 2: expected texts"),
        ('{"prompt": "x", "completion": "y"}', "expected 3 texts .*, found 2"),
    ],
)
def test_a_damaged_corpus_is_refused(tmp_path, line, words):
    """A line that is no text is named by its number; too few are counted."""
    file = tmp_path / "texts.jsonl"
    file.write_text(f'{{"prompt": "x", "completion": "y"}}\n{line}\n')
    with pytest.raises(ContentError, match=words):
        read_texts(file, 3)


@pytest.mark.parametrize(
    ("recipe", "words"),
    [
        (BasisRecipe(), "expected --corpus FILE"),
        (BasisRecipe(method="differences"), "--checkpoint go together"),
        (BasisRecipe(method="random", families=("tour",)), "a corpus is for --from gradients"),
    ],
)
def test_recipes_that_do_not_go_together_are_refused(tiny_llama, recipe, words):
    """What is missing or without effect is named by its flag."""
    with pytest.raises(ConfigError, match=words):
        make_basis(inspect_folder(tiny_llama), recipe)

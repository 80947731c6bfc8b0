"""Blocks, members, updates and weights that the tests of the noise draw from."""

import numpy as np
import pytest
from hypothesis import strategies as st

from coevo.block import Block, matrix_shape
from coevo.interfaces import Member, Partition, Update
from coevo.noise.basis import Basis, BasisOrigin, BasisPart

WORDS = st.integers(0, 2**64 - 1)
WIDTHS = st.one_of(st.integers(1, 40), st.sampled_from([64, 511, 512, 513, 2047, 4095, 4096, 4097, 5000]))
SPECIAL = [0.0, -0.0, 1.0, -1.0, 1e-40, -1e-7, 6e-8, 65504.0, 3.3895314e38, -np.inf, np.inf]


@st.composite
def _blocks(draw):
    """Rectangles of vectors, matrices and stacks of matrices, some of them far from the first element."""
    width, height = draw(WIDTHS), draw(st.integers(1, 6))
    cols, rows = draw(st.integers(0, width)), draw(st.integers(0, height))
    if draw(st.booleans()):
        cols = width
    far = draw(st.sampled_from([0, 0, 2**20, 2**35 // width]))
    shape = draw(st.sampled_from([(far + height, width), (1, far + height, width)]))
    if draw(st.booleans()) and rows <= 1:
        shape, height, far = (width,), 1, 0
    row, col = draw(st.integers(0, height - rows)), draw(st.integers(0, width - cols))
    return Block(draw(st.sampled_from(["w", "model.layers.0.mlp.up_proj.weight"])), shape, far + row, col, rows, cols)


@st.composite
def _partitions(draw):
    """No partition or one of either unit; few subspaces and many."""
    count = draw(st.one_of(st.integers(1, 5), st.sampled_from([64, 65536])))
    return draw(st.sampled_from([None, Partition(count, "element"), Partition(count, "tile")]))


@st.composite
def _members(draw, rank=None):
    """Members of every kind, dense ones for rank 0."""
    partition = draw(_partitions())
    subspace = 0 if partition is None else draw(st.integers(0, min(partition.count, 5) - 1))
    sigma = draw(st.one_of(st.floats(0.0, 1.0, width=32), st.sampled_from([1e-3, 3e4, 3e38])))
    numbers = (draw(WORDS), draw(st.integers(0, 99)), draw(st.integers(0, 99)))
    rank = draw(st.sampled_from([0, 0, 1, 2, 3])) if rank is None else rank
    return Member(*numbers, draw(st.sampled_from([1, -1])), sigma, partition, subspace, rank)


@st.composite
def _updates(draw, rank=None):
    """Updates of up to five directions, some of them twice in a row as in an antithetic pair."""
    partition, count = draw(_partitions()), draw(st.integers(0, 5))
    directions = tuple(draw(st.lists(st.integers(0, 3), min_size=count, max_size=count)))
    coefficients = tuple(draw(st.lists(st.floats(-10, 10, width=32), min_size=count, max_size=count)))
    most = 0 if partition is None else min(partition.count, 4) - 1
    subspaces = draw(st.lists(st.integers(0, most), min_size=count, max_size=count)) if partition else []
    rank = draw(st.sampled_from([0, 0, 1, 3])) if rank is None else rank
    return Update(draw(WORDS), draw(st.integers(0, 99)), directions, coefficients, partition, tuple(subspaces), rank)


@pytest.fixture(scope="session")
def blocks():
    """Strategy of small blocks."""
    return _blocks()


@pytest.fixture(scope="session")
def members():
    """Strategy of members, of a given rank or of any."""
    return _members


@pytest.fixture(scope="session")
def updates():
    """Strategy of updates, of a given rank or of any."""
    return _updates


@pytest.fixture(scope="session")
def weights():
    """Weights of mixed magnitude for a block, in a type, with unused elements between the rows."""

    def make(block, dtype=np.float32, gap=0, seed=7):
        rng = np.random.default_rng(seed)
        room = np.empty((block.rows, block.cols + gap), dtype)
        room.view(np.uint16 if room.itemsize == 2 else np.uint32)[:] = 0x5A5A
        values = rng.standard_normal((block.rows, block.cols)) * 10.0 ** rng.integers(-6, 3, (block.rows, block.cols))
        values = np.where(rng.random(values.shape) < 0.1, rng.choice(SPECIAL, values.shape), values)
        with np.errstate(over="ignore"):
            values = values.astype(np.float32)
            values = (values.view(np.uint32) >> np.uint32(16)).astype(dtype) if dtype == np.uint16 else values
            room[:, : block.cols] = values
        return room[:, : block.cols]

    return make


@pytest.fixture(scope="session")
def make_basis():
    """Makes a basis with random factors over tensors of these shapes."""

    def make(shapes, vectors=5, rank=3, seed=2):
        rng, parts = np.random.default_rng(seed), {}
        for name, shape in shapes.items():
            rows, cols = matrix_shape(shape)
            sizes = {"left": (rows, min(rank, rows)), "core": (vectors, min(rank, rows), min(rank, cols))}
            sizes["right"] = (min(rank, cols), cols)
            drawn = {label: rng.integers(-127, 128, size).astype(np.int8) for label, size in sizes.items()}
            parts[name] = BasisPart(**drawn, scale=(rng.random(vectors) * 1e-6).astype(np.float32))
        origin = BasisOrigin(method="random", architecture="none", fingerprint="0" * 16, seed=seed)
        return Basis.of(parts, rng.standard_normal((vectors, vectors)).astype(np.float32), origin)

    return make


@pytest.fixture(scope="session")
def cuts():
    """Strategy of ways to cut a block into a grid of smaller ones, with their rows and columns."""

    @st.composite
    def draw_cuts(draw, block):
        edges = [
            sorted({0, size, *draw(st.lists(st.integers(0, size), max_size=3))}) for size in (block.rows, block.cols)
        ]
        pieces = []
        for top, bottom in zip(edges[0][:-1], edges[0][1:], strict=True):
            for left, right in zip(edges[1][:-1], edges[1][1:], strict=True):
                place = (block.row + top, block.col + left, bottom - top, right - left)
                pieces.append((Block(block.tensor, block.shape, *place), slice(top, bottom), slice(left, right)))
        return pieces

    return draw_cuts


@pytest.fixture(scope="session")
def whole():
    """A whole tensor as a block."""

    def make(tensor, *shape):
        assert matrix_shape(shape)[0] >= 1
        return Block.whole(tensor, shape)

    return make

"""The parameter map of the vLLM engine, without vLLM: layouts are made up, read back, cut and counted."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from coevo.block import Block, matrix_shape
from coevo.engines.vllm.map import (
    UNCOVERED,
    Catalogue,
    Placed,
    assign_owners,
    merge_rows,
    merge_vector,
    pack,
    unpack,
)
from coevo.errors import ModelError

SHAPES = st.dictionaries(
    st.sampled_from(["a", "b.weight", "c", "d.1"]),
    st.one_of(st.tuples(st.integers(1, 5)), st.tuples(st.integers(1, 4), st.integers(1, 4))),
    min_size=1,
)


def coordinates(catalogue, block):
    """Coordinate of every element of a block, by the definition."""
    row = np.arange(block.rows, dtype=np.int64)[:, None] + block.row
    return catalogue.starts[block.tensor] + row * block.width + block.col + np.arange(block.cols, dtype=np.int64)


def read_back(catalogue, matrix, parameter="p"):
    """The blocks that are read off a matrix of coordinates."""
    if len(matrix) == 1:
        return merge_vector(matrix[0], parameter=parameter, catalogue=catalogue)
    return merge_rows(matrix[:, 0], matrix[:, -1], cols=matrix.shape[1], parameter=parameter, catalogue=catalogue)


def fill(catalogue, shape, placed):
    """A matrix of coordinates with the given blocks in it and nothing elsewhere."""
    matrix = np.full(shape, UNCOVERED, np.int64)
    for each in placed:
        rows = slice(each.row, each.row + each.block.rows)
        matrix[rows, each.col : each.col + each.block.cols] = coordinates(catalogue, each.block)
    return matrix


@given(SHAPES)
def test_coordinates_find_their_element(shapes):
    """Every coordinate leads back to its own tensor, row and column, and fits its digits."""
    catalogue = Catalogue(shapes)
    for number, (name, shape) in enumerate(shapes.items()):
        height, width = matrix_shape(shape)
        wanted = coordinates(catalogue, Block.whole(name, shape)).reshape(-1)
        tensor, row, col = catalogue.find(wanted)
        assert (tensor == number).all()
        assert (row * width + col == np.arange(height * width)).all()
        assert int(wanted.max()) < 256**catalogue.num_digits


@pytest.mark.parametrize(("size", "digits"), [(1, 1), (256, 1), (257, 2), (65536, 2), (65537, 3)])
def test_as_many_digits_as_needed(size, digits):
    """Digits to base 256 count coordinates from 0, so 256 elements still need one."""
    assert Catalogue({"a": (size,)}).num_digits == digits


@given(st.data())
def test_a_fused_and_sharded_matrix_is_read_back(data):
    """P10, P11: row pieces of one width below each other, with padding, are found where they were put."""
    width = data.draw(st.integers(1, 6))
    heights = data.draw(st.lists(st.integers(2, 5), min_size=1, max_size=4))
    catalogue = Catalogue({f"t{n}": (height, width) for n, height in enumerate(heights)})
    left = data.draw(st.integers(0, width - 1))
    cols = data.draw(st.integers(1, width - left))
    placed, row = [], 0
    for n, height in enumerate(heights):
        top = data.draw(st.integers(0, height - 1))
        block = Block(f"t{n}", (height, width), top, left, data.draw(st.integers(1, height - top)), cols)
        placed.append(Placed(block, "p", row, 0))
        row += block.rows + data.draw(st.integers(0, 2))
    matrix = fill(catalogue, (row + 1, cols), placed)
    found = read_back(catalogue, np.vstack([matrix, np.full((1, cols), UNCOVERED)]))
    assert (fill(catalogue, matrix.shape, found) == matrix).all()
    assert len(found) <= len(placed)


@given(st.lists(st.tuples(st.integers(1, 5), st.integers(0, 2)), min_size=1, max_size=4))
def test_a_fused_bias_is_read_back(sizes):
    """P11: vectors behind each other in one row, with padding, are found where they were put."""
    catalogue = Catalogue({f"b{n}": (size,) for n, (size, _) in enumerate(sizes)})
    placed, col = [], 0
    for n, (size, gap) in enumerate(sizes):
        placed.append(Placed(Block(f"b{n}", (size,), 0, 0, 1, size), "p", 0, col))
        col += size + gap
    assert read_back(catalogue, fill(catalogue, (1, col), placed)) == placed


@pytest.mark.parametrize(
    "change",
    [
        lambda matrix: matrix.T,
        lambda matrix: matrix[:, ::-1],
        lambda matrix: matrix.reshape(2, 8),
        lambda matrix: np.where(np.arange(4) == 3, UNCOVERED, matrix),
        lambda matrix: matrix + 1000,
        lambda matrix: np.where(np.arange(4) == 0, -7, matrix),
    ],
    ids=["transposed", "mirrored", "re-cut", "half empty", "outside", "nonsense"],
)
def test_other_layouts_are_refused_by_name(change):
    """P2: what is not made of rectangles is refused, and the message names the parameter."""
    catalogue = Catalogue({"a": (4, 4), "b": (3, 3)})
    matrix = change(coordinates(catalogue, Block.whole("a", (4, 4))))
    with pytest.raises(ModelError, match=r"served parameter 'layer\.x'"):
        read_back(catalogue, matrix, "layer.x")


def test_a_vector_outside_every_tensor_is_refused():
    """A coordinate that belongs to nothing is not passed over as padding."""
    with pytest.raises(ModelError, match=r"'layer\.bias'"):
        read_back(Catalogue({"a": (3,)}), np.array([[0, 1, 99]]), "layer.bias")


def shards(draw, name, shape, ranks):
    """A tensor dealt to ranks: by rows, by columns, or whole to each; some ranks share a shard."""
    height, width = matrix_shape(shape)
    across = draw(st.booleans())
    length = width if across else height
    pieces = draw(st.integers(1, min(ranks, length)))
    bounds = [length * piece // pieces for piece in range(pieces + 1)]
    for rank in range(ranks):
        piece = rank * pieces // ranks
        start, count = bounds[piece], bounds[piece + 1] - bounds[piece]
        if across:
            yield rank, Placed(Block(name, shape, 0, start, height, count), f"served {name}", 3, 1)
        else:
            yield rank, Placed(Block(name, shape, start, 0, count, width), f"served {name}", 3, 1)


@given(st.data(), SHAPES, st.integers(1, 4))
def test_every_element_has_one_owner_and_every_copy_is_kept(data, shapes, ranks):
    """P10: owned blocks cover each tensor exactly once; what a rank serves, and where, is what it was given."""
    given_blocks = [[] for _ in range(ranks)]
    for name, shape in shapes.items():
        for rank, placed in shards(data.draw, name, shape, ranks):
            given_blocks[rank].append(placed)
    catalogue = Catalogue(shapes)
    owned = {name: np.zeros(matrix_shape(shape), int) for name, shape in shapes.items()}
    for before, after in zip(given_blocks, assign_owners(given_blocks, catalogue), strict=True):
        assert spots(before) == spots(after)
        for placed in (placed for placed in after if placed.is_owned):
            block = placed.block
            owned[block.tensor][block.row : block.row + block.rows, block.col : block.col + block.cols] += 1
    assert all((count == 1).all() for count in owned.values())


def spots(blocks):
    """Which checkpoint element lies in which place of which parameter."""
    return sorted(
        (
            placed.parameter,
            placed.row + r,
            placed.col + c,
            placed.block.tensor,
            placed.block.row + r,
            placed.block.col + c,
        )
        for placed in blocks
        for r in range(placed.block.rows)
        for c in range(placed.block.cols)
    )


def test_ranks_that_cut_differently_are_cut_alike():
    """A whole copy on one rank and two halves on the others come out as the same two rectangles."""
    shape = (4, 2)
    whole = [Placed(Block.whole("a", shape), "p", 0, 0)]
    halves = [[Placed(Block("a", shape, top, 0, 2, 2), "p", 0, 0)] for top in (0, 2)]
    first, second, third = assign_owners([whole, *halves], Catalogue({"a": shape}))
    assert [placed.block for placed in first] == [second[0].block, third[0].block]
    assert [placed.row for placed in first] == [0, 2]
    assert [placed.is_owned for placed in (*first, *second, *third)] == [True, True, False, False]


@pytest.mark.parametrize("rows", [0, 1, 3])
def test_a_tensor_that_is_not_served_in_full_is_refused(rows):
    """P1: elements that no served parameter holds would silently stay behind; the message names tensor and count."""
    blocks = [Placed(Block("a.weight", (4, 2), 0, 0, rows, 2), "p", 0, 0)] if rows else []
    with pytest.raises(ModelError, match=rf"all 8 elements of checkpoint tensor 'a\.weight' .* found {2 * rows};"):
        assign_owners([blocks], Catalogue({"a.weight": (4, 2)}))


def test_placed_blocks_cross_process_borders():
    """P21: as plain values, whose tuples may come back as lists."""
    placed = Placed(Block("a", (4, 2), 1, 0, 2, 2), "p", 5, 6, is_owned=False)
    values = pack(placed)
    values["block"]["shape"] = list(values["block"]["shape"])
    assert unpack(values) == placed

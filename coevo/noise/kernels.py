"""Compiled kernels over a rectangle of one tensor: noise, perturbed copies, updates.

A kernel walks its rectangle in chunks of at most 2,048 elements whose scratch stays in the first-level cache; a
full-size noise array never exists. Every product and every sum is one IEEE fp32 operation. Arguments are checked by
the callers. The interpreter lock is released, so several threads may work on different rectangles; the result cannot
depend on how a tensor was cut.

What Python calls takes its `Elements`, `Field` and `Rounding` as plain tuples of the same contents.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from coevo.noise.compiled import Count, Floats, Lanes, Plain, Words, kernel
from coevo.noise.formats import Elements, shift, shift_at_random
from coevo.noise.philox import CHUNK, fill_lanes, look_up
from coevo.noise.subspaces import EACH, Cut, fill_subspaces, subspace_of_chunk
from coevo.noise.walking import Chunk, Grid, chunk_after, chunk_at

NOTHING = np.float32(-0.0)
"""What changes no number when it is added to it: +0.0 would turn -0.0 into +0.0."""


class Noise(NamedTuple):
    """The noise of N directions; with a rank r, direction k is left[k] · right[k] · root.

    Attributes:
        table: The normal of every lane, shape (65536,).
        keys: Philox keys, shape (N,).
        coefficients: What each direction is multiplied by, shape (N,).
        subspaces: The subspace of each direction, shape (N,).
        is_moved: Whether a subspace has a direction, shape (number of subspaces,).
        left: Shape (N, rows, r); r = 0 for dense noise.
        right: Shape (N, r, cols).
        root: 1/√r.
    """

    table: Floats
    keys: NDArray[np.uint64]
    coefficients: Floats
    subspaces: NDArray[np.int64]
    is_moved: NDArray[np.bool_]
    left: Floats
    right: Floats
    root: np.float32


class Field(NamedTuple):
    """The noise of a rectangle."""

    grid: Grid
    noise: Noise
    cut: Cut


class Rounding(NamedTuple):
    """How weights of 16 bits are rounded: to nearest, or by the bits of a Philox stream."""

    is_random: np.bool_
    key: np.uint64


class Scratch(NamedTuple):
    """Room for one chunk: random bits, noise, what is added to the weights, subspaces."""

    words: Words
    epsilon: Floats
    delta: Floats
    subspaces: Lanes


@kernel
def scratch() -> Scratch:
    """Fresh scratch."""
    words, subspaces = np.empty(CHUNK // 2, np.uint32), np.empty(CHUNK, np.uint16)
    return Scratch(words, np.empty(CHUNK, np.float32), np.empty(CHUNK, np.float32), subspaces)


@kernel
def fill_epsilon(epsilon: Floats, words: Words, field: Field, k: Count, chunk: Chunk) -> None:
    """epsilon[i] := ε of direction k at element i of the chunk."""
    noise = field.noise
    if noise.right.shape[1] == 0:
        lanes = fill_lanes(words, noise.keys[k], field.grid.tensor, chunk.position, chunk.length)
        look_up(epsilon, noise.table, lanes, np.float32(1.0))
        return
    epsilon[:] = 0.0
    for j in range(noise.right.shape[1]):
        factor = noise.left[k, chunk.row, j]
        source = noise.right[k, j, chunk.col : chunk.col + chunk.length]
        for i in range(chunk.length):
            epsilon[i] += factor * source[i]
    for i in range(chunk.length):
        epsilon[i] *= noise.root


@kernel
def named(field: Plain) -> Field:
    """The field of a plain tuple."""
    return Field(Grid(*field[0]), Noise(*field[1]), Cut(*field[2]))


@kernel
def write_run(out: Floats, table: Floats, key: np.uint64, tensor: np.uint64, start: np.uint64) -> None:
    """out[i] := dense ε at flat index start + i."""
    words, count = np.empty(CHUNK // 2, np.uint32), np.int64(out.shape[0])
    grid = Grid(np.int64(1), count, start, np.uint64(0), tensor, max(count, np.int64(1)))
    chunk = chunk_at(grid, 0, 0)
    while chunk.length > 0:
        lanes = fill_lanes(words, key, tensor, chunk.position, chunk.length)
        look_up(out[chunk.col : chunk.col + chunk.length], table, lanes, np.float32(1.0))
        chunk = chunk_after(grid, chunk)


@kernel
def write_normals(out: Floats, plain_field: Plain) -> None:
    """out[r, c] := ε of direction 0; there are no gaps between the rows of `out`."""
    words, field = np.empty(CHUNK // 2, np.uint32), named(plain_field)
    flat = out.reshape(out.size)
    chunk = chunk_at(field.grid, 0, 0)
    while chunk.length > 0:
        first = chunk.row * field.grid.cols + chunk.col
        fill_epsilon(flat[first : first + chunk.length], words, field, 0, chunk)
        chunk = chunk_after(field.grid, chunk)


@kernel
def write_member(target: Plain, source: Plain, plain_field: Plain, keeps: bool) -> None:
    """Write a perturbed copy of `source`.

    target := round(fl(source + fl(coefficient · ε))) on the subspace of direction 0; elsewhere round(source), which is
    left out for whole chunks if `target` holds it already (`keeps`).
    """
    out, base, field, room = Elements(*target), Elements(*source), named(plain_field), scratch()
    chunk = chunk_at(field.grid, 0, 0)
    while chunk.length > 0:
        subspace = subspace_of_chunk(field.cut, field.grid.tensor, chunk.position)
        is_inside = subspace == EACH or subspace == field.noise.subspaces[0]
        if is_inside or not keeps:
            delta = room.delta[: chunk.length]
            if is_inside:
                fill_displacement(delta, room, field, chunk)
            else:
                delta[:] = NOTHING
            shift(out, chunk.row * out.stride + chunk.col, base, chunk.row * base.stride + chunk.col, delta)
        chunk = chunk_after(field.grid, chunk)


@kernel
def fill_displacement(delta: Floats, room: Scratch, field: Field, chunk: Chunk) -> None:
    """delta[i] := fl(coefficient · ε) where element i is in the subspace of direction 0, and nothing elsewhere."""
    noise, scale = field.noise, field.noise.coefficients[0]
    if noise.right.shape[1] == 0:
        lanes = fill_lanes(room.words, noise.keys[0], field.grid.tensor, chunk.position, chunk.length)
        look_up(delta, noise.table, lanes, scale)
    else:
        fill_epsilon(delta, room.words, field, 0, chunk)
        for i in range(chunk.length):
            delta[i] *= scale
    if subspace_of_chunk(field.cut, field.grid.tensor, chunk.position) == EACH:
        fill_subspaces(room.subspaces, room.words, field.cut, field.grid.tensor, chunk)
        mine = np.uint16(noise.subspaces[0])
        for i in range(chunk.length):
            delta[i] = delta[i] if room.subspaces[i] == mine else NOTHING


@kernel
def add_directions(moved: Plain, plain_field: Plain, plain_rounding: Plain) -> None:
    """Move weights along a sum of directions.

    moved := round(fl(moved + Σₖ fl(coefficientₖ · εₖ))), the sum in fp32, from 0, in the order given, over the
    directions whose subspace holds the element; an element whose sum is zero, of either sign, stays as it is.
    """
    weights, field, rounding, room = Elements(*moved), named(plain_field), Rounding(*plain_rounding), scratch()
    chunk = chunk_at(field.grid, 0, 0)
    while chunk.length > 0:
        subspace = subspace_of_chunk(field.cut, field.grid.tensor, chunk.position)
        if subspace == EACH or field.noise.is_moved[subspace]:
            delta, start = room.delta[: chunk.length], chunk.row * weights.stride + chunk.col
            if subspace == EACH:
                sum_by_element(delta, room, field, chunk)
            else:
                sum_together(delta, room, field, chunk, subspace)
            for i in range(chunk.length):
                delta[i] = NOTHING if delta[i] == np.float32(0.0) else delta[i]
            if rounding.is_random:
                lanes = fill_lanes(room.words, rounding.key, field.grid.tensor, chunk.position, chunk.length)
                shift_at_random(weights, start, delta, lanes)
            else:
                shift(weights, start, weights, start, delta)
        chunk = chunk_after(field.grid, chunk)


@kernel
def sum_together(delta: Floats, room: Scratch, field: Field, chunk: Chunk, subspace: Count) -> None:
    """delta[i] := the sum over the directions of the one subspace that holds the chunk."""
    noise, epsilon, last = field.noise, room.epsilon[: chunk.length], -1
    delta[:] = 0.0
    for k in range(noise.keys.shape[0]):
        if noise.subspaces[k] == subspace:
            if last < 0 or noise.keys[k] != noise.keys[last]:
                fill_epsilon(epsilon, room.words, field, k, chunk)
            last, coefficient = k, noise.coefficients[k]
            for i in range(chunk.length):
                delta[i] += coefficient * epsilon[i]


@kernel
def sum_by_element(delta: Floats, room: Scratch, field: Field, chunk: Chunk) -> None:
    """delta[i] := the sum over the directions of element i's subspace."""
    noise, epsilon, last = field.noise, room.epsilon[: chunk.length], -1
    subspaces = room.subspaces[: chunk.length]
    fill_subspaces(subspaces, room.words, field.cut, field.grid.tensor, chunk)
    delta[:] = 0.0
    for k in range(noise.keys.shape[0]):
        if last < 0 or noise.keys[k] != noise.keys[last]:
            fill_epsilon(epsilon, room.words, field, k, chunk)
        last, coefficient, mine = k, noise.coefficients[k], np.uint16(noise.subspaces[k])
        for i in range(chunk.length):
            total = delta[i] + coefficient * epsilon[i]
            delta[i] = total if subspaces[i] == mine else delta[i]

# mypy: ignore-errors
# Triton's language has no types of its own; what it is given is checked in `triton_kernels`.
"""The noise in Triton's language: the same bits as the compiled kernels of the host.

A program works on `8 * COUNTERS` consecutive elements of one row, aligned to that many in the flat index of the tensor:
it lies in one tile and calls Philox once for every eight elements. Numbers of 64 bits are passed as signed ones.
"""

import triton
import triton.language as tl

FP32 = tl.constexpr(0)
BF16 = tl.constexpr(1)
FP16 = tl.constexpr(2)
WHOLE = tl.constexpr(0)
BY_ELEMENT = tl.constexpr(1)
BY_TILE = tl.constexpr(2)

_GOLDEN = tl.constexpr(0x9E3779B97F4A7C15)
_MIX_1 = tl.constexpr(0xBF58476D1CE4E5B9)
_MIX_2 = tl.constexpr(0x94D049BB133111EB)

_KEYS = ["tensor", "key", "cut_key", "count", "subspace", "rounding"]


@triton.jit
def unsigned(number):
    """A signed argument as the 64-bit word it stands for."""
    return tl.cast(number, tl.int64).to(tl.uint64, bitcast=True)


@triton.jit
def place(start, width, chunks, IS_ALIGNED: tl.constexpr, COUNTERS: tl.constexpr):
    """Row, first flat index, column of the first element (may be negative) of this program.

    Where rows begin at multiples of eight the compiler is told so, and reads and writes eight elements at a time.
    """
    program = tl.program_id(0).to(tl.int64)
    row = program // chunks
    in_row = program % chunks
    left = unsigned(start) + row.to(tl.uint64) * unsigned(width)
    first = (left // (8 * COUNTERS) + in_row.to(tl.uint64)) * (8 * COUNTERS)
    col = (first - left).to(tl.int64, bitcast=True)
    if IS_ALIGNED:
        col = col // 8 * 8
    return row, first, col


@triton.jit
def random_bits(key, tensor, first, COUNTERS: tl.constexpr):
    """The 16-bit lanes of 8 · COUNTERS elements from flat index `first` on, in order."""
    counters = (first >> 3) + tl.arange(0, COUNTERS).to(tl.uint64)
    low = (counters & 0xFFFFFFFF).to(tl.uint32)
    high = (counters >> 32).to(tl.uint32)
    name_low = (tensor & 0xFFFFFFFF).to(tl.uint32) + tl.zeros_like(low)
    name_high = (tensor >> 32).to(tl.uint32) + tl.zeros_like(low)
    w0, w1, w2, w3 = tl.philox(key, low, high, name_low, name_high)
    even = tl.interleave(tl.interleave(w0 & 0xFFFF, w2 & 0xFFFF), tl.interleave(w1 & 0xFFFF, w3 & 0xFFFF))
    odd = tl.interleave(tl.interleave(w0 >> 16, w2 >> 16), tl.interleave(w1 >> 16, w3 >> 16))
    return tl.interleave(even, odd)


@triton.jit
def mix(state):
    """Finaliser of splitmix64."""
    state = (state ^ (state >> 30)) * tl.cast(_MIX_1, tl.uint64)
    state = (state ^ (state >> 27)) * tl.cast(_MIX_2, tl.uint64)
    return state ^ (state >> 31)


@triton.jit
def hash_of(key, index):
    """Number `index` of the splitmix64 stream that starts at `key`."""
    return mix(key + (index + 1) * tl.cast(_GOLDEN, tl.uint64))


@triton.jit
def subspace_of_tile(key, tensor, count, first):
    """The subspace of the tile that holds an element: its hash times the number of subspaces, over 2⁶⁴."""
    word = hash_of(mix(unsigned(key) ^ mix(tensor)), first >> 12)
    low = ((word & 0xFFFFFFFF) * unsigned(count)) >> 32
    return (((word >> 32) * unsigned(count) + low) >> 32).to(tl.int32)


@triton.jit
def subspaces_by_element(key, tensor, count, first, COUNTERS: tl.constexpr):
    """The subspace of each element: its lane times the number of subspaces, over 2¹⁶."""
    lanes = random_bits(unsigned(key), tensor, first, COUNTERS)
    return ((lanes.to(tl.uint64) * unsigned(count)) >> 16).to(tl.int32)


@triton.jit
def epsilon_at(
    table, left, right, root, key, tensor, first, columns, cols, inside, RANK: tl.constexpr, COUNTERS: tl.constexpr
):
    """ε of the program's elements: by table, or Σⱼ left[j] · right[j, column] times `root`."""
    if RANK == 0:
        values = tl.load(table + random_bits(key, tensor, first, COUNTERS).to(tl.int32))
    else:
        values = tl.zeros([8 * COUNTERS], tl.float32)
        for j in tl.static_range(RANK):
            values = values + tl.load(left + j) * tl.load(right + j * cols + columns, inside, 0.0)
        values = values * root
    return values


@triton.jit
def load(weights, offsets, inside, KIND: tl.constexpr):
    """Weights as fp32; bfloat16 comes as its bits."""
    values = tl.load(weights + offsets, inside, 0)
    if KIND == BF16:
        return (values.to(tl.uint16, bitcast=True).to(tl.uint32) << 16).to(tl.float32, bitcast=True)
    return values.to(tl.float32)


@triton.jit
def store(weights, offsets, inside, values, carry, KIND: tl.constexpr, IS_RANDOM: tl.constexpr):
    """Round and write: to nearest, or to bfloat16 by the 16 random bits in `carry`."""
    if KIND == BF16:
        bits = values.to(tl.uint32, bitcast=True)
        if not IS_RANDOM:
            carry = ((bits >> 16) & 1) + 0x7FFF
        rounded = (bits + carry) >> 16
        rounded = tl.where((bits & 0x7FFFFFFF) > 0x7F800000, 0x7FC0, rounded)
        tl.store(weights + offsets, rounded.to(tl.uint16).to(tl.int16, bitcast=True), inside)
    elif KIND == FP16:
        tl.store(weights + offsets, values.to(tl.float16), inside)
    else:
        tl.store(weights + offsets, values, inside)


@triton.jit(do_not_specialize=["start", "width", "chunks", *_KEYS])
def write_member(
    out, base, out_stride, base_stride, start, width, cols, chunks, tensor, key, scale, table, left, right, root,
    cut_key, count, subspace,
    OUT: tl.constexpr, BASE: tl.constexpr, UNIT: tl.constexpr, RANK: tl.constexpr, KEEPS: tl.constexpr,
    IS_ALIGNED: tl.constexpr, COUNTERS: tl.constexpr,
):  # fmt: skip
    """Write base + scale · ε on the subspace and base elsewhere, or nothing there (KEEPS)."""
    row, first, col = place(start, width, chunks, IS_ALIGNED, COUNTERS)
    columns = col + tl.arange(0, 8 * COUNTERS)
    inside = (columns >= 0) & (columns < cols)
    name = unsigned(tensor)
    is_mine = True
    if UNIT == BY_TILE:
        is_mine = subspace_of_tile(cut_key, name, count, first) == subspace
    if is_mine:
        exact = load(base, row * base_stride + columns, inside, BASE)
        epsilon = epsilon_at(
            table, left + row * RANK, right, root, unsigned(key), name, first, columns, cols, inside, RANK, COUNTERS
        )
        moved = exact + epsilon * scale
        if UNIT == BY_ELEMENT:
            whose = subspaces_by_element(cut_key, name, count, first, COUNTERS)
            moved = tl.where(whose == subspace, moved, exact)
        store(out, row * out_stride + columns, inside, moved, 0, OUT, False)
    elif not KEEPS:
        exact = load(base, row * base_stride + columns, inside, BASE)
        store(out, row * out_stride + columns, inside, exact, 0, OUT, False)


@triton.jit(do_not_specialize=["start", "width", "chunks", "directions", *_KEYS])
def add_directions(
    weights, stride, start, width, cols, chunks, rows, tensor, keys, coefficients, subspaces, is_moved, directions,
    table, left, right, root, cut_key, count, rounding,
    KIND: tl.constexpr, UNIT: tl.constexpr, RANK: tl.constexpr, IS_RANDOM: tl.constexpr,
    IS_ALIGNED: tl.constexpr, COUNTERS: tl.constexpr,
):  # fmt: skip
    """Add Σₖ coefficientₖ · εₖ over the directions of each element's subspace, in the order given; round once."""
    row, first, col = place(start, width, chunks, IS_ALIGNED, COUNTERS)
    columns = col + tl.arange(0, 8 * COUNTERS)
    inside = (columns >= 0) & (columns < cols)
    name = unsigned(tensor)
    mine = 0
    is_any = True
    if UNIT == BY_TILE:
        mine = subspace_of_tile(cut_key, name, count, first)
        is_any = tl.load(is_moved + mine) != 0
    if is_any:
        whose = tl.zeros([8 * COUNTERS], tl.int32)
        if UNIT == BY_ELEMENT:
            whose = subspaces_by_element(cut_key, name, count, first, COUNTERS)
        total = tl.zeros([8 * COUNTERS], tl.float32)
        for k in range(directions):
            subspace = tl.load(subspaces + k)
            if UNIT != BY_TILE or subspace == mine:
                key = tl.load(keys + k).to(tl.uint64, bitcast=True)
                a, b = left + (k * rows + row) * RANK, right + k * cols * RANK
                epsilon = epsilon_at(table, a, b, root, key, name, first, columns, cols, inside, RANK, COUNTERS)
                moved = total + epsilon * tl.load(coefficients + k)
                total = tl.where(whose == subspace, moved, total) if UNIT == BY_ELEMENT else moved
        exact = load(weights, row * stride + columns, inside, KIND)
        # Zero is not added: it would turn -0.0 into +0.0.
        moved = tl.where(total != 0, exact + total, exact)
        carry = tl.zeros([8 * COUNTERS], tl.uint32)
        if IS_RANDOM:
            carry = random_bits(unsigned(rounding), name, first, COUNTERS)
        store(weights, row * stride + columns, inside, moved, carry, KIND, IS_RANDOM)


@triton.jit(do_not_specialize=["start", "width", "chunks", "key"])
def sum_hashes(
    sums, words, stride, start, width, cols, chunks, key,
    BITS: tl.constexpr, IS_ALIGNED: tl.constexpr, COUNTERS: tl.constexpr,
):  # fmt: skip
    """Write per program the sum modulo 2⁶⁴ of the hashes of its elements, as a signed number."""
    row, first, col = place(start, width, chunks, IS_ALIGNED, COUNTERS)
    steps = tl.arange(0, 8 * COUNTERS)
    columns = col + steps
    inside = (columns >= 0) & (columns < cols)
    word = tl.load(words + row * stride + columns, inside, 0).to(tl.int64).to(tl.uint64, bitcast=True)
    state = hash_of(unsigned(key), first >> 12)
    hashes = mix(
        (state + ((first & 4095) + steps.to(tl.uint64) + 1) * tl.cast(_GOLDEN, tl.uint64)) ^ (word & ((1 << BITS) - 1))
    )
    total = tl.sum(tl.where(inside, hashes, tl.zeros_like(hashes)).to(tl.int64, bitcast=True), 0)
    tl.store(sums + tl.program_id(0), total)


IS_INTERPRETED = not isinstance(write_member, triton.runtime.JITFunction)
"""Whether TRITON_INTERPRET was set when this module was loaded: kernels then run on the host, for tests."""

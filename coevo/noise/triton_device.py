"""Device functions of the noise in Triton: the same bits as the compiled kernels of the host.

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


@triton.jit
def unsigned(number):
    """A signed argument as the 64-bit word it stands for."""
    return tl.cast(number, tl.int64).to(tl.uint64, bitcast=True)


@triton.jit
def place(start, width, cols, chunks, COUNTERS: tl.constexpr):
    """Row, first flat index, column of the first element (may be negative) of this program."""
    program = tl.program_id(0).to(tl.int64)
    row = program // chunks
    in_row = program % chunks
    left = unsigned(start) + row.to(tl.uint64) * unsigned(width)
    first = (left // (8 * COUNTERS) + in_row.to(tl.uint64)) * (8 * COUNTERS)
    return row, first, (first - left).to(tl.int64, bitcast=True)


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
def subspace_of_tile(key, tensor, count, tile):
    """Subspace of one tile: its hash times the number of subspaces, over 2⁶⁴."""
    word = hash_of(mix(key ^ mix(tensor)), tile)
    low = ((word & 0xFFFFFFFF) * count) >> 32
    return (((word >> 32) * count + low) >> 32).to(tl.int32)


@triton.jit
def epsilon_at(table, left, right, root, key, tensor, first, columns, inside, RANK: tl.constexpr, COUNTERS: tl.constexpr):
    """ε of the program's elements: by table, or Σⱼ left[j] · right[column, j] times `root`."""
    if RANK == 0:
        values = tl.load(table + random_bits(key, tensor, first, COUNTERS).to(tl.int32))
    else:
        values = tl.zeros([8 * COUNTERS], tl.float32)
        for j in tl.static_range(RANK):
            values = values + tl.load(left + j) * tl.load(right + columns * RANK + j, inside, 0.0)
        values = values * root
    return values


@triton.jit
def load(cells, offsets, inside, KIND: tl.constexpr):
    """Weights as fp32; bfloat16 comes as its bits."""
    values = tl.load(cells + offsets, inside, 0)
    if KIND == BF16:
        return (values.to(tl.uint16, bitcast=True).to(tl.uint32) << 16).to(tl.float32, bitcast=True)
    return values.to(tl.float32)


@triton.jit
def store(cells, offsets, inside, values, carry, KIND: tl.constexpr, IS_RANDOM: tl.constexpr):
    """Round and write: to nearest, or to bfloat16 by the 16 random bits in `carry`."""
    if KIND == BF16:
        bits = values.to(tl.uint32, bitcast=True)
        if not IS_RANDOM:
            carry = ((bits >> 16) & 1) + 0x7FFF
        rounded = (bits + carry) >> 16
        rounded = tl.where((bits & 0x7FFFFFFF) > 0x7F800000, 0x7FC0, rounded)
        tl.store(cells + offsets, rounded.to(tl.uint16).to(tl.int16, bitcast=True), inside)
    elif KIND == FP16:
        tl.store(cells + offsets, values.to(tl.float16), inside)
    else:
        tl.store(cells + offsets, values, inside)

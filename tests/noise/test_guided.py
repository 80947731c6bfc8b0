import json
import math
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from safetensors.numpy import load_file, save_file

from coevo import noise
from coevo.block import Block
from coevo.errors import ModelError
from coevo.interfaces import Member, Partition, Update
from coevo.noise import oracle
from coevo.noise.basis import FORMAT, Basis, BasisOrigin, BasisPart, read_basis, write_basis

SHAPES = {"w": (7, 600), "stack": (2, 3, 40), "v": (33,)}
TYPES = [np.float32, np.uint16, np.float16]


@pytest.fixture(scope="module")
def basis(make_basis):
    """Five vectors of rank three over a matrix, a stack of matrices and a vector."""
    return make_basis(SHAPES)


@pytest.fixture(scope="module")
def orthonormal():
    """A basis whose rows are orthonormal by construction: four unit vectors, turned by an orthogonal matrix."""
    left, right = np.eye(6, 2, dtype=np.int8), np.eye(2, 9, dtype=np.int8)
    core = np.eye(4, dtype=np.int8).reshape(4, 2, 2)
    turn = np.linalg.qr(np.random.default_rng(3).standard_normal((4, 4)))[0].astype(np.float32)
    origin = BasisOrigin(method="random", architecture="none", fingerprint="", seed=0)
    return Basis.of({"w": BasisPart(left, core, right, np.ones(4, np.float32))}, turn, origin)


def member_of(basis, sigma=0.25, sign=-1):
    """A guided member."""
    return Member(2**63 + 5, 2, 3, sign, sigma, basis=basis.identity)


def update_of(basis, count=4):
    """A guided update of several directions."""
    coefficients = np.random.default_rng(count).normal(0, 0.1, count).astype(np.float32).tolist()
    return Update(2**63 + 5, 2, tuple(range(count)), tuple(coefficients), basis=basis.identity)


def places(draw):
    """A block of one of the tensors."""
    whole = Block.whole(*draw(st.sampled_from(list(SHAPES.items()))))
    row, col = draw(st.integers(0, whole.rows - 1)), draw(st.integers(0, whole.cols - 1))
    rows, cols = draw(st.integers(0, whole.rows - row)), draw(st.integers(0, whole.cols - col))
    return replace(whole, row=row, col=col, rows=rows, cols=cols)


@settings(max_examples=40)
@given(data=st.data(), dtype=st.sampled_from(TYPES), gap=st.sampled_from([0, 5]))
def test_members_and_updates_equal_the_oracle(basis, weights, data, dtype, gap):
    """Kernels and definition agree to the bit on any block of a matrix, a stack or a vector, in every type."""
    block = places(data.draw)
    base = weights(block, dtype, gap)
    out, member, update = np.full(base.shape, 77, dtype), member_of(basis), update_of(basis)
    noise.perturb(base, out, block, member, basis=basis)
    assert out.tobytes() == oracle.perturbed(base, block, member, np.dtype(dtype), basis).tobytes()
    rule = "stochastic" if dtype == np.uint16 else "nearest"
    moved = base.copy()
    noise.apply_update(moved, block, update, rule, basis=basis)
    assert moved.tobytes() == oracle.updated(base, block, update, rule, basis).tobytes()


@settings(max_examples=30)
@given(data=st.data())
def test_pieces_give_the_bits_of_the_whole(basis, cuts, data):
    """P10, P28: cut into any grid of blocks, members and updates are those of the whole tensor."""
    block = Block.whole(*data.draw(st.sampled_from(list(SHAPES.items()))))
    base = np.linspace(-1, 1, block.size, dtype=np.float32).reshape(block.rows, block.cols)
    whole, pieced, moved, parts = np.empty_like(base), np.empty_like(base), base.copy(), base.copy()
    member, update = member_of(basis), update_of(basis)
    noise.perturb(base, whole, block, member, basis=basis)
    noise.apply_update(moved, block, update, "master", basis=basis)
    for piece, down, across in data.draw(cuts(block)):
        noise.perturb(base[down, across], pieced[down, across], piece, member, basis=basis)
        noise.apply_update(parts[down, across], piece, update, "master", basis=basis)
    assert (pieced.tobytes(), parts.tobytes()) == (whole.tobytes(), moved.tobytes())


def test_threads_never_change_a_bit(basis):
    """P16: many threads at once give what one gives."""
    block, member = Block.whole("w", SHAPES["w"]), member_of(basis)
    base = np.zeros((block.rows, block.cols), np.float32)

    def one(_):
        out = np.empty_like(base)
        noise.perturb(base, out, block, member, basis=basis)
        return out.tobytes()

    with ThreadPoolExecutor(8) as pool:
        assert len(set(pool.map(one, range(32)))) == 1


def test_noise_lies_in_the_span_and_has_its_length(orthonormal):
    """ε = √(d/k) · Qᵀz: nothing outside the span, and the coordinates are z turned and scaled."""
    block, size = Block.whole("w", (6, 9)), 4
    for direction in range(5):
        member = replace(member_of(orthonormal, sigma=1.0, sign=1), direction=direction)
        out = np.empty((6, 9), np.float32)
        noise.perturb(np.zeros_like(out), out, block, member, basis=orthonormal)
        z = noise.normals(Block.whole("#guided", (size,)), member.run_key, member.step, direction)[0]
        expected = np.zeros((6, 9))
        expected[:2, :2] = (orthonormal.mixing.astype(np.float64).T @ z).reshape(2, 2) * math.sqrt(54 / size)
        np.testing.assert_allclose(out, expected, atol=1e-5)
        assert np.square(out, dtype=np.float64).sum() == pytest.approx(54 / size * np.square(z).sum(), rel=1e-5)


def test_an_update_sums_its_directions(basis):
    """An update is the sum of its members' noise, up to the rounding that the contract fixes; pairs may repeat."""
    block, update = Block.whole("w", SHAPES["w"]), update_of(basis, 6)
    summed, expected = np.zeros((7, 600), np.float32), np.zeros((7, 600))
    noise.apply_update(summed, block, update, "master", basis=basis)
    for direction, coefficient in zip(update.directions, update.coefficients, strict=True):
        out, member = np.empty_like(summed), replace(member_of(basis, 1.0, 1), direction=direction)
        noise.perturb(np.zeros_like(out), out, block, member, basis=basis)
        expected += coefficient * out.astype(np.float64)
    np.testing.assert_allclose(summed, expected, rtol=1e-4, atol=1e-5 * np.abs(expected).max())


def test_factors_make_up_the_member(basis):
    """ε = A · Bᵀ for the two factors of a guided member."""
    member, out = member_of(basis, 1.0, 1), np.empty((7, 600), np.float32)
    left, right = noise.factors("w", SHAPES["w"], member, basis=basis)
    noise.perturb(np.zeros_like(out), out, Block.whole("w", SHAPES["w"]), member, basis=basis)
    np.testing.assert_allclose(out, left.astype(np.float64) @ right.T, rtol=1e-4, atol=1e-5 * np.abs(out).max())


def test_a_member_in_place_is_put_back(basis):
    """What a guided member touches is everything, and it comes back to the bit."""
    block, member = Block.whole("w", SHAPES["w"]), member_of(basis)
    values = np.random.default_rng(1).standard_normal((7, 600)).astype(np.float32)
    before, saved = values.tobytes(), noise.save_touched(values, block, member)
    noise.perturb(values, values, block, member, basis=basis)
    assert values.tobytes() != before
    noise.restore_touched(values, block, member, saved)
    assert values.tobytes() == before


def test_another_basis_is_refused(basis, make_basis):
    """No member or update is served by a basis it was not made for, by none, or by one it does not need."""
    block, other = Block.whole("w", SHAPES["w"]), make_basis(SHAPES, seed=9)
    base, out = np.zeros((2, 7, 600), np.float32)
    with pytest.raises(ValueError, match=f"{basis.identity:016x}, got basis {other.identity:016x}"):
        noise.perturb(base, out, block, member_of(basis), basis=other)
    with pytest.raises(ValueError, match="made for, got none"):
        noise.apply_update(out, block, update_of(basis), "master")
    with pytest.raises(ValueError, match="made for, none, got basis"):
        noise.perturb(base, out, block, Member(1, 2, 3, 1, 0.1), basis=basis)
    with pytest.raises(ModelError, match="'elsewhere'"):
        noise.perturb(base, out, Block.whole("elsewhere", (7, 600)), member_of(basis), basis=basis)
    with pytest.raises(ModelError, match="another model"):
        noise.perturb(*np.zeros((2, 600, 7), np.float32), Block.whole("w", (600, 7)), member_of(basis), basis=basis)


@pytest.mark.parametrize("changes", [{"rank": 1}, {"partition": Partition(2)}])
def test_guided_noise_has_neither_rank_nor_subspaces(basis, changes):
    """Both have no meaning in the span of a basis."""
    out = np.zeros((7, 600), np.float32)
    with pytest.raises(ValueError, match="neither a rank nor a partition"):
        noise.perturb(out.copy(), out, Block.whole("w", SHAPES["w"]), replace(member_of(basis), **changes), basis=basis)


def test_a_file_gives_the_same_basis(basis, tmp_path):
    """Written and read again, everything is the same, and the same basis gives the same bytes."""
    for name in ("one", "two"):
        write_basis(tmp_path / name, basis)
    again = read_basis(tmp_path / "one")
    assert (again.identity, again.origin, again.root) == (basis.identity, basis.origin, basis.root)
    assert (again.vectors, again.elements, again.rank) == (5, 7 * 600 + 240 + 33, 3)
    assert (tmp_path / "one").read_bytes() == (tmp_path / "two").read_bytes()


def test_the_identity_is_that_of_the_numbers(basis):
    """One changed number, or a tensor of another name, is another basis; how it was made is not part of it."""
    parts = dict(basis.parts)
    renamed = {**parts, "x": parts["w"]}
    del renamed["w"]
    core = parts["w"].core.copy()
    core[0, 0, 0] ^= 1
    others = [renamed, {**parts, "w": parts["w"]._replace(core=core)}]
    found = {Basis.of(each, basis.mixing, basis.origin).identity for each in others}
    assert len(found | {basis.identity}) == 3
    told = basis.origin.model_copy(update={"method": "gradients"})
    assert Basis.of(parts, basis.mixing, told).identity == basis.identity


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"w#left": None}, "'w' lacks its left"),
        ({"w#middle": np.zeros(3, np.int8)}, "got 'w#middle'"),
        ({"stray": np.zeros(3, np.int8)}, "got 'stray'"),
        ({"mixing": None}, "k > 0, got float32"),
        ({"mixing": np.zeros((0, 0), np.float32)}, "k > 0"),
        ({"mixing": np.full((5, 5), np.nan, np.float32)}, "finite numbers in the mixing"),
        ({"w#scale": np.full(5, np.nan, np.float32)}, "finite scales for tensor 'w'"),
        ({"w#scale": np.ones(4, np.float32)}, "5 scales for tensor 'w'"),
        ({"w#core": np.zeros((5, 2, 3), np.int8)}, "a core of shape"),
        ({"w#left": np.zeros((7, 3), np.float32)}, "left of tensor 'w' as int8"),
    ],
)
def test_a_damaged_file_is_refused(basis, tmp_path, change, words):
    """Whatever is missing, unknown or of another shape is one line that names the file and the tensor."""
    file = tmp_path / "basis.safetensors"
    write_basis(file, basis)
    arrays = {name: array for name, array in {**load_file(file), **change}.items() if array is not None}
    save_file(arrays, file, {FORMAT: basis.origin.model_dump_json()})
    with pytest.raises(ModelError, match=words) as caught:
        read_basis(file)
    assert str(file) in str(caught.value)
    assert "\n" not in str(caught.value)


def test_other_files_are_refused(basis, tmp_path):
    """A missing file, one of another kind and one without or with a wrong origin are no bases."""
    file = tmp_path / "basis.safetensors"
    with pytest.raises(ModelError, match="no safetensors file"):
        read_basis(file)
    file.write_text("{}")
    with pytest.raises(ModelError, match="no safetensors file"):
        read_basis(file)
    for told, words in (({}, "found none"), ({FORMAT: json.dumps({"schema_version": 1})}, "origin, method")):
        save_file({"mixing": basis.mixing}, file, told)
        with pytest.raises(ModelError, match=words):
            read_basis(file)

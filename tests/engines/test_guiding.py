"""Scope guided: the basis is found, fits, and serves the same bits in every mode, type and cut."""

import shutil

import numpy as np
import pytest

from coevo.block import Block
from coevo.engines import cells
from coevo.engines.cells import Served, make_cells, whole_cells
from coevo.engines.checkpoint import read_headers, write_checkpoint
from coevo.engines.exporting import export_folder
from coevo.engines.guiding import BASIS_FILE, load_guide
from coevo.engines.inspection import inspect_model
from coevo.engines.loading import inspect_folder
from coevo.engines.policy import WeightPolicy
from coevo.engines.replay import open_weights
from coevo.engines.scope import names_in_scope
from coevo.engines.storage import STORAGE
from coevo.engines.torch_worker import serve_model
from coevo.engines.weights import Weights
from coevo.errors import ConfigError, ModelError
from coevo.interfaces import Member, Update

SHAPES = {"a": (70, 10), "b.weight": (33,), "fixed": (3, 41), "large": (3, 4099)}
GUIDED = {name: SHAPES[name] for name in ("a", "b.weight", "large")}
KEPT_IN = [("float32", "master"), ("bfloat16", "master"), ("bfloat16", "stochastic"), ("float16", "nearest")]


@pytest.fixture(scope="module")
def tensors(tmp_path_factory):
    """The headers of a small fp32 checkpoint."""
    folder, rng = tmp_path_factory.mktemp("weights"), np.random.default_rng(1)
    arrays = {name: rng.normal(0, 0.1, shape).astype(np.float32) for name, shape in SHAPES.items()}
    write_checkpoint(folder / "model.safetensors", arrays, SHAPES)
    return read_headers(folder)


@pytest.fixture(scope="module")
def basis(tmp_path_factory, write_random_basis):
    """A basis over all tensors but one."""
    return write_random_basis(tmp_path_factory.mktemp("basis") / BASIS_FILE, GUIDED)


@pytest.fixture
def guided_llama(tiny_llama, tmp_path, write_random_basis):
    """A small Llama with a basis beside its weights, and that basis."""
    folder = tmp_path / "model"
    shutil.copytree(tiny_llama, folder)
    shapes = {name: info.shape for name, info in inspect_folder(folder).tensors.items()}
    return folder, write_random_basis(folder / BASIS_FILE, shapes)


def steps(basis):
    """A member and an update in the span of a basis."""
    member = Member(77, 0, 1, -1, 0.3, basis=basis.identity)
    return member, Update(77, 3, (5, 1), (0.5, -0.125), basis=basis.identity)


def snapshot(arrays):
    """The bits of every tensor."""
    return {name: array.tobytes() for name, array in arrays.items()}


@pytest.mark.parametrize("kept", KEPT_IN, ids="-".join)
def test_modes_and_threads_never_change_a_bit(tensors, basis, kept, monkeypatch):
    """P16: every mode, cut into small pieces or not, gives the same; the base comes back; only the basis's move."""
    dtype, rule = kept
    member, update = steps(basis)
    found = set()
    for mode, threads, piece in [("copy", 1, 1 << 20), ("host", 4, 100), ("tiles", 2, 4096), ("mapped", 3, 999)]:
        if mode == "tiles" and kept == ("bfloat16", "master"):
            continue
        monkeypatch.setattr(cells, "PIECE", piece)
        served = {name: np.empty(info.size, STORAGE[dtype]) for name, info in tensors.items()}
        policy = WeightPolicy(scope="guided", update_rule=rule, restore=mode)
        weights = Weights(whole_cells(served, tensors, policy, basis), threads)
        before = snapshot(served)
        weights.activate(member)
        perturbed = snapshot(served)
        weights.activate(None)
        assert snapshot(served) == before
        weights.commit(update)
        moved = snapshot(served)
        assert {name for name in SHAPES if perturbed[name] != before[name]} == GUIDED.keys()
        assert {name for name in SHAPES if moved[name] != before[name]} == GUIDED.keys()
        found.add(str((perturbed, moved, weights.fingerprint())))
    assert len(found) == 1


def test_shards_are_served_like_the_whole(tensors, basis):
    """P10: column shards in a wider array have the noise of the whole tensor."""
    policy, (member, update) = WeightPolicy(scope="guided"), steps(basis)
    whole, wide = np.empty((70, 10), np.float32), np.zeros((70, 32), np.float32)
    halves = [Block("a", (70, 10), 0, 0, 70, 3), Block("a", (70, 10), 0, 3, 70, 7)]
    served = [[Served(Block.whole("a", (70, 10)), whole)]]
    served.append([Served(halves[0], wide[:, 20:23]), Served(halves[1], wide[:, 4:11])])
    for shards in served:
        weights = Weights(make_cells(shards, tensors, policy, basis))
        weights.commit(update)
        weights.activate(member)
    assert np.array_equal(np.hstack([wide[:, 20:23], wide[:, 4:11]]), whole)


def test_a_device_without_kernels_serves_the_same_bits(tensors, basis):
    """Made on the host and copied over, members and updates are those of the host."""
    import torch

    from coevo.engines.torch_cells import StagedCell

    policy, (member, update) = WeightPolicy(scope="guided"), steps(basis)
    served = {"a": np.empty(700, np.float32)}
    far = torch.empty(70, 10)
    block = Block.whole("a", (70, 10))
    staged = Weights([StagedCell(block, far, tensors["a"], policy, moves=True, basis=basis)])
    host = Weights(whole_cells(served, tensors, policy, basis))
    for weights in (host, staged):
        weights.commit(update)
        weights.activate(member)
    assert far.numpy().tobytes() == served["a"].tobytes()


def test_decoders_and_replay_reach_the_same_weights(guided_llama):
    """The lean decoder, transformers and a replay find the basis beside the model and give the same bits."""
    from coevo.engines.torch_worker import serve_with_transformers

    folder, basis = guided_llama
    policy, (member, update) = WeightPolicy(scope="guided"), steps(basis)
    lean = serve_model(folder, chat=False, device="cpu", threads=1, policy=policy)
    full = serve_with_transformers(inspect_folder(folder), chat=False, device="cpu", threads=1, policy=policy)
    replayed, found = open_weights(folder, policy), set()
    for weights in (lean.weights, full.weights, replayed.weights):
        start = weights.fingerprint()
        weights.activate(member)
        assert weights.fingerprint() == start
        weights.commit(update)
        assert weights.fingerprint() != start
        found.add(weights.fingerprint())
    assert len(found) == 1
    assert replayed.basis is not None
    assert replayed.basis.identity == basis.identity


def test_a_basis_elsewhere_is_named(guided_llama, tiny_llama):
    """A policy may name the file; it goes with scope guided alone."""
    folder, basis = guided_llama
    policy = WeightPolicy(scope="guided", basis=str(folder / BASIS_FILE))
    assert load_guide(policy, inspect_folder(tiny_llama)).identity == basis.identity
    assert load_guide(WeightPolicy(), inspect_folder(tiny_llama)) is None
    with pytest.raises(ValueError, match="a basis goes with scope guided, got scope 'full'"):
        WeightPolicy(basis="file")


def test_what_is_missing_or_does_not_fit_is_said(tiny_llama, grouped_llama, guided_llama, write_random_basis):
    """A missing file says how to make one; one for another model names the tensor."""
    with pytest.raises(ModelError, match=r"guided\.basis, found none; name one by --basis, or build it"):
        serve_model(tiny_llama, chat=False, device="cpu", threads=1, policy=WeightPolicy(scope="guided"))
    policy = WeightPolicy(scope="guided", basis=str(guided_llama[0] / BASIS_FILE))
    with pytest.raises(ModelError, match=r"'model.layers.0.self_attn.k_proj.weight', got \(32, 32\).*another model"):
        open_weights(grouped_llama, policy)
    write_random_basis(guided_llama[0] / "strange", {"elsewhere": (3, 4)})
    with pytest.raises(ModelError, match="covers tensor 'elsewhere', which it has not"):
        open_weights(tiny_llama, WeightPolicy(scope="guided", basis=str(guided_llama[0] / "strange")))
    with pytest.raises(ConfigError, match="expected scope linear, got guided"):
        serve_model(guided_llama[0], chat=False, device="cpu", threads=1, policy=WeightPolicy(scope="guided"), rank=1)


def test_a_scope_without_a_basis_names_nothing():
    """The scope is that of the basis, and without one there is none."""
    assert names_in_scope("guided", SHAPES, GUIDED) == list(GUIDED)
    with pytest.raises(ConfigError, match="scope 'guided' to name at least one"):
        names_in_scope("guided", SHAPES)


def test_an_inspection_tells_of_the_basis(guided_llama, tiny_llama):
    """Number of vectors, rank and covered tensors of the basis beside a model; nothing where there is none."""
    folder, basis = guided_llama
    facts = inspect_model(inspect_folder(folder), scope="guided", sigma=1e-3)
    assert facts.guide is not None
    assert (facts.guide.vectors, facts.guide.rank, facts.guide.method) == (5, 3, "random")
    assert facts.guide.identity == f"{basis.identity:016x}"
    assert (facts.guide.elements, facts.num_moving) == (facts.num_parameters, facts.num_parameters)
    assert facts.guide.num_bytes == (folder / BASIS_FILE).stat().st_size
    assert inspect_model(inspect_folder(tiny_llama), sigma=1e-3).guide is None
    with pytest.raises(ModelError, match="found none"):
        inspect_model(inspect_folder(tiny_llama), scope="guided", sigma=1e-3)


def test_a_basis_is_no_weight_file(guided_llama, tmp_path):
    """It is not called as weights are, which vLLM would take it for; an exported folder has it too."""
    folder, _ = guided_llama
    assert {file.name for file in folder.glob("*.safetensors")} == {"model.safetensors"}
    export_folder(inspect_folder(folder), tmp_path / "export", open_weights(folder).tensors())
    assert (tmp_path / "export" / BASIS_FILE).read_bytes() == (folder / BASIS_FILE).read_bytes()

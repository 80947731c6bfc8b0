"""The probe of the vLLM engine on models made of plain torch parameters with loaders of every kind."""

import numpy as np
import pytest
import torch

from coevo.engines.checkpoint import read_headers, write_checkpoint
from coevo.engines.storage import BFLOAT16, to_storage
from coevo.engines.vllm.map import Catalogue, assign_owners
from coevo.engines.vllm.probe import read_map, served_parameters
from coevo.errors import ModelError

WIDTH, HEIGHT, KEYS, VOCABULARY = 8, 12, 4, 10
SHAPES = {
    "embed.weight": (VOCABULARY, WIDTH),
    "q.weight": (HEIGHT, WIDTH),
    "k.weight": (KEYS, WIDTH),
    "q.bias": (HEIGHT,),
    "k.bias": (KEYS,),
    "o.weight": (WIDTH, HEIGHT),
    "norm.weight": (WIDTH,),
    "scale": (),
}


class Toy(torch.nn.Module):
    """One rank of two of a small model that fuses, shards and pads as vLLM does.

    Args:
        rank: 0 or 1: which half of the embedding's rows and of the output's columns; heads are split, keys replicated.
        dtype: Type that is served.
        flaw: What the loader does that it should not.
    """

    def __init__(self, rank=0, dtype=torch.float32, flaw=""):
        super().__init__()
        self.rank, self.flaw, half = rank, flaw, VOCABULARY // 2
        self.embed = self.make(half + 3, WIDTH, dtype=dtype)
        self.qk = self.make(HEIGHT // 2 + KEYS, WIDTH, dtype=dtype)
        self.qk_bias = self.make(HEIGHT // 2 + KEYS, dtype=dtype)
        self.o = self.make(WIDTH, HEIGHT // 2, dtype=dtype)
        self.norm = self.make(WIDTH, dtype=dtype)
        self.scale = torch.nn.Parameter(torch.ones((), dtype=dtype))
        if flaw == "shadow":
            self.shadow = self.make(3, 3, dtype=dtype)
        if flaw == "packed":
            self.packed = self.make(0, dtype=dtype)
        if flaw == "quantised":
            self.quantised = torch.nn.Parameter(torch.ones(3, 3).to(torch.float8_e4m3fn), requires_grad=False)
        self.head = self.embed  # tied: the same parameter under a second name

    @staticmethod
    def make(*shape, dtype):
        """A parameter that nothing has been loaded into."""
        return torch.nn.Parameter(torch.full(shape, 7.0, dtype=dtype))

    def load_weights(self, pairs):
        """Copy every tensor's share to its place, padding rows to zero."""
        with torch.no_grad():
            for name, tensor in pairs:
                self.load(name, self.spoil(name, tensor))

    def load(self, name, tensor):
        """Copy this rank's share of one tensor."""
        half, heads, columns = (count // 2 for count in (VOCABULARY, HEIGHT, HEIGHT))
        mine = lambda count: slice(self.rank * count, (self.rank + 1) * count)  # noqa: E731
        if name == "embed.weight":
            self.embed[:half].copy_(tensor[mine(half)])
            self.embed[half:].fill_(0)
        elif name.startswith("q."):
            (self.qk if tensor.ndim > 1 else self.qk_bias)[:heads].copy_(tensor[mine(heads)])
        elif name.startswith("k."):
            (self.qk if tensor.ndim > 1 else self.qk_bias)[heads:].copy_(tensor)
        elif name == "o.weight":
            self.o.copy_(tensor[:, mine(columns)])
        else:
            getattr(self, name.split(".")[0]).copy_(tensor)

    def spoil(self, name, tensor):
        """What a loader with a flaw makes of a tensor."""
        if self.flaw == "scaled" and name == "o.weight":
            return tensor * 2
        if self.flaw == "transposed" and name == "q.weight":
            return tensor.reshape(WIDTH, HEIGHT).T
        if self.flaw == "swapped" and name == "q.weight":
            tensor = tensor.clone()
            tensor[2, 1:3] = tensor[2, [2, 1]]
        if self.flaw == "shifted" and name == "norm.weight":
            return tensor + 1
        return tensor


@pytest.fixture(params=["F32", "BF16"])
def checkpoint(request, tmp_path):
    """The tensors of a checkpoint, in two stored types: vectors of equal values as well as random matrices."""
    rng = np.random.default_rng(3)
    arrays = {name: np.ones(shape, np.float32) for name, shape in SHAPES.items()}
    arrays |= {n: rng.normal(0, 0.1, shape).astype(np.float32) for n, shape in SHAPES.items() if len(shape) > 1}
    if request.param == "BF16":
        arrays = {name: to_storage(array.reshape(1, -1), BFLOAT16) for name, array in arrays.items()}
    write_checkpoint(tmp_path / "model.safetensors", arrays, SHAPES)
    return read_headers(tmp_path)


def loaded(checkpoint, **options):
    """A toy model with the checkpoint's weights, as a server has them before it is probed."""
    model = Toy(**options)
    tensors = {name: torch.from_numpy(info.read()).view(info.shape) for name, info in checkpoint.items()}
    model.load_weights(tensors.items())
    return model


def probe(model, checkpoint):
    """The proven map."""
    return read_map(model.load_weights, served_parameters(model), checkpoint)


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16, torch.float16])
def test_the_map_of_fused_sharded_padded_and_tied_layers(checkpoint, dtype):
    """P10, P11, P12: both ranks' maps cover the checkpoint once, and the weights are what they were before."""
    ranks = []
    for rank in (0, 1):
        model = loaded(checkpoint, rank=rank, dtype=dtype)
        before = {name: parameter.clone() for name, parameter in model.named_parameters()}
        ranks.append(probe(model, checkpoint))
        assert all(torch.equal(parameter, before[name]) for name, parameter in model.named_parameters())
    cut = assign_owners(ranks, Catalogue(SHAPES))
    served = [[(p.block.tensor, p.parameter, p.row, p.col, p.is_owned) for p in rank] for rank in cut]
    assert served[0] == [
        ("embed.weight", "embed", 0, 0, True),
        ("q.weight", "qk", 0, 0, True),
        ("k.weight", "qk", 6, 0, True),
        ("q.bias", "qk_bias", 0, 0, True),
        ("k.bias", "qk_bias", 0, 6, True),
        ("o.weight", "o", 0, 0, True),
        ("norm.weight", "norm", 0, 0, True),
        ("scale", "scale", 0, 0, True),
    ]
    shared = {"k.weight", "k.bias", "norm.weight", "scale"}
    assert served[1] == [(*each[:4], each[0] not in shared) for each in served[0]]


@pytest.mark.parametrize(
    ("flaw", "message"),
    [
        ("scaled", "'o'"),
        ("transposed", "'qk'"),
        ("swapped", r"'qk' .* 'q\.weight'"),
        ("shifted", "'norm'"),
        ("shadow", "'shadow' gets none"),
        ("packed", "packed or dropped the parameter 'packed'"),
        ("quantised", "float8_e4m3fn for the parameter 'quantised'"),
    ],
)
def test_what_cannot_be_followed_is_refused_by_name(checkpoint, flaw, message):
    """P1, P2, P19: values changed or moved on loading, derived copies, dropped and quantised weights."""
    model = loaded(checkpoint, flaw=flaw)
    with pytest.raises(ModelError, match=message):
        probe(model, checkpoint)


def test_a_layout_that_changes_after_loading_is_refused(checkpoint):
    """P2: rows that a server reorders once it has loaded them are told by what it held before."""
    model = loaded(checkpoint)
    with torch.no_grad():
        model.qk.copy_(model.qk.flip(0))
    with pytest.raises(ModelError, match="'qk' to be served as it was loaded"):
        probe(model, checkpoint)


def test_padded_rows_in_memory_are_served_in_place(checkpoint):
    """P28: rows that lie apart in memory are a matrix all the same; columns that do are refused."""
    model = loaded(checkpoint)
    model.o.data = torch.zeros(WIDTH, HEIGHT)[:, : HEIGHT // 2].copy_(model.o.data)
    model.norm.data = torch.zeros(WIDTH, 2)[:, 0].copy_(model.norm.data)
    with pytest.raises(ModelError, match=r"strides \(2,\) for the parameter 'norm'"):
        served_parameters(model)
    model.norm.data = model.norm.data.contiguous()
    assert served_parameters(model)["o"].stride() == (HEIGHT, 1)


def test_a_model_without_weights_is_refused():
    """There is nothing to move."""
    with pytest.raises(ModelError, match="vLLM serves none"):
        served_parameters(torch.nn.Module())

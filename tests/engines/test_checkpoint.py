import json

import numpy as np
import pytest

from coevo.engines.checkpoint import read_headers, write_checkpoint
from coevo.engines.exporting import export_folder
from coevo.engines.loading import inspect_folder
from coevo.errors import ModelError


def write_raw(file, dtype, shape, content):
    """A safetensors file with one tensor "w", put together by hand."""
    header = json.dumps({"w": {"dtype": dtype, "shape": shape, "data_offsets": [0, len(content)]}}).encode()
    file.write_bytes(len(header).to_bytes(8, "little") + header + content)


def test_written_tensors_are_read_back_bit_for_bit(tmp_path):
    """What is written is found under its name, with its shape and its bits."""
    values = np.array([1.5, -0.0, 3e-42, np.float32(1) / 3, 7, 8], np.float32)
    write_checkpoint(tmp_path / "model.safetensors", {"w": values}, {"w": (2, 3)})
    info = read_headers(tmp_path)["w"]
    assert info.shape == (2, 3)
    assert info.read().tobytes() == values.tobytes()


@pytest.mark.parametrize(("dtype", "bits"), [("BF16", [0x3FC0, 0xC000, 0x0001]), ("F16", [0x3E00, 0xC000, 0x0001])])
def test_half_precision_widens_without_loss(tmp_path, dtype, bits):
    """Both 16-bit types come as the fp32 number of the same value, the smallest subnormal included."""
    write_raw(tmp_path / "model.safetensors", dtype, [3], np.array(bits, "<u2").tobytes())
    smallest = {"BF16": 2.0**-133, "F16": 2.0**-24}[dtype]
    assert read_headers(tmp_path)["w"].read().tolist() == [1.5, -2.0, smallest]


@pytest.mark.parametrize("dtype", ["F8_E4M3", "I8", "U8", "I32", "F64"])
def test_weights_of_other_types_are_refused_by_name(tmp_path, dtype):
    """A quantised (or double precision) tensor cannot be perturbed exactly; the message names it and its file."""
    write_raw(tmp_path / "model.safetensors", dtype, [4], bytes(32))
    with pytest.raises(ModelError, match=rf"got {dtype} for tensor 'w' in .*model\.safetensors"):
        read_headers(tmp_path)


def test_integer_bookkeeping_is_no_weight(tmp_path):
    """Position counters stored beside the weights are left out."""
    write_raw(tmp_path / "model.safetensors", "I64", [1], bytes(8))
    assert read_headers(tmp_path) == {}


def test_shards_are_found_through_the_index(tmp_path):
    """With an index, its files are read and others are not."""
    for name in ("a", "b", "stray"):
        write_checkpoint(tmp_path / f"{name}.safetensors", {name: np.ones(2, np.float32)}, {name: (2,)})
    index = {"weight_map": {"a": "a.safetensors", "b": "b.safetensors"}}
    (tmp_path / "model.safetensors.index.json").write_text(json.dumps(index))
    assert sorted(read_headers(tmp_path)) == ["a", "b"]


@pytest.mark.parametrize("target", ["missing.safetensors", "../elsewhere.safetensors"])
def test_an_index_that_leads_nowhere_is_refused(tmp_path, target):
    """A shard that is missing, or outside the folder, is named."""
    (tmp_path / "model.safetensors.index.json").write_text(json.dumps({"weight_map": {"a": target}}))
    with pytest.raises(ModelError, match=f"expected the weight file '{target}'"):
        read_headers(tmp_path)


@pytest.mark.parametrize("content", [b"", b"\xff" * 8, (5).to_bytes(8, "little") + b"{...}"])
def test_a_malformed_file_is_refused(tmp_path, content):
    """Something else under the name of a safetensors file is a message, not a traceback."""
    (tmp_path / "model.safetensors").write_bytes(content)
    with pytest.raises(ModelError, match="is not a safetensors file"):
        read_headers(tmp_path)


def test_a_truncated_file_is_refused_when_read(tmp_path):
    """A download that stopped half-way names the tensor it ends in."""
    write_raw(tmp_path / "model.safetensors", "F32", [100], bytes(12))
    with pytest.raises(ModelError, match="ends inside tensor 'w'"):
        read_headers(tmp_path)["w"].read()


def test_pickled_weights_are_refused(tmp_path):
    """Only safetensors are read; a pickle is named with the way out."""
    (tmp_path / "pytorch_model.bin").write_bytes(b"")
    with pytest.raises(ModelError, match=r"got pickled ones \(pytorch_model.bin\).*convert"):
        read_headers(tmp_path)


def test_an_export_leaves_stale_weights_behind(make_model, tmp_path):
    """Weights of before in other formats, and indices of shards, do not come along."""
    source = make_model()
    for name in ("pytorch_model.bin", "model.safetensors.index.json", "pytorch_model.bin.index.json", "model.gguf"):
        (source / name).write_text("{}")
    (source / "model.safetensors.index.json").unlink()
    folder = inspect_folder(source)
    export_folder(folder, tmp_path / "out", {name: info.read() for name, info in folder.tensors.items()})
    written = {file.name for file in (tmp_path / "out").iterdir()}
    assert written == {"config.json", "coevo.json", "tokenizer.json", "tokenizer_config.json", "model.safetensors"}

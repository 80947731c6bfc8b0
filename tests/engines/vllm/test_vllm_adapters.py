"""Adapters of low-rank members, with a stand-in for vLLM's slots: what is written, held and released."""

import json
import sys
from dataclasses import replace
from pathlib import Path
from types import ModuleType, SimpleNamespace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from coevo.block import Block
from coevo.engines.checkpoint import read_headers
from coevo.engines.vllm.adapters import Adapters, _scratch, split_by_members, write_adapter
from coevo.errors import ModelError
from coevo.interfaces import Member, Partition, Request
from coevo.noise import perturb

SHAPES = {"model.layers.0.self_attn.q_proj.weight": (6, 4), "model.layers.0.mlp.down_proj.weight": (3, 7)}
LOW = Member(77, 0, 0, 1, 0.05, rank=2)


class Slots:
    """Loads adapters as vLLM does, and remembers what the folder held then."""

    def __init__(self) -> None:
        self.loaded, self.folders, self.numbers, self.most, self.refuses = {}, [], [], 0, False

    def add_lora(self, asked):
        """As vLLM's engine: reads the folder."""
        self.folders.append(Path(asked.path))
        self.numbers.append(asked.lora_int_id)
        self.loaded[asked.lora_int_id] = sorted(read_adapter(Path(asked.path)))
        self.most = max(self.most, len(self.loaded))
        if self.refuses:
            raise ValueError("no such\nlayer")

    def remove_lora(self, number):
        """As vLLM's engine."""
        del self.loaded[number]


@pytest.fixture(autouse=True)
def _no_vllm(monkeypatch):
    """A vLLM that has requests of adapters only."""
    module = ModuleType("vllm.lora.request")
    module.LoRARequest = lambda name, number, path: SimpleNamespace(name=name, lora_int_id=number, path=path)
    for name in ("vllm", "vllm.lora"):
        monkeypatch.setitem(sys.modules, name, ModuleType(name))
    monkeypatch.setitem(sys.modules, "vllm.lora.request", module)


@pytest.fixture
def slots():
    """What vLLM holds."""
    return Slots()


@pytest.fixture
def adapters(slots):
    """Two slots for members of rank 2 at most."""
    return Adapters(slots, SHAPES, rank=2, slots=2)


def read_adapter(folder):
    """The tensors of an adapter's file: name -> fp32 matrix."""
    (folder / "adapter_model.safetensors").rename(folder / "model.safetensors")
    return {name: info.read().reshape(info.shape) for name, info in read_headers(folder).items()}


@pytest.mark.parametrize("sign", [1, -1])
@pytest.mark.parametrize("rank", [1, 3])
def test_an_adapter_is_what_moves_the_weights(tmp_path, sign, rank):
    """The product of its factors is the member's noise, and vLLM's scaling of it is 1."""
    member = replace(LOW, sign=sign, rank=rank)
    write_adapter(tmp_path, SHAPES, member)
    config = json.loads((tmp_path / "adapter_config.json").read_text())
    assert (config["lora_alpha"], config["r"], config["bias"]) == (rank, rank, "none")
    assert config["target_modules"] == ["down_proj", "q_proj"]
    found = read_adapter(tmp_path)
    assert len(found) == 2 * len(SHAPES)
    for name, shape in SHAPES.items():
        module = "base_model.model." + name.removesuffix(".weight")
        down, up = found[f"{module}.lora_A.weight"], found[f"{module}.lora_B.weight"]
        assert (down.shape, up.shape) == ((rank, shape[1]), (shape[0], rank))
        moved = np.empty(shape, np.float32)
        perturb(np.zeros(shape, np.float32), moved, Block.whole(name, shape), member)
        np.testing.assert_allclose(up @ down, moved, rtol=1e-5, atol=1e-7)


def test_a_member_is_loaded_once_and_its_folder_is_gone(adapters, slots):
    """P26: members asked again in their step are not made again; no two adapters have the same number."""
    minus = replace(LOW, sign=-1)
    first = adapters.hold([LOW, minus])
    assert first.keys() == {LOW, minus}
    assert adapters.hold([minus]) == {minus: first[minus]}
    assert slots.numbers == [1, 2]
    assert len({asked.name for asked in first.values()}) == 2
    assert len(set(slots.folders)) == 2
    assert not any(folder.exists() for folder in slots.folders)
    adapters.release()
    assert slots.loaded == {}
    adapters.hold([LOW])
    assert slots.numbers == [1, 2, 3]


@given(st.lists(st.tuples(st.integers(0, 1), st.lists(st.integers(0, 4), min_size=1, max_size=2, unique=True))))
def test_never_more_are_loaded_than_there_are_slots(asked):
    """However members come: those asked are loaded, and none of another step is."""
    slots = Slots()
    adapters = Adapters(slots, SHAPES, rank=2, slots=2)
    for step, directions in asked:
        held = adapters.hold([replace(LOW, step=step, direction=direction) for direction in directions])
        assert {asked.lora_int_id for asked in held.values()} <= slots.loaded.keys()
        assert {member.step for member in adapters._loaded} == {step}
    assert slots.most <= 2
    assert slots.numbers == list(range(1, 1 + len(slots.numbers)))


def test_more_members_than_slots_are_refused_before_anything_is_loaded(adapters, slots):
    """Who asks splits them."""
    with pytest.raises(ValueError, match="at most 2 members"):
        adapters.hold([replace(LOW, direction=direction) for direction in range(3)])
    assert slots.loaded == {}


def test_an_adapter_that_vllm_refuses_is_said_and_gone(adapters, slots):
    """On one line; its folder is removed, and the member counts as not loaded."""
    slots.refuses = True
    with pytest.raises(ModelError, match="ValueError: no such layer"):
        adapters.hold([LOW])
    assert not slots.folders[0].exists()
    assert slots.loaded == {}
    slots.refuses = False
    adapters.hold([LOW])
    assert len(slots.loaded) == 1


def test_a_trial_moves_one_tensor_and_leaves_nothing(adapters, slots):
    """Also where what is tried fails."""
    name = next(iter(SHAPES))
    adapters.hold([LOW])
    with adapters.trial(LOW, name) as asked:
        (held,) = slots.loaded.items()
        assert held[0] == asked.lora_int_id
        assert [each.removesuffix(".weight")[-6:] for each in held[1]] == ["lora_A", "lora_B"]
    assert slots.loaded == {}
    with pytest.raises(KeyError), adapters.trial(LOW, name):
        raise KeyError
    assert slots.loaded == {}


def test_what_no_adapter_can_be_is_served_otherwise(adapters):
    """Dense members, ranks above the highest, and members of one subspace, whose noise is no product."""
    assert adapters.serves(LOW)
    assert adapters.serves(replace(LOW, rank=1))
    assert not adapters.serves(replace(LOW, rank=0))
    assert not adapters.serves(replace(LOW, rank=3))
    assert not adapters.serves(replace(LOW, partition=Partition(2)))


def test_files_go_where_there_is_room(monkeypatch, tmp_path):
    """Into memory if it takes an adapter, and otherwise where temporary files go."""
    for memory, free, expected in ((tmp_path, 10**6, tmp_path), (tmp_path, 10, None), (tmp_path / "none", 10**6, None)):
        monkeypatch.setattr("coevo.engines.vllm.adapters._MEMORY", memory)
        monkeypatch.setattr("shutil.disk_usage", lambda _, free=free: SimpleNamespace(free=free))
        assert _scratch(2, SHAPES) == expected


@given(st.lists(st.one_of(st.none(), st.integers(0, 5)), min_size=1), st.integers(1, 4))
def test_batches_have_no_more_members_than_slots(directions, slots):
    """Every request is in one batch, all of a member, and all of the base, in the same; only the last has room left."""
    members = [None if each is None else replace(LOW, direction=each) for each in directions]
    requests = [Request(str(number), "", 0, member) for number, member in enumerate(members)]
    batches = split_by_members(requests, slots)
    assert sorted(int(request.id) for batch in batches for request in batch) == list(range(len(requests)))
    owners = [{request.member for request in batch} for batch in batches]
    assert sum(map(len, owners)) == len(set(members))
    assert all(len(each - {None}) == slots for each in owners[:-1])
    assert len(owners[-1] - {None}) <= slots

"""Weights never drift: members leave no trace, and a history is a full checkpoint."""

import json

import numpy as np
import pytest

from coevo.engines.basis_building.making import BasisRecipe, make_basis
from coevo.engines.checkpoint import write_checkpoint
from coevo.engines.llama_shape import LlamaShape, lean_shape
from coevo.engines.loading import inspect_folder
from coevo.engines.policy import WeightPolicy
from coevo.engines.replay import replay
from coevo.engines.torch_engine import TorchEngine
from coevo.interfaces import Member, Request, Sampling, Update
from coevo.noise.basis import write_basis

KEY = 2**63 + 11


@pytest.fixture(scope="module")
def model(tmp_path_factory):
    """A random one-layer Llama over bytes, as a Hugging Face folder."""
    from tokenizers import Tokenizer, decoders, models, pre_tokenizers

    folder = tmp_path_factory.mktemp("exact")
    vocabulary = {token: n for n, token in enumerate(["<eos>", *sorted(pre_tokenizers.ByteLevel.alphabet())])}
    tokenizer = Tokenizer(models.BPE(vocab=vocabulary, merges=[]))
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.decoder = decoders.ByteLevel()
    tokenizer.save(str(folder / "tokenizer.json"))
    (folder / "tokenizer_config.json").write_text('{"tokenizer_class": "PreTrainedTokenizerFast"}')
    config = {"architectures": ["LlamaForCausalLM"], "model_type": "llama", "vocab_size": len(vocabulary)}
    config |= {"hidden_size": 16, "num_hidden_layers": 1, "num_attention_heads": 2, "intermediate_size": 24}
    config |= {"max_position_embeddings": 64, "rms_norm_eps": 1e-6, "tie_word_embeddings": True, "eos_token_id": 0}
    (folder / "config.json").write_text(json.dumps({**config, "dtype": "float32"}))
    shapes = LlamaShape(len(vocabulary), 16, 1, 2, 8, 24, 64, 1e-6, 10_000.0, True).tensors()
    rng = np.random.default_rng(8)
    arrays = {name: rng.normal(0.1, 0.3, shape).astype(np.float32) for name, shape in shapes.items()}
    write_checkpoint(folder / "model.safetensors", arrays, shapes)
    assert lean_shape(inspect_folder(folder)) is not None
    return folder


@pytest.fixture
def engine(model):
    """The live engine with two workers."""
    with TorchEngine(model, workers=2, chat=False) as live:
        yield live


def ask(engine, members, sigma=0.05, step=0, basis=0):
    """One completion of every member, and of the base in between; texts by request id."""
    requests = []
    for number in range(members):
        member = Member(KEY, step, number // 2, 1 if number % 2 else -1, sigma, basis=basis)
        requests.append(Request(f"m{number}", "tour of ", number, member, Sampling(max_tokens=3)))
        if number % 10 == 0:
            requests.append(Request(f"b{number}", "tour of ", number, None, Sampling(max_tokens=3)))
    return {completion.request_id: completion.text for completion in engine.generate(requests)}


def test_three_hundred_members_leave_no_trace(engine):
    """After 300 members the served weights have the fingerprint of before, and the base the same voice."""
    before = engine.fingerprint()
    voice = ask(engine, 1)["b0"]
    texts = ask(engine, 300)
    assert len(texts) == 330
    assert len(set(texts.values())) > 50
    assert engine.fingerprint() == before
    assert ask(engine, 1)["b0"] == voice


def test_a_history_replayed_gives_the_live_weights(engine, model):
    """P30: members and updates in turn, as in a run: replaying the updates alone reaches the same bits at each step."""
    rng = np.random.default_rng(4)
    history, live = [], [engine.fingerprint()]
    for step in range(6):
        ask(engine, 8, step=step)
        coefficients = rng.normal(0, 1e-3, 4).astype(np.float32).tolist()
        history.append(Update(KEY, step, tuple(range(4)), tuple(coefficients)))
        live.append(engine.commit(history[-1]))
    assert len(set(live)) == 7
    assert [replay(model, history[:count]).weights.fingerprint() for count in range(7)] == live


def test_a_guided_history_replayed_gives_the_live_weights(model, tmp_path):
    """Members and updates in the span of a basis: none leaves a trace, and the updates alone reach the same bits."""
    file, folder = tmp_path / "basis.safetensors", inspect_folder(model)
    basis, _ = make_basis(folder, BasisRecipe(method="random", vectors=5, rank=4))
    write_basis(file, basis)
    policy = WeightPolicy(scope="guided", basis=str(file))
    rng, history = np.random.default_rng(4), []
    with TorchEngine(model, workers=2, chat=False, policy=policy) as engine:
        live = [engine.fingerprint()]
        for step in range(3):
            texts = ask(engine, 8, sigma=0.3, step=step, basis=basis.identity)
            assert len({texts[f"m{number}"] for number in range(8)}) > 2
            coefficients = rng.normal(0, 1e-2, 4).astype(np.float32).tolist()
            history.append(Update(KEY, step, tuple(range(4)), tuple(coefficients), basis=basis.identity))
            assert engine.fingerprint() == live[-1]
            live.append(engine.commit(history[-1]))
    assert len(set(live)) == 4
    assert [replay(model, history[:count], policy).weights.fingerprint() for count in range(4)] == live


def test_mirrored_members_differ_from_each_other_and_from_the_base(engine):
    """Both signs of a direction speak otherwise than the base, so both were really served."""
    texts = ask(engine, 40, sigma=0.5)
    pairs = [(texts[f"m{n}"], texts[f"m{n + 1}"]) for n in range(0, 40, 2)]
    assert sum(plus != minus for plus, minus in pairs) > 15

import copy
from dataclasses import replace

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from coevo.block import Block
from coevo.engines import torch_low_rank
from coevo.engines.decoding import complete
from coevo.engines.scope import names_in_scope
from coevo.engines.torch_low_rank import LowRankLinears
from coevo.engines.torch_model import TransformersDecoder
from coevo.engines.torch_worker import serve_model
from coevo.errors import ModelError
from coevo.interfaces import Member
from coevo.noise import perturb

TOLERANCE = 2e-5
"""Of the largest fp32 logit: the sum of products is taken in another order than with the dense matrix."""

SIZES = {
    "vocab_size": 60,
    "hidden_size": 32,
    "intermediate_size": 48,
    "num_hidden_layers": 2,
    "num_attention_heads": 4,
    "num_key_value_heads": 2,
    "bos_token_id": 1,
    "eos_token_id": 1,
    "initializer_range": 0.2,
}
GPT2 = {"vocab_size": 60, "n_embd": 32, "n_layer": 2, "n_head": 4, "bos_token_id": 1, "eos_token_id": 1}
KINDS = {"llama": SIZES, "qwen2": SIZES, "qwen3": {**SIZES, "head_dim": 8}, "gpt2": GPT2}
PROMPTS = [[5, 6, 7], [8], [5, 6, 7, 9, 10], [11, 12]]

members = st.builds(
    Member,
    run_key=st.just(9),
    step=st.just(0),
    direction=st.integers(0, 2),
    sign=st.sampled_from([1, -1]),
    sigma=st.just(0.05),
    rank=st.sampled_from([1, 2, 4]),
)


def make_network(kind="llama", dtype=torch.float32, **changes):
    """A random network of transformers, always the same."""
    from transformers import AutoConfig, AutoModelForCausalLM

    torch.manual_seed(3)
    config = AutoConfig.for_model(kind, **{**KINDS.get(kind, SIZES), **changes})
    return AutoModelForCausalLM.from_config(config).to(dtype).eval()


def matrices(network):
    """The names in scope."""
    return names_in_scope("linear", {name: tuple(tensor.shape) for name, tensor in network.named_parameters()})


def make_linears(network):
    """Low-rank rows over all matrices in scope."""
    return LowRankLinears(network, dict(network.named_parameters()), matrices(network))


def make_decoder(network):
    """The decoder and its low-rank rows."""
    return TransformersDecoder(network, make_linears(network), rows=8, padding=0)


def densely(network, member):
    """A copy whose matrices are perturbed by a member, or not at all."""
    changed = copy.deepcopy(network)
    parameters = dict(changed.named_parameters())
    for name in matrices(network) if member else ():
        served = parameters[name].detach().numpy()
        perturb(served.copy(), served, Block.whole(name, served.shape), member)
    return changed


def follow(decoder, prompts, owners, tokens):
    """Logits of prompts, then of given tokens, shape (1 + tokens, prompts, vocabulary); idle again afterwards."""
    found = [decoder.admit(prompts, owners)]
    found += [decoder.step([token] * len(prompts)) for token in tokens]
    decoder.keep([])
    return np.stack(found)


def low(direction=0, sign=1, rank=1, sigma=0.05):
    """A low-rank member."""
    return Member(9, 0, direction, sign, sigma, rank=rank)


@pytest.mark.parametrize("kind", KINDS)
def test_a_row_is_what_the_dense_model_says(kind):
    """Logits of base rows and members of several ranks and signs are those of densely perturbed matrices.

    Over prompts of different lengths and decoded tokens; GPT-2 stores its matrices the other way round.
    """
    network = make_network(kind)
    owners = [low(rank=1), None, low(sign=-1, rank=1), low(1, rank=4)]
    together = follow(make_decoder(network), PROMPTS, owners, [3, 4])
    for place, owner in enumerate(owners):
        expected = follow(make_decoder(densely(network, owner)), [PROMPTS[place]], [None], [3, 4])[:, 0]
        assert np.abs(together[:, place] - expected).max() < TOLERANCE * np.abs(expected).max()


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16])
def test_sixteen_bit_changes_are_those_of_fp32(dtype):
    """What a member changes in 16 bits is what it changes in fp32, to a few units of the type's own rounding."""
    network = make_network(dtype=dtype)
    wide = copy.deepcopy(network).float()
    owners = [low(0, 1, 2), low(0, -1, 2), low(1, 1, 1), None]
    changes = []
    for model in (network, wide):
        base, perturbed = (follow(make_decoder(model), PROMPTS, who, [3, 4]) for who in ([None] * 4, owners))
        changes.append(perturbed[:, :3] - base[:, :3])
        assert np.array_equal(perturbed[:, 3], base[:, 3])
    found, expected = changes
    error = np.linalg.norm(found - expected, axis=(0, 2)) / np.linalg.norm(expected, axis=(0, 2))
    assert error.max() < 30 * torch.finfo(dtype).eps


@settings(max_examples=10)
@given(st.lists(st.none() | members, min_size=2, max_size=6), st.data())
def test_rows_finish_in_any_order(owners, data):
    """After each row that goes, with the last moved into its gap, the others go on as the same rows alone."""
    decoder, lonely = (make_decoder(make_network(num_hidden_layers=1)) for _ in range(2))
    rows = [(place % 4, owner) for place, owner in enumerate(owners)]
    decoder.admit([PROMPTS[prompt] for prompt, _ in rows], owners)
    given_tokens = []
    while rows:
        given_tokens.append(len(rows))
        logits = decoder.step([len(rows)] * len(rows))
        prompt, owner = rows[0]
        alone = follow(lonely, [PROMPTS[prompt]], [owner], given_tokens)[-1, 0]
        assert np.abs(logits[0] - alone).max() < TOLERANCE * np.abs(alone).max()
        gone = data.draw(st.integers(0, len(rows) - 1))
        kept = [len(rows) - 1 if place == gone else place for place in range(len(rows) - 1)]
        rows = [rows[place] for place in kept]
        decoder.keep(kept)


def test_without_low_rank_rows_the_model_is_as_it_was():
    """Base and dense members run the modules' own forward, to the bit, before and after low-rank rows."""
    network = make_network()
    decoder, linears = make_decoder(network), [m for m in network.modules() if isinstance(m, torch.nn.Linear)]
    before = follow(decoder, PROMPTS, [], [3])
    follow(decoder, PROMPTS, [low()] * 4, [3])
    for owners in ([], [None] * 4, [low(rank=0)] * 4):
        assert follow(decoder, PROMPTS, owners, [3]).tobytes() == before.tobytes()
    assert not any("forward" in vars(module) for module in linears)
    decoder.admit(PROMPTS, [low(), None, None, None])
    assert sum("forward" in vars(module) for module in linears) == len(matrices(network))
    decoder.admit(PROMPTS, [None] * 4)
    assert not any("forward" in vars(module) for module in linears)


def test_factors_are_made_once_per_noise(monkeypatch):
    """Rows of one member and of its mirror image share the factors that were computed for the first of them."""
    asked = []
    real = torch_low_rank.factors
    monkeypatch.setattr(torch_low_rank, "factors", lambda *of: asked.append(of[0]) or real(*of))
    network = make_network()
    make_decoder(network).admit(PROMPTS, [low(), low(sign=-1), low(sigma=0.1), None])
    assert sorted(asked) == sorted(matrices(network))


def test_shared_inputs_are_projected_once(monkeypatch):
    """Query, key and value, and gate and up, take one product with their stacked factors per layer."""
    network = make_network()
    decoder = make_decoder(network)
    decoder.admit(PROMPTS, [low()] * 4)
    real, widths = torch.bmm, []
    monkeypatch.setattr(torch, "bmm", lambda a, b: widths.append(b.shape[2]) or real(a, b))
    decoder.step([3] * 4)
    assert widths == [3, 1, 2, 1] * 2


@pytest.mark.parametrize(
    ("kind", "changes", "message"),
    [
        ("opt", {"ffn_dim": 48, "word_embed_proj_dim": 32}, r"fc1\.weight' does not: its module is given \(6, 32\)"),
        ("qwen3_moe", {"head_dim": 8, "num_experts": 4}, r"gate\.weight' does not: it is a parameter of shape \(4, 32"),
    ],
)
def test_rows_that_are_lost_are_refused(kind, changes, message):
    """Flattened batches and routed experts cannot be changed row by row: the tensor is named, the model left alone."""
    network = make_network(kind, **changes)
    with pytest.raises(ModelError, match=message):
        make_linears(network).prepare()
    assert not any("forward" in vars(module) for module in network.modules())


def test_a_module_that_text_does_not_reach_is_refused():
    """A matrix that no pass calls would take noise without effect."""
    network = make_network()
    network.spare = torch.nn.Linear(4, 4)
    with pytest.raises(ModelError, match=r"'spare\.weight' does not: no pass over text calls its module"):
        make_linears(network).set_rows([low()])


def test_small_members_draw_the_tokens_of_the_base(grouped_llama, make_requests):
    """Common random numbers: as sigma goes to 0, every member's answer becomes the base's under the same seed."""
    model = serve_model(grouped_llama, chat=False, device="cpu", threads=1)

    def texts(owners):
        batches = complete(model.decoder, model.codec, model.ends, make_requests(10, owners))
        return {answer.request_id: answer for batch in batches for answer in batch}

    tiny = tuple(low(direction, sign, sigma=1e-12) for direction in (0, 1) for sign in (1, -1))
    base = texts((None,))
    assert texts((*tiny, None)) == base
    assert texts(tuple(replace(one, sigma=0.3) for one in tiny)) != base

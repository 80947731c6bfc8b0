from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from coevo.block import Block
from coevo.engines import low_rank_lean
from coevo.engines.decoding import complete
from coevo.engines.lean_llama import LeanLlama
from coevo.engines.llama_shape import LlamaShape
from coevo.engines.scope import names_in_scope
from coevo.engines.torch_worker import serve_model
from coevo.interfaces import Member
from coevo.noise import perturb

SHAPE = LlamaShape(
    vocabulary=90,
    width=24,
    layers=2,
    heads=3,
    head_width=8,
    feed_forward=20,
    context=64,
    epsilon=1e-6,
    theta=1e4,
    is_tied=True,
)
TOLERANCE = 1e-5
"""Of the largest logit: the sum of products is taken in another order than with the dense matrix."""

members = st.builds(
    Member,
    run_key=st.just(9),
    step=st.integers(0, 1),
    direction=st.integers(0, 2),
    sign=st.sampled_from([1, -1]),
    sigma=st.sampled_from([0.02, 0.1]),
    rank=st.sampled_from([1, 2, 4]),
)
owners = st.none() | members
prompts = st.lists(st.integers(0, 9), min_size=1, max_size=6)


def random_model(shape=SHAPE, rows=6):
    """A lean decoder with random weights, always the same."""
    model = LeanLlama(shape, rows)
    rng = np.random.default_rng(4)
    for name, array in model.arrays().items():
        array[:] = 1 if name.endswith("norm.weight") else rng.normal(0, 0.3, len(array))
    return model


def dense_model(member, shape=SHAPE):
    """The model whose matrices are densely perturbed by a member."""
    model = random_model(shape)
    arrays, shapes = model.arrays(), shape.tensors()
    for name in names_in_scope("linear", shapes) if member else ():
        served = arrays[name].reshape(shapes[name])
        perturb(served.copy(), served, Block.whole(name, shapes[name]), member)
    return model


def follow(model, prompts, owners, tokens):
    """Logits of prompts, then of given tokens, shape (1 + tokens, prompts, vocabulary); idle again afterwards."""
    found = [model.admit(prompts, owners)]
    found += [model.step([token] * len(prompts)) for token in tokens]
    model.keep([])
    return np.stack(found)


@settings(max_examples=15)
@given(
    st.lists(st.tuples(prompts, owners), min_size=1, max_size=6),
    st.integers(1, 3),
    st.integers(1, 3),
    st.sampled_from([4, 8, 28]),
)
def test_a_row_is_what_the_dense_model_says(rows, layers, heads, feed_forward):
    """On random shapes a row's logits are those of matrices perturbed densely by the same member, to fp32 rounding."""
    shape = replace(SHAPE, layers=layers, heads=heads, feed_forward=feed_forward)
    together = follow(random_model(shape), [prompt for prompt, _ in rows], [owner for _, owner in rows], [3, 1, 4])
    for place, (prompt, owner) in enumerate(rows):
        expected = follow(dense_model(owner, shape), [prompt], [None], [3, 1, 4])[:, 0]
        assert np.abs(together[:, place] - expected).max() < TOLERANCE * np.abs(expected).max()


@settings(max_examples=15)
@given(st.lists(st.tuples(prompts, owners), min_size=1, max_size=6))
def test_a_row_does_not_see_its_neighbours(rows):
    """Bit for bit: members of any rank and sign, and the base, answer in one batch as each of them alone."""
    model = random_model()
    together = follow(model, [prompt for prompt, _ in rows], [owner for _, owner in rows], [5, 6])
    for place, (prompt, owner) in enumerate(rows):
        assert follow(random_model(), [prompt], [owner], [5, 6])[:, 0].tobytes() == together[:, place].tobytes()


@settings(max_examples=25)
@given(st.data())
def test_rows_come_and_go(data):
    """Whatever is admitted, finished and moved into gaps, every row goes on bit for bit as if it were alone."""
    model, alive = random_model(), []
    for _ in range(data.draw(st.integers(1, 6), "turns")):
        fresh = data.draw(st.lists(st.tuples(prompts, owners), max_size=6 - len(alive)), "admitted")
        if fresh:
            model.admit([prompt for prompt, _ in fresh], [owner for _, owner in fresh])
            alive += [(prompt, owner, []) for prompt, owner in fresh]
        if alive:
            token = data.draw(st.integers(0, 89), "token")
            logits = model.step([token] * len(alive))
            for row, values in zip(alive, logits, strict=True):
                row[2].append(token)
                assert follow(random_model(), [row[0]], [row[1]], row[2])[-1, 0].tobytes() == values.tobytes()
        is_kept = data.draw(st.lists(st.booleans(), min_size=len(alive), max_size=len(alive)), "kept")
        movers = [place for place in range(sum(is_kept), len(alive)) if is_kept[place]]
        kept = [place if is_kept[place] else movers.pop() for place in range(sum(is_kept))]
        model.keep(kept)
        alive = [alive[place] for place in kept]


def test_a_beginning_is_shared_with_the_same_member_only(member):
    """One prompt for all: no member inherits the keys and values of another, of its mirror image or of the base."""
    low = [replace(member(direction), rank=1, sign=sign) for direction in (0, 1) for sign in (1, -1)]
    owners = [None, *low, low[0]]
    logits = follow(random_model(), [[7, 8, 9, 7, 8]] * 6, owners, [1, 2])
    assert len({logits[:, place].tobytes() for place in range(5)}) == 5
    assert logits[:, 5].tobytes() == logits[:, 1].tobytes()


def test_factors_are_made_once_and_forgotten_with_the_last_row(member, monkeypatch):
    """All rows of a pair share what was computed; it is computed again only after every one of them has gone."""
    asked = []
    real = low_rank_lean.factors
    monkeypatch.setattr(low_rank_lean, "factors", lambda *of: asked.append(of[0]) or real(*of))
    plus = replace(member(), rank=2)
    minus, other = replace(plus, sign=-1, sigma=0.1), replace(plus, direction=1)
    matrices = len(names_in_scope("linear", SHAPE.tensors()))
    model = random_model()
    model.admit([[1], [2], [3], [4]], [plus, None, minus, plus])
    assert len(asked) == len(set(asked)) == matrices
    model.keep([0, 1, 2])
    model.keep([2, 1])
    model.admit([[5], [6]], [plus, other])
    assert len(asked) == 2 * matrices
    model.keep([3, 1])
    model.admit([[7], [8]], [other, plus])
    assert len(asked) == 3 * matrices


def test_no_factors_are_held_for_the_base():
    """A model that never meets a low-rank member allocates nothing for it."""
    model = random_model()
    follow(model, [[1, 2], [3]], [None, None], [4])
    assert all(part.size == 0 for stack in model._factors.corrections[:4] for part in stack)


@pytest.mark.parametrize("rank", [1, 4])
def test_small_members_draw_the_tokens_of_the_base(tiny_llama, make_requests, member, rank):
    """Common random numbers: as sigma goes to 0, every member's answer becomes the base's under the same seed."""
    model = serve_model(tiny_llama, chat=False, device="cpu", threads=1)
    tiny = [replace(member(direction, sigma=1e-12), rank=rank, sign=sign) for direction in (0, 1) for sign in (1, -1)]

    def texts(owners):
        batches = complete(model.decoder, model.codec, model.ends, make_requests(12, owners))
        return {answer.request_id: answer for batch in batches for answer in batch}

    base = texts((None,))
    assert texts((*tiny, None)) == base
    assert texts(tuple(replace(one, sigma=0.3) for one in tiny)) != base

import json

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from coevo.engines.lean_kernels import exponentiate, multiply
from coevo.engines.lean_llama import LeanLlama
from coevo.engines.llama_shape import lean_shape
from coevo.engines.loading import inspect_folder

PROMPTS = [[7, 8, 9], [40], [7, 8, 9, 10, 11], [7, 8, 9], list(range(5, 60)), [7, 8]]


def load(folder, rows=8):
    """A lean decoder with the folder's weights."""
    model = LeanLlama(lean_shape(folder), rows)
    for name, array in model.arrays().items():
        array[:] = folder.tensors[name].read()
    return model


def follow(model, prompts, steps):
    """Greedy logits of every step, shape (steps, prompts, vocabulary); the model is idle again afterwards."""
    found = [model.admit(prompts)]
    for _ in range(steps - 1):
        found.append(model.step(found[-1].argmax(1).tolist()))
    model.keep([])
    return np.stack(found)


@pytest.mark.parametrize("changes", [{}, {"tie_word_embeddings": False, "rope_parameters": {"rope_theta": 500.0}}])
def test_logits_are_those_of_transformers(make_model, changes):
    """Over prompts and decoded tokens, logits agree to a few units in the last place of their largest."""
    import torch
    from transformers import LlamaForCausalLM

    path = make_model(**changes)
    theirs = LlamaForCausalLM.from_pretrained(path).eval()
    logits = follow(load(inspect_folder(path)), PROMPTS, 6)
    for row, prompt in enumerate(PROMPTS):
        tokens = [*prompt, *logits[:-1, row].argmax(1).tolist()]
        with torch.inference_mode():
            expected = theirs(input_ids=torch.tensor([tokens])).logits[0, len(prompt) - 1 :].numpy()
        assert np.abs(logits[:, row] - expected).max() < 1e-5 * np.abs(expected).max()


def test_a_row_does_not_see_its_neighbours(tiny_llama):
    """Logits in a batch are bit for bit those of the row alone, with shared beginnings and without."""
    model = load(inspect_folder(tiny_llama))
    together = follow(model, PROMPTS, 10)
    for row, prompt in enumerate(PROMPTS):
        assert follow(model, [prompt], 10)[:, 0].tobytes() == together[:, row].tobytes()


def test_rows_may_come_and_go(tiny_llama):
    """After rows were dropped, moved into gaps and others admitted, every row goes on as if it were alone."""
    model = load(inspect_folder(tiny_llama))
    model.admit(PROMPTS[:3])
    model.step([20, 21, 22])
    model.keep([2, 1])
    model.admit([PROMPTS[4]])
    mixed = model.step([30, 31, 32])
    model.keep([])
    alone = []
    for prompt, tokens in ((PROMPTS[2], [22, 30]), (PROMPTS[1], [21, 31]), (PROMPTS[4], [32])):
        model.admit([prompt])
        alone.append([model.step([token]) for token in tokens][-1][0])
        model.keep([])
    assert mixed.tobytes() == np.stack(alone).tobytes()


def test_arrays_are_the_served_weights(tiny_llama):
    """Every checkpoint tensor is a view of its own: writing one changes the logits, and no other tensor."""
    folder = inspect_folder(tiny_llama)
    model = load(folder)
    before = model.admit([[7, 8, 9]]).tobytes()
    model.keep([])
    arrays = model.arrays()
    assert {name: len(array) for name, array in arrays.items()} == {n: t.size for n, t in folder.tensors.items()}
    for name, array in arrays.items():
        array *= np.float32(1.01)
        changed = [other for other in arrays if arrays[other].tobytes() != folder.tensors[other].read().tobytes()]
        assert changed == [name]
        assert model.admit([[7, 8, 9]]).tobytes() != before
        model.keep([])
        array[:] = folder.tensors[name].read()


@pytest.mark.parametrize(
    "changes",
    [
        {"num_key_value_heads": 2},
        {"dtype": "bfloat16"},
        {"attention_bias": True},
        {"hidden_act": "gelu"},
        {"rope_parameters": {"rope_theta": 1e4, "rope_type": "linear", "factor": 2.0}},
        {"architectures": ["MistralForCausalLM"]},
        {"vocab_size": 999},
    ],
)
def test_other_models_are_left_to_transformers(make_model, changes):
    """Whatever the kernels do not compute, or whose checkpoint has other tensors, is not claimed."""
    folder = make_model()
    config = json.loads((folder / "config.json").read_text())
    (folder / "config.json").write_text(json.dumps({**config, **changes}))
    assert lean_shape(inspect_folder(folder)) is None


@given(st.lists(st.floats(-200, 200, width=32), min_size=1, max_size=40))
def test_exponentials_are_close_and_clamped(values):
    """Relative error stays below 3e-7 of the exact value, arguments beyond ±87 count as ±87."""
    found = np.array(values, np.float32)
    expected = np.exp(np.clip(found.astype(np.float64), -87, 87))
    exponentiate(found)
    assert np.abs(found / expected - 1).max() < 3e-7


@given(st.integers(1, 4), st.integers(1, 4), st.integers(1, 70), st.integers(0, 2**32))
def test_products_are_those_of_numpy(rows, blocks, width, seed):
    """The blocked product agrees with a double precision one within fp32 rounding."""
    rng = np.random.default_rng(seed)
    left = rng.normal(size=(2 * rows, width)).astype(np.float32)
    right = rng.normal(size=(4 * blocks, width)).astype(np.float32)
    out = np.empty((2 * rows, 4 * blocks), np.float32)
    multiply(left, right, out)
    assert np.allclose(out, left.astype(np.float64) @ right.T.astype(np.float64), atol=1e-4)

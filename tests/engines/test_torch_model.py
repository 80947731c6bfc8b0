import json

import numpy as np
import pytest
import torch

from coevo.block import Block
from coevo.engines.checkpoint import write_checkpoint
from coevo.engines.decoding import complete
from coevo.engines.loading import inspect_folder
from coevo.engines.replay import replay
from coevo.engines.torch_model import name_parameters
from coevo.engines.torch_worker import serve_model
from coevo.errors import ModelError
from coevo.interfaces import Update
from coevo.noise import normals


def answers(model, requests):
    """Completions of requests of the base, by id."""
    batches = complete(model.decoder, model.codec, model.ends, requests)
    return {answer.request_id: answer for batch in batches for answer in batch}


@pytest.fixture
def grouped(grouped_llama):
    """A model that transformers has to serve, in this process."""
    return serve_model(grouped_llama, chat=False, device="auto", threads=1)


def test_a_batch_of_eight_answers_as_one_by_one(grouped, make_requests):
    """Padding and neighbours change no token, though prompts differ in length and rows finish at different times."""
    requests = make_requests(8, temperature=0.7)
    together = answers(grouped, requests)
    assert len({answer.num_tokens for answer in together.values()} | {len(r.text) for r in requests}) > 2
    for request in requests:
        assert answers(grouped, [request]) == {request.id: together[request.id]}


@pytest.mark.parametrize("dtype", ["bfloat16", "float16", "float32"])
def test_a_served_member_is_the_rounded_sum(make_model, member, dtype):
    """In every type: served = round(fp32 base + sigma · ε), and the base comes back to the bit."""
    path = make_model(num_key_value_heads=2, dtype=dtype)
    model = serve_model(path, chat=False, device="cpu", threads=1)
    served = name_parameters(model.folder, model.decoder._model)
    assert all(tensor.dtype == getattr(torch, dtype) for tensor in served.values())
    model.weights.activate(member(direction=3, sigma=0.01))
    for name, tensor in served.items():
        base = model.folder.tensors[name].read()
        noise = normals(Block.whole(name, model.folder.tensors[name].shape), 77, 0, 3).reshape(-1)
        exact = torch.from_numpy(base + np.float32(0.01) * noise).to(tensor.dtype)
        assert torch.equal(tensor.detach().view(-1), exact)
    model.weights.activate(None)
    for name, tensor in served.items():
        assert torch.equal(
            tensor.detach().view(-1), torch.from_numpy(model.folder.tensors[name].read()).to(tensor.dtype)
        )


def test_tied_weights_are_one_tensor(make_model, member):
    """A tied head is perturbed with the embedding, once, even if the checkpoint stores it under both names."""
    path = make_model(num_key_value_heads=2)
    folder = inspect_folder(path)
    arrays = {name: info.read() for name, info in folder.tensors.items()}
    shapes = {name: info.shape for name, info in folder.tensors.items()}
    arrays["lm_head.weight"] = arrays["model.embed_tokens.weight"].copy()
    shapes["lm_head.weight"] = shapes["model.embed_tokens.weight"]
    write_checkpoint(path / "model.safetensors", arrays, shapes)
    model = serve_model(path, chat=False, device="cpu", threads=1)
    assert "lm_head.weight" not in {block.tensor for block, _ in model.weights.bases()}
    model.weights.activate(member(sigma=0.1))
    head = model.decoder._model.lm_head.weight.detach().view(-1).numpy()
    step = head - arrays["lm_head.weight"]
    assert step.std() == pytest.approx(0.1, rel=0.05)


def test_an_untied_head_has_noise_of_its_own(grouped, member):
    """Without a tie, head and embedding are two tensors with two streams."""
    grouped.weights.activate(member(sigma=0.1))
    network = grouped.decoder._model
    steps = [
        tensor.detach().view(-1).numpy() - grouped.folder.tensors[name].read()
        for name, tensor in (
            ("lm_head.weight", network.lm_head.weight),
            ("model.embed_tokens.weight", network.model.embed_tokens.weight),
        )
    ]
    assert abs(np.corrcoef(steps)[0, 1]) < 0.05


def test_both_decoders_hold_the_same_weights(tiny_llama, grouped_llama):
    """The lean decoder and transformers give the fingerprints of a replay, with any number of threads."""
    update = Update(77, 0, (0, 1), (0.01, -0.02))
    for path, threads in ((tiny_llama, 1), (grouped_llama, 1), (grouped_llama, 3)):
        model = serve_model(path, chat=False, device="cpu", threads=threads)
        assert model.fingerprint() == replay(path, []).weights.fingerprint()
        model.weights.commit(update)
        assert model.fingerprint() == replay(path, [update]).weights.fingerprint()


def test_a_checkpoint_with_a_stray_tensor_is_refused(make_model):
    """A tensor that no parameter takes is named instead of being left out of the noise."""
    path = make_model(num_key_value_heads=2)
    folder = inspect_folder(path)
    arrays = {name: info.read() for name, info in folder.tensors.items()} | {"stray.weight": np.ones(4, np.float32)}
    shapes = {name: info.shape for name, info in folder.tensors.items()} | {"stray.weight": (4,)}
    write_checkpoint(path / "model.safetensors", arrays, shapes)
    with pytest.raises(ModelError, match=r"'stray\.weight'"):
        serve_model(path, chat=False, device="cpu", threads=1)


@pytest.mark.parametrize("model_type", ["no-such-architecture", "bert", "vit"])
def test_what_transformers_cannot_load_is_refused(make_model, model_type):
    """An unknown or wrong kind of model is one line with the reason."""
    path = make_model()
    config = json.loads((path / "config.json").read_text())
    (path / "config.json").write_text(json.dumps({**config, "model_type": model_type, "architectures": []}))
    with pytest.raises(ModelError, match=str(path)) as caught:
        serve_model(path, chat=False, device="cpu", threads=1)
    assert "\n" not in str(caught.value)

import pytest

from coevo.engines.loading import EMBEDDED_FOLDER, inspect_folder
from coevo.engines.scope import names_in_scope, roles
from coevo.errors import ConfigError

QWEN = {
    "model.embed_tokens.weight": (64, 8),
    "model.layers.0.self_attn.q_proj.weight": (8, 8),
    "model.layers.0.self_attn.q_proj.bias": (8,),
    "model.layers.0.mlp.down_proj.weight": (8, 16),
    "model.layers.0.input_layernorm.weight": (8,),
    "model.layers.0.self_attn.q_norm.weight": (4,),
    "model.norm.weight": (8,),
    "lm_head.weight": (64, 8),
}
GPT2 = {"wte.weight": (64, 8), "wpe.weight": (32, 8), "h.0.ln_1.weight": (8,), "h.0.attn.c_attn.weight": (8, 24)}


def test_roles_of_the_usual_names():
    """Embedding, head, matrices, norms and biases are told apart in the names of the usual families."""
    assert list(roles(QWEN).values()) == ["embedding", "linear", "bias", "linear", "norm", "norm", "norm", "head"]
    assert list(roles(GPT2).values()) == ["embedding", "embedding", "norm", "linear"]


def test_layers_of_a_block_are_no_heads():
    """Names that end like a head or an embedding mean something else inside a numbered block."""
    names = {
        "bert.encoder.layer.0.attention.output.dense.weight": "linear",
        "encoder.layer.1.output.dense.weight": "linear",
        "cls.predictions.decoder.weight": "head",
        "score_head.weight": "head",
        "bert.embeddings.word_embeddings.weight": "embedding",
    }
    assert roles(dict.fromkeys(names, (8, 8))) == names


def test_a_frozen_model_has_an_empty_scope():
    """The scope none is the one that may be empty."""
    assert names_in_scope("none", QWEN) == []


def test_tensors_of_three_dimensions_are_other():
    """Convolutions and fused experts are no plain matrices, so the linear scope leaves them alone."""
    assert roles({"model.layers.0.mlp.experts.gate_up_proj": (4, 8, 8)}) == {
        "model.layers.0.mlp.experts.gate_up_proj": "other"
    }


def test_the_embedded_model_has_no_other_tensors():
    """Each tensor of the shipped model has a known role, seven matrices in a layer."""
    shapes = {name: info.shape for name, info in inspect_folder(EMBEDDED_FOLDER).tensors.items()}
    found = roles(shapes)
    assert "other" not in found.values()
    layers = {name.split(".")[2] for name in shapes if ".layers." in name}
    assert sum(role == "linear" for role in found.values()) == 7 * len(layers)


def test_scopes_name_tensors_in_checkpoint_order():
    """Full is everything, linear the matrices of the blocks, anything else a regular expression."""
    assert names_in_scope("full", QWEN) == list(QWEN)
    assert names_in_scope("linear", QWEN) == [name for name in QWEN if name.endswith("_proj.weight")]
    assert names_in_scope(r"norm\.weight$", QWEN) == [name for name in QWEN if name.endswith("norm.weight")]


@pytest.mark.parametrize(("scope", "words"), [("(", "regular expression"), ("nothing", "at least one tensor")])
def test_a_scope_of_nothing_is_refused(scope, words):
    """An expression that does not compile, or matches nothing, says so and where to look."""
    with pytest.raises(ConfigError, match=words):
        names_in_scope(scope, QWEN)

"""P12, P13: which stored tensors are no weights of their own."""

import pytest

from coevo.engines.tying import is_tied, own_names, tied_copies

TIED, UNTIED, SILENT = {"tie_word_embeddings": True}, {"tie_word_embeddings": False}, {}
EMBEDDING, HEAD, LINEAR = "model.embed_tokens.weight", "lm_head.weight", "model.layers.0.mlp.up_proj.weight"
SHAPES = {EMBEDDING: (8, 4), HEAD: (8, 4), LINEAR: (8, 4)}


@pytest.mark.parametrize(
    ("config", "has_head", "expected"),
    [
        (TIED, True, True),
        (TIED, False, True),
        (UNTIED, True, False),
        (UNTIED, False, False),
        (SILENT, True, False),
        (SILENT, False, True),
        ({"text_config": TIED}, True, True),
        ({"text_config": UNTIED} | TIED, True, False),
        ({"text_config": TIED} | UNTIED, True, True),
        ({"text_config": SILENT} | TIED, True, True),
        ({"text_config": None} | TIED, True, True),
    ],
)
def test_the_tie_is_what_the_configuration_says_or_else_what_is_missing(config, has_head, expected):
    """The text part counts before the whole, and either before the checkpoint."""
    shapes = SHAPES if has_head else {name: shape for name, shape in SHAPES.items() if name != HEAD}
    assert is_tied(shapes, config) is expected


@pytest.mark.parametrize("prefix", ["", "language_model.", "model.text."])
@pytest.mark.parametrize("head", ["lm_head.weight", "embed_out.weight", "output.weight"])
def test_a_tied_head_is_its_embedding(head, prefix):
    """A stored copy is no tensor of its own, whatever it is called; an untied head is."""
    shapes = {EMBEDDING: (8, 4), prefix + head: (8, 4), LINEAR: (8, 4)}
    assert tied_copies(shapes, TIED) == [prefix + head]
    assert own_names(shapes, TIED) == [EMBEDDING, LINEAR]
    assert own_names(shapes, UNTIED) == list(shapes)


@pytest.mark.parametrize(
    "shapes",
    [
        {HEAD: (8, 4)},
        {HEAD: (8, 4), LINEAR: (8, 4)},
        {EMBEDDING: (8, 4), HEAD: (9, 4)},
        {EMBEDDING: (8, 4), "lm_head.bias": (8,)},
    ],
)
def test_what_is_no_copy_of_an_embedding_has_weights_of_its_own(shapes):
    """A head alone, one beside a matrix that happens to have its shape, one of another shape, a bias."""
    assert tied_copies(shapes, TIED) == []
    assert own_names(shapes, TIED) == list(shapes)


@pytest.mark.parametrize("config", [TIED, UNTIED, SILENT])
def test_position_tables_are_computed(config):
    """They are stored in old checkpoints and move in none."""
    shapes = {EMBEDDING: (8, 4), "model.layers.0.self_attn.rotary_emb.inv_freq": (2,), LINEAR: (8, 4)}
    assert own_names(shapes, config) == [EMBEDDING, LINEAR]

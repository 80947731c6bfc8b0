import json

import numpy as np
import pytest

from coevo.engines.checkpoint import write_checkpoint
from coevo.engines.inspection import MODES, RULES, inspect_model, memory_needs
from coevo.engines.loading import inspect_folder
from coevo.errors import ConfigError, ModelError


def looked_at(folder, **options):
    """The inspection of a folder at σ = 1e-3."""
    return inspect_model(inspect_folder(folder), **{"sigma": 1e-3, **options})


def by_role(inspection):
    """Tensors, elements and moving elements of each role."""
    return {each.role: (each.tensors, each.parameters, each.moving) for each in inspection.roles}


def rewritten(folder, config=None, **tensors):
    """The same folder with changed entries of its configuration and further tensors."""
    file = folder / "config.json"
    file.write_text(json.dumps(json.loads(file.read_text()) | (config or {})))
    if tensors:
        held = {name: info.read().reshape(info.shape) for name, info in inspect_folder(folder).tensors.items()}
        arrays = held | {name.replace("__", "."): values for name, values in tensors.items()}
        write_checkpoint(folder / "model.safetensors", arrays, {name: array.shape for name, array in arrays.items()})
    return folder


def test_a_small_llama_is_told_in_full(tiny_llama):
    """Sizes by role, who serves it, how it is asked, and that nothing is stored twice."""
    facts = looked_at(tiny_llama)
    vocabulary = 261
    linear = 2 * (4 * 32 * 32 + 3 * 48 * 32)
    assert by_role(facts) == {
        "embedding": (1, vocabulary * 32, vocabulary * 32),
        "linear": (14, linear, linear),
        "norm": (5, 160, 160),
    }
    assert (facts.num_tensors, facts.num_parameters) == (20, vocabulary * 32 + linear + 160)
    assert facts.moving_tensors == 20
    assert (facts.architecture, facts.served_by, facts.storage) == ("LlamaForCausalLM", "lean decoder", "float32")
    assert (facts.renderer, facts.is_tied, facts.duplicate) == ("plain", True, None)
    assert {each.stored for each in facts.roles} == {("float32",)}


def test_a_head_of_its_own_is_a_role_of_its_own(grouped_llama):
    """An untied model has a head; grouped keys are served by transformers."""
    facts = looked_at(grouped_llama)
    assert by_role(facts)["head"] == (1, 261 * 32, 261 * 32)
    assert (facts.served_by, facts.is_tied, facts.duplicate) == ("transformers", False, None)


def test_a_tied_head_that_is_stored_twice_counts_once(make_model):
    """P13: the second copy is named and left out of every number."""
    once = looked_at(make_model())
    twice = looked_at(rewritten(make_model(), lm_head__weight=np.zeros((261, 32), np.float32)))
    assert (twice.duplicate, twice.is_tied) == ("lm_head.weight", True)
    assert by_role(twice) == by_role(once)
    assert twice.served_by == "lean decoder"


def test_a_configuration_that_is_silent_about_the_tie_is_read_off_the_checkpoint(make_model):
    """Without a head of its own the model has to be tied."""
    folder = make_model()
    config = json.loads((folder / "config.json").read_text())
    del config["tie_word_embeddings"]
    (folder / "config.json").write_text(json.dumps(config))
    assert looked_at(folder).is_tied
    assert not looked_at(rewritten(folder, lm_head__weight=np.zeros((261, 32), np.float32))).is_tied


def test_only_what_is_in_the_scope_moves(tiny_llama):
    """What stays counts as a parameter and is not looked at for lost noise."""
    facts = looked_at(tiny_llama, scope="linear")
    assert [(each.role, each.moving > 0, bool(each.survival)) for each in facts.roles] == [
        ("embedding", False, False),
        ("linear", True, True),
        ("norm", False, False),
    ]
    assert facts.moving_tensors == 14
    assert looked_at(tiny_llama, scope=r"layers\.1\..*norm").num_moving == 64


@pytest.mark.parametrize(("scope", "text"), [("(", "regular expression"), ("nothing", "at least one tensor")])
def test_a_scope_of_nothing_is_refused(tiny_llama, scope, text):
    """An expression that does not compile, or names no tensor, is told."""
    with pytest.raises(ConfigError, match=text):
        looked_at(tiny_llama, scope=scope)


def test_noise_lost_in_norms_is_warned_of_where_it_is_served(make_model):
    """P17: norm weights of 1 lose almost all noise of σ = 1e-3 in bfloat16; in fp32 they lose none."""
    exact, rounded = looked_at(make_model()), looked_at(make_model(dtype="bfloat16"))
    norm = {each.role: each.survival for each in rounded.roles}["norm"]
    assert 0.9 < norm["bfloat16"].swallowed < 1
    assert norm["float32"].swallowed == 0
    assert exact.warnings == ()
    assert any("bfloat16 swallows" in text and "norm weights" in text for text in rounded.warnings)


def test_code_in_the_model_folder_is_warned_of(make_model):
    """A configuration that asks for code of its own says so before it fails to load."""
    assert "never run" in looked_at(make_model(auto_map={"AutoModel": "x.py"})).warnings[-1]


@pytest.mark.parametrize(
    ("storage", "rule", "backups"),
    [
        ("float32", "master", {"copy": 400, "host": 400, "tiles": 100, "mapped": 0}),
        ("float32", "stochastic", {"copy": 400, "host": 400, "tiles": 100, "mapped": 0}),
        ("bfloat16", "master", {"copy": 400, "host": 400, "tiles": None, "mapped": 0}),
        ("bfloat16", "stochastic", {"copy": 200, "host": 200, "tiles": 50, "mapped": 0}),
        ("float16", "nearest", {"copy": 200, "host": 200, "tiles": 50, "mapped": 0}),
        ("float16", "stochastic", {"copy": None, "host": None, "tiles": None, "mapped": None}),
    ],
)
def test_memory_by_rule_and_mode(storage, rule, backups):
    """100 of 120 weights move, in 4 subspaces: masters are fp32, tiles need a base of the served type."""
    needs = {(n.rule, n.restore): n for n in memory_needs(storage, parameters=120, moving=100, subspaces=4)}
    assert set(needs) == {(rule, mode) for rule in RULES for mode in MODES}
    assert {mode: needs[rule, mode].backup for mode in MODES} == backups
    assert needs[rule, "copy"].weights == (480 if storage == "float32" else 240)
    assert needs[rule, "mapped"].disk == (backups["copy"] or 0)
    assert needs[rule, "copy"].disk == 0


def test_every_tensor_is_listed(tiny_llama):
    """The list names each tensor with its role, and says which of them move."""
    listed = looked_at(tiny_llama, scope="linear").tensor_list
    assert [facts.name for facts in listed] == list(inspect_folder(tiny_llama).tensors)
    assert {facts.role for facts in listed if facts.moves} == {"linear"}
    assert {facts.role for facts in listed if not facts.moves} == {"embedding", "norm"}


def test_the_memory_told_is_the_memory_taken(tiny_llama):
    """What a served model keeps beside its weights is the number of the table."""
    from coevo.engines.cells import whole_cells
    from coevo.engines.policy import WeightPolicy
    from coevo.engines.weights import Weights

    folder = inspect_folder(tiny_llama)
    needs = {(need.rule, need.restore): need for need in looked_at(tiny_llama, scope="linear").memory}
    arrays = {name: np.empty(info.shape, np.float32) for name, info in folder.tensors.items()}
    policy = WeightPolicy(scope="linear", restore="copy")
    assert Weights(whole_cells(arrays, folder.tensors, policy)).extra_bytes == needs["master", "copy"].backup
    assert sum(array.nbytes for array in arrays.values()) == needs["master", "copy"].weights


@pytest.mark.parametrize(
    ("config", "text"),
    [
        ({"dtype": "float64"}, "expected a model of type float32, bfloat16, float16, got 'float64'"),
        ({"quantization_config": {"bits": 4}}, "unquantised"),
    ],
)
def test_a_model_that_noise_cannot_follow_is_refused(make_model, config, text):
    """P19: other types and quantised weights are refused in a line that says what would do."""
    with pytest.raises(ModelError, match=text):
        looked_at(make_model(**config))


@pytest.mark.parametrize("config", [{"kv_lora_rank": 512}, {"text_config": {"kv_lora_rank": 64}}])
def test_latent_attention_is_said(make_model, config):
    """P2: engines that serve products of the weights cannot serve such a model; the warning names one that can."""
    assert any(
        "latent attention" in warning and "torch" in warning for warning in looked_at(make_model(**config)).warnings
    )


def test_a_model_without_floating_weights_is_refused(make_model):
    """A checkpoint of integers alone has nothing to perturb."""
    folder = make_model()
    header = json.dumps({"mask": {"dtype": "I64", "shape": [1], "data_offsets": [0, 8]}}).encode()
    (folder / "model.safetensors").write_bytes(len(header).to_bytes(8, "little") + header + bytes(8))
    with pytest.raises(ModelError, match="expected floating-point weights"):
        looked_at(folder)

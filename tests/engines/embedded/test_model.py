"""The shipped model folder: loadable, small, free of pickles, and able to write valid children."""

import json
from pathlib import Path
from typing import Any, get_args

import pytest

from coevo.codec import encode_prompt
from coevo.content import Kind
from coevo.engines.embedded.baselines import BASELINES, SIGNATURES
from coevo.engines.embedded.execution import failure, random_inputs
from coevo.engines.embedded.families import FAMILIES
from coevo.engines.embedded.hints import idioms_of_body
from coevo.engines.embedded.measure import canonical
from coevo.engines.embedded.program import GRID
from coevo.engines.embedded.sampling import sampler
from coevo.idioms import IDIOMS
from coevo.interfaces import Guidance

FOLDER = Path(__file__).parents[3] / "coevo" / "engines" / "embedded" / "model"


@pytest.fixture(scope="module")
def loaded() -> tuple[Any, Any]:
    """The shipped model and its tokenizer."""
    from transformers import AutoTokenizer, LlamaForCausalLM

    return LlamaForCausalLM.from_pretrained(FOLDER).eval(), AutoTokenizer.from_pretrained(FOLDER)


def test_folder_is_small_and_holds_no_pickle() -> None:
    """Only JSON, Markdown and safetensors (a basis is one under another suffix), 20 MB at most."""
    from safetensors import safe_open

    files = [file for file in FOLDER.rglob("*") if file.is_file()]

    assert {file.suffix for file in files} - {".basis"} == {".json", ".md", ".safetensors"}
    for file in files:
        if file.suffix == ".basis":
            with safe_open(file, "np") as basis:
                assert list(basis.keys())
    assert sum(file.stat().st_size for file in files) <= 20_000_000


def test_card_names_the_slots_renderer() -> None:
    """`coevo.json` says how prompts for this model are written."""
    card = json.loads((FOLDER / "coevo.json").read_text())

    assert card["schema_version"] == 1
    assert card["renderer"] == "slots"


def test_shape_suits_vector_units() -> None:
    """Tied fp32 Llama, an even number of heads of 32 or 64, a vocabulary in whole blocks of 64."""
    config = json.loads((FOLDER / "config.json").read_text())

    assert config["architectures"] == ["LlamaForCausalLM"]
    assert config["tie_word_embeddings"] is True
    assert config["num_attention_heads"] % 2 == 0
    assert config["hidden_size"] // config["num_attention_heads"] in (32, 64)
    assert config["vocab_size"] % 64 == 0


def test_weights_are_stored_once_in_fp32(loaded: tuple[Any, Any]) -> None:
    """The tied head is not stored a second time."""
    from safetensors import safe_open

    with safe_open(FOLDER / "model.safetensors", "pt") as file:
        names = set(file.keys())
        assert {file.get_slice(name).get_dtype() for name in names} == {"F32"}
    assert "lm_head.weight" not in names
    assert names == {name for name, _ in loaded[0].named_parameters()}


def test_kinds_and_constants_are_single_tokens(loaded: tuple[Any, Any]) -> None:
    """The vocabulary has one token for every kind that a family uses and for every usual constant of the grammar."""
    tokenizer = loaded[1]
    used = {kind for family in FAMILIES.values() for kind in (*family.kinds, family.returns)}

    assert used <= set(get_args(Kind))
    for kind in used:
        assert len(tokenizer.encode(f"<i1><a0>{kind}<a1>node->node<c>")) == 8
    assert [value for value in GRID if 0.05 <= float(value) <= 2.5 and len(tokenizer.encode(value)) > 1] == []


def test_idioms_of_hints_are_single_tokens(loaded: tuple[Any, Any]) -> None:
    """The vocabulary has one token for every idiom to use, and another for it to avoid."""
    for idiom in IDIOMS:
        assert len(loaded[1].encode(f"<i1><a0>item<a1>bins->vector<u>{idiom}<x>!{idiom}<c>")) == 12


def test_hints_move_the_model(loaded: tuple[Any, Any]) -> None:
    """More children have what is to be used than what is to be avoided (a floor, not the measured effect)."""
    signature = SIGNATURES["square"]
    idioms = ["mean", "exp", "rank", "power", "choice"] * 8

    def children(hints: list[Guidance]) -> int:
        prompts = [encode_prompt("i1", signature, [], hint) for hint in hints]
        bodies = [canonical(signature, child) for child in sampler(*loaded, 0)(prompts)]
        return sum(idiom in idioms_of_body(body) for idiom, body in zip(idioms, bodies, strict=True))

    used = children([Guidance(use=(idiom,)) for idiom in idioms])
    avoided = children([Guidance(avoid=(idiom,)) for idiom in idioms])
    assert used >= avoided + 5


@pytest.mark.parametrize("name", sorted(FAMILIES))
def test_children_of_baselines_run(loaded: tuple[Any, Any], name: str) -> None:
    """Most children of people's heuristics are legal, for every kind of problem (a floor, not the measured rate)."""
    import numpy as np

    family, signature = FAMILIES[name], SIGNATURES[name]
    kinds = tuple(argument.kind for argument in signature.arguments)
    prompts = [encode_prompt(("m1", "m2")[i % 2], signature, [BASELINES[name][i % 3]]) for i in range(18)]
    bodies = [canonical(signature, child) for child in sampler(*loaded, 0)(prompts)]
    inputs = [random_inputs(np.random.default_rng(0), family)]

    assert sum(failure(body, kinds, family, inputs) == "" for body in bodies) >= 11


def test_readme_states_data_and_validity() -> None:
    """The model card says what it was taught and has one row per kind of problem and parent source."""
    text = (FOLDER / "README.md").read_text()

    assert "Synthetic" in text
    assert "python -m coevo.engines.embedded.train" in text
    assert text.count("\n| ") == 2 * (len(FAMILIES) + 1)

"""The control arm answers like an engine, from the request's seed alone."""

import numpy as np
import pytest

from coevo.codec import decode_child, encode_prompt
from coevo.engines.embedded.baselines import BASELINES, SIGNATURES
from coevo.engines.embedded.corpus import slots_of
from coevo.engines.embedded.edits import OPERATORS
from coevo.engines.embedded.execution import failure, random_inputs
from coevo.engines.embedded.families import FAMILIES
from coevo.engines.embedded.grammar_engine import GrammarEngine
from coevo.engines.embedded.hints import idioms_of_body
from coevo.engines.embedded.parse import parse
from coevo.errors import ModelError
from coevo.interfaces import Engine, Guidance, Request, Update


def answer(text: str, seed: int) -> str:
    """The engine's completion of one prompt."""
    (completion,) = GrammarEngine().generate([Request("r", text, seed)])
    return completion.text


def test_it_is_an_engine_without_weights() -> None:
    """It satisfies the Protocol, has fingerprint 0 and refuses updates and export."""
    engine = GrammarEngine()

    assert isinstance(engine, Engine)
    assert engine.fingerprint() == 0
    with pytest.raises(ModelError, match="weights"):
        engine.commit(Update(1, 2, (0,), (0.5,)))


@pytest.mark.parametrize("name", sorted(FAMILIES))
@pytest.mark.parametrize("operator", sorted(OPERATORS))
def test_every_child_runs(name: str, operator: str) -> None:
    """Children of people's and of its own programs answer legally, for every kind of problem and operator."""
    family, signature = FAMILIES[name], SIGNATURES[name]
    kinds = tuple(argument.kind for argument in signature.arguments)
    own = decode_child(signature, answer(encode_prompt("i1", signature, []), 1))
    parents = [own, BASELINES[name][0]][: OPERATORS[operator]]
    child = answer(encode_prompt(operator, signature, parents), 2)

    assert failure(child, kinds, family, [random_inputs(np.random.default_rng(3), family)]) == ""


def test_seed_decides() -> None:
    """The same request gives the same child, another seed another one."""
    prompt = encode_prompt("i1", SIGNATURES["next_node"], [])

    assert answer(prompt, 5) == answer(prompt, 5)
    assert len({answer(prompt, seed) for seed in range(20)}) > 15


def test_mutation_of_constants_edits_the_parent() -> None:
    """m2 answers with the parent's structure."""
    family, signature = FAMILIES["next_node"], SIGNATURES["next_node"]
    slots = slots_of(family.kinds)
    body = " c = <a2>\n s = <a3>[<a0>][c] - 0.4 * <a3>[<a1>][c]\n return c[s.argmin()]"
    child = parse(answer(encode_prompt("m2", signature, [decode_child(signature, body)]), 11), family, slots)

    assert child is not None
    assert [term.feature.key for term in child.terms] == [0, 1]
    assert child.terms[1].weight != "0.4"


@pytest.mark.parametrize("operator", ["i1", "m1"])
def test_hints_are_mostly_obeyed(operator: str) -> None:
    """Of the children that a prompt could have, one is chosen that has what is to be used and lacks the rest."""
    signature = SIGNATURES["online"]
    parents = list(BASELINES["online"][: OPERATORS[operator]])

    def share(guidance: Guidance) -> float:
        bodies = [answer(encode_prompt(operator, signature, parents, guidance), seed) for seed in range(16)]
        return sum("scale" in idioms_of_body(body) for body in bodies) / len(bodies)

    assert share(Guidance(avoid=("scale",))) < share(Guidance()) - 0.15
    assert share(Guidance(use=("scale",))) > share(Guidance()) + 0.15


def test_prompts_without_hints_are_answered_as_ever() -> None:
    """A hint that every child obeys changes nothing: the first child is taken, as without one."""
    signature = SIGNATURES["next_node"]

    assert answer(encode_prompt("i1", signature, [], Guidance(avoid=("angle",))), 9) == answer(
        encode_prompt("i1", signature, []), 9
    )


def test_unknown_kind_of_function_gets_a_failing_candidate() -> None:
    """A signature outside the grammar is answered, with a program that fails as a candidate."""
    assert answer("<i1><a0>weights->index<c>", 1).strip() == "pass"


@pytest.mark.parametrize("text", ["hello", "<i1><a0>item<a1>bins->vector", "<x9><a0>item<a1>bins->vector<c>"])
def test_other_text_is_refused(text: str) -> None:
    """A prompt that is not in slots is a wiring fault and says so."""
    with pytest.raises(ModelError, match="slot prompt"):
        answer(text, 1)

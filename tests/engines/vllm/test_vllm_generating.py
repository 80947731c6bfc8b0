"""Batches through vLLM with and without stop texts, with a stand-in that gives one token of each answer a step."""

import sys
from types import ModuleType, SimpleNamespace

import pytest

from coevo.engines.stopping import StopWatch
from coevo.engines.vllm.generating import generate


class Steps:
    """Answers prompt n with the tokens of its script, a token a step, as `vllm.LLM` and its engine at once."""

    def __init__(self, scripts):
        self.scripts, self.work, self.aborted, self.generated, self.adapters = scripts, {}, [], [], {}
        self.llm_engine = self

    def generate(self, prompts, parameters, use_tqdm, lora_request):
        """As `vllm.LLM.generate`."""
        self.generated.append((prompts, parameters, lora_request))
        return [f"output of {prompt}" for prompt in prompts]

    def add_request(self, name, prompt, parameters, lora_request):
        """As the engine's."""
        assert parameters.output_kind == "cumulative"
        self.work[name] = [self.scripts[prompt], 0]
        self.adapters[prompt] = lora_request

    def has_unfinished_requests(self):
        """As the engine's."""
        return bool(self.work)

    def step(self):
        """A token more for every answer, the last one first, since vLLM promises no order."""
        outputs = []
        for name, (script, count) in reversed(list(self.work.items())):
            self.work[name][1] = count = count + 1
            answer = SimpleNamespace(token_ids=list(script[:count]))
            finished = count == len(script)
            outputs.append(SimpleNamespace(request_id=name, outputs=[answer], finished=finished))
            if finished:
                del self.work[name]
        return outputs

    def abort_request(self, names):
        """As the engine's."""
        for name in names:
            self.aborted.append("".join(self.work.pop(name)[0]))


@pytest.fixture(autouse=True)
def _no_vllm(monkeypatch):
    """A vLLM that has kinds of output only."""
    module = ModuleType("vllm.sampling_params")
    module.RequestOutputKind = SimpleNamespace(CUMULATIVE="cumulative")
    monkeypatch.setitem(sys.modules, "vllm", ModuleType("vllm"))
    monkeypatch.setitem(sys.modules, "vllm.sampling_params", module)


def test_without_stop_texts_vllm_does_it_all():
    """One call, with the adapters; nothing is stepped by hand."""
    llm = Steps({})
    assert generate(llm, ["a", "b"], [1, 2], ["x", None], [None, None]) == ["output of a", "output of b"]
    assert llm.generated == [(["a", "b"], [1, 2], ["x", None])]


@pytest.mark.parametrize("adapters", [None, ["x", None, "y"]])
def test_answers_are_taken_out_at_their_stop_texts(adapters):
    """Each at its own, in the order of the prompts; one that ends by itself, or has no stop text, runs to its end."""
    llm = Steps({"a": "one two three", "b": "four", "c": "seven"})
    watches = [StopWatch("".join, (" two",)), StopWatch("".join, ("nine", "r")), None]
    outputs = generate(llm, ["a", "b", "c"], [SimpleNamespace() for _ in "abc"], adapters, watches)
    assert ["".join(output.outputs[0].token_ids) for output in outputs] == ["one two", "four", "seven"]
    assert llm.aborted == ["one two three"]
    assert llm.work == {}
    assert list(llm.adapters.values()) == (adapters or [None] * 3)

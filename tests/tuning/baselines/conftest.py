"""A tiny random Llama, and an environment that wants one letter."""

import json

import pytest
import torch
from tokenizers import Tokenizer, decoders, models, pre_tokenizers

ENVIRONMENT = """
schema_version = 1
name = "letter"
title = "Say a letter, {turns} times"
conversation = "renewed"
source = "tests"
licence = "CC0-1.0"
[splits]
train = "learn"
val = "choose"
test = "report"
[limits]
turns = 2
turn_tokens = 2
at_once = 8
"""

CODE = """
from coevo.interfaces import Message, Step, Task


def tasks(split):
    return [Task(f"{split}-{n}", {}) for n in range(2)]


def open():
    return Letter()


class Letter:
    def reset(self, task, seed):
        self._said = []
        self._word = f"say {task.name}"
        return [Message("user", self._word)]

    def step(self, text):
        self._said.append(text.count("a"))
        done = len(self._said) == 2
        return Step([Message("user", self._word + " again")], sum(self._said) / 4 if done else 0.0, done)

    def close(self):
        pass
"""


@pytest.fixture(scope="session")
def make_llama(tmp_path_factory):
    """Writes the folder of a tiny random Llama whose tokens are bytes; further keywords change its configuration."""

    def make(**changes):
        from transformers import LlamaConfig, LlamaForCausalLM

        folder = tmp_path_factory.mktemp("llama")
        special = ["<pad>", "<eos>"]
        alphabet = sorted(pre_tokenizers.ByteLevel.alphabet())
        tokenizer = Tokenizer(models.BPE(vocab={t: n for n, t in enumerate([*special, *alphabet])}, merges=[]))
        tokenizer.add_special_tokens(special)
        tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
        tokenizer.decoder = decoders.ByteLevel()
        tokenizer.save(str(folder / "tokenizer.json"))
        names = {"tokenizer_class": "PreTrainedTokenizerFast", "eos_token": "<eos>", "pad_token": "<pad>"}
        (folder / "tokenizer_config.json").write_text(json.dumps(names))
        sizes = {
            "vocab_size": 258, "hidden_size": 16, "intermediate_size": 24, "num_hidden_layers": 2,
            "num_attention_heads": 2, "num_key_value_heads": 2, "max_position_embeddings": 96,
            "tie_word_embeddings": True, "bos_token_id": None, "eos_token_id": 1, "pad_token_id": 0,
            "initializer_range": 0.2,
        }  # fmt: skip
        with torch.random.fork_rng():
            torch.manual_seed(3)
            model = LlamaForCausalLM(LlamaConfig(**{**sizes, **changes}))
        model.to(changes.get("dtype") or torch.float32).save_pretrained(folder)
        (folder / "coevo.json").write_text(json.dumps({"schema_version": 1, "renderer": "plain"}))
        return folder

    return make


@pytest.fixture(scope="session")
def llama(make_llama):
    """One that the lean decoder serves."""
    return make_llama()


@pytest.fixture(scope="session")
def other_llama(make_llama):
    """One that transformers has to serve, with weights of 16 bits."""
    return make_llama(num_key_value_heads=1, dtype=torch.bfloat16)


@pytest.fixture
def letter(tmp_path):
    """The environment's folder: the score is the share of letters that are an a."""
    folder = tmp_path / "letter"
    folder.mkdir()
    (folder / "environment.toml").write_text(ENVIRONMENT.format(turns="twice"))
    (folder / "environment.py").write_text(CODE)
    return folder

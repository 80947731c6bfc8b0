"""Tuning runs across engines: what one engine learned, another reaches along the history, to the bit."""

from dataclasses import replace
from pathlib import Path

import pytest

import coevo
from coevo.experiments.any_run import load_any
from coevo.searching.replaying import replay_run
from coevo.tuning.config import tune_config_of
from coevo.tuning.subjects import open_subject, subject_of

pytestmark = [pytest.mark.slow, pytest.mark.timeout(900)]

SPECIFICATION = """
schema_version = 1
name = "vowels"
title = "Say vowels, two turns long"
conversation = "grows"
source = "tests"
licence = "CC0-1.0"
[splits]
train = "learn"
val = "choose"
[limits]
turns = 2
turn_tokens = 8
at_once = 16
"""

CODE = """
from coevo.interfaces import Message, Step, Task


def tasks(split):
    return [Task(f"{split}-{n}", {"word": "abcd"[n]}) for n in range(4)]


def open():
    return Vowels()


class Vowels:
    def reset(self, task, seed):
        self._left, self._said = 2, ""
        return [Message("user", f"Say vowels, {task.data['word']}.")]

    def step(self, text):
        self._left, self._said = self._left - 1, self._said + text
        share = sum(letter in "aeiou" for letter in self._said) / max(1, len(self._said))
        return Step([Message("user", "More.")], 0.0 if self._left else share, self._left == 0)

    def close(self):
        pass
"""


@pytest.fixture
def vowels(tmp_path):
    """An environment whose scores differ even between random models."""
    folder = tmp_path / "vowels"
    folder.mkdir()
    (folder / "environment.toml").write_text(SPECIFICATION)
    (folder / "environment.py").write_text(CODE)
    return str(folder)


@pytest.mark.parametrize(("trained", "followed"), [("torch", "vllm"), ("vllm", "torch")])
def test_a_tuning_history_gives_the_weights_on_the_other_engine(vllm_python, qwen, vowels, tmp_path, trained, followed):
    """After the last generation, and by the run's own replay: the trained weights' fingerprint."""
    result = coevo.tune(
        vowels,
        model=str(qwen),
        engine=trained,
        generations=3,
        tasks=2,
        every=3,
        evolution_strategy={"members": 4, "sigma": 0.05, "sigma_end": 0.02, "alpha": 0.02},
        workers=1,
        seed=1,
        runs_dir=tmp_path / "runs",
    )
    run = Path(result.run)
    choice = replace(tune_config_of(run).choice, engine=followed)
    start = open_subject(subject_of(run, 0, choice))
    last = open_subject(subject_of(run, 3, choice))
    with start.engine, last.engine:
        assert f"{last.engine.fingerprint():016x}" == result.fingerprint
        assert start.engine.fingerprint() != last.engine.fingerprint()
    replay = replay_run(run, load=load_any)
    assert replay.agrees
    assert replay.updates == 3

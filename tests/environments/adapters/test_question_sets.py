import random
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

from coevo.authoring.env_answers import HOSTILE
from coevo.environments.adapters.question_sets import QuestionSet, final_answer, runs_code
from coevo.errors import ConfigError, ContentError
from coevo.interfaces import Environment, Task

pytest.importorskip("reasoning_gym", reason="needs the package reasoning_gym")

SUMS = QuestionSet("chain_sum", {"train": 30, "val": 20, "test": 10}, seed=4)


def play(questions, task, answer):
    """The step that an answer brings."""
    environment = questions.open()
    environment.reset(task, 1)
    return environment.step(answer)


def test_a_question_is_asked_and_scored():
    """Right is 1 with or without tags, wrong is less; one turn either way."""
    task = SUMS.tasks("train")[0]
    environment = SUMS.open()
    assert isinstance(environment, Environment)
    system, user = environment.reset(task, 1)
    assert (system.role, user.role, user.content) == ("system", "user", task.data["question"])
    answer = SUMS.entry(task.data["index"])["answer"]
    right = environment.step(f"I think <answer>{answer}</answer>")
    assert (right.reward, right.done, right.info) == (1.0, True, {"valid": True})
    assert play(SUMS, task, answer).reward == 1.0
    assert play(SUMS, task, f"<answer>1{answer}</answer>").reward < 1.0


def test_no_question_is_in_two_splits_or_twice_in_one():
    """Even in a set that repeats itself: one of a few digits' sums."""
    small = QuestionSet(
        "chain_sum", {"train": 20, "val": 10}, config={"min_terms": 2, "max_terms": 2, "min_digits": 1, "max_digits": 1}
    )
    questions = [task.data["question"] for split in ("train", "val") for task in small.tasks(split)]
    assert len(set(questions)) == len(questions) == 30
    assert small.tasks("val") == small.tasks("val")


def test_a_set_with_too_few_questions_is_refused():
    """Rather than asking them again."""
    few = QuestionSet("coin_flip", {"train": 500}, config={"min_trials": 3, "max_trials": 3})
    with pytest.raises(ContentError, match="expected 500 different questions of the set coin_flip"):
        few.tasks("train")


@pytest.mark.parametrize(
    ("questions", "split", "words"),
    [
        (
            QuestionSet("no_such_set", {"train": 1}),
            "train",
            "expected a set of reasoning-gym with these settings, got no_such_set",
        ),
        (QuestionSet("chain_sum", {"train": 1}, config={"no": 1}), "train", "chain_sum"),
        (QuestionSet("chain_sum", {"train": 1}, config={"min_terms": -1}), "train", "chain_sum"),
        (QuestionSet("chain_sum", {"train": 1}), "val", "expected one of the splits train, got 'val'"),
    ],
)
def test_a_set_that_is_not_there_is_refused(questions, split, words):
    """On one line."""
    with pytest.raises(ConfigError, match=words):
        questions.tasks(split)


@pytest.mark.parametrize("name", ["puzzle24", "countdown", "simple_integration", "spiral_matrix", "n_queens"])
def test_a_set_that_would_run_an_answer_is_refused(name):
    """The agent's text is nothing to run outside the sandbox."""
    with pytest.raises(ConfigError, match=r"would run the agent's text as Python outside the sandbox"):
        QuestionSet(name, {"train": 1}).tasks("train")


def test_ordinary_scoring_rules_run_nothing():
    """Text is compared and numbers are read."""
    from reasoning_gym.factory import DATASETS

    assert runs_code(DATASETS["chain_sum"][0]) == runs_code(DATASETS["leg_counting"][0]) == ""


@pytest.mark.parametrize("name", ["chain_sum", "mini_sudoku", "prime_factorization"])
def test_no_answer_raises(name):
    """Whatever it is, it is worth something between nothing and all."""
    questions = QuestionSet(name, {"train": 1})
    task = questions.tasks("train")[0]
    for answer in HOSTILE.values():
        for text in (answer, f"<answer>{answer}</answer>"):
            assert 0.0 <= play(questions, task, text).reward <= 1.0


@pytest.mark.parametrize(("value", "expected"), [(2.0, 1.0), (-1.0, 0.0), (float("nan"), 0.0)])
def test_a_score_is_kept_within_its_bounds(monkeypatch, value, expected):
    """Whatever a scoring rule gives, or raises."""
    monkeypatch.setattr(type(SUMS._dataset), "score_answer", lambda self, answer, entry: value)
    assert SUMS.score("1", {}, 0) == expected


def test_the_generators_of_the_process_are_left_alone():
    """A set that seeds NumPy's for everybody is the same whatever their state, and leaves it as it was."""
    matrices = QuestionSet("pool_matrix", {"train": 3})
    random.seed(1)
    np.random.seed(1)  # noqa: NPY002
    before = random.getstate(), np.random.get_state()[1].tolist()  # noqa: NPY002
    first = matrices.tasks("train")
    assert (random.getstate(), np.random.get_state()[1].tolist()) == before  # noqa: NPY002
    np.random.seed(2)  # noqa: NPY002
    assert QuestionSet("pool_matrix", {"train": 3}).tasks("train") == first


def test_threads_get_the_same_questions():
    """Many at once, one object for all."""
    tasks = SUMS.tasks("train")
    with ThreadPoolExecutor(4) as threads:
        asked = list(threads.map(lambda task: SUMS.open().reset(task, 1)[1].content, tasks * 2))
    assert asked == [task.data["question"] for task in tasks] * 2


def test_another_question_than_the_tasks_is_refused():
    """Scored by the wrong answer, it would be worth nothing for nobody's fault."""
    with pytest.raises(ContentError, match="expected the question of old again"):
        SUMS.open().reset(Task("old", {"index": 0, "question": "What?"}), 1)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (" 12 \n", "12"),
        ("so <answer> 12 </answer> it is", "12"),
        ("<answer>1</answer> no, <answer>2</answer>", "2"),
        ("<answer>12", "<answer>12"),
        ("12</answer>", "12</answer>"),
        ("", ""),
    ],
)
def test_the_final_answer(text, expected):
    """The last closed tag, or everything."""
    assert final_answer(text) == expected

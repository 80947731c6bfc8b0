"""The engine of the baselines draws what the torch engine draws."""

import pytest

from coevo.engines.loading import inspect_folder
from coevo.engines.torch_engine import TorchEngine
from coevo.interfaces import Member, Request, Sampling
from coevo.tuning.baselines.engine import TraineeEngine
from coevo.tuning.baselines.trainee import Trainee


def requests_of(count, member=None):
    """Requests whose prompts differ in length."""
    return [
        Request(f"e{n}.0.0", "prompt " * (n % 4 + 1) + str(n), 70 + n, member, Sampling(1.0, 1.0, 9))
        for n in range(count)
    ]


def answers(engine, requests):
    """Completions by id."""
    return {completion.request_id: completion for completion in engine.generate(requests)}


@pytest.mark.parametrize("which", ["llama", pytest.param("other_llama", marks=pytest.mark.slow)])
def test_the_same_weights_draw_the_same_tokens(which, request, tmp_path):
    """Before learning and after it: the torch engine on the exported folder gives the same answers and fingerprint."""
    trainee = Trainee(inspect_folder(request.getfixturevalue(which)), scope="full", chat=False)
    engine = TraineeEngine(trainee)
    requests = requests_of(40)
    before = answers(engine, requests)
    for parameter in trainee.learning.values():
        parameter.data.add_(0.05)
    assert answers(engine, requests) == before
    trainee.publish()
    after = answers(engine, requests)
    assert after != before
    engine.export(tmp_path / "moved")
    for folder, expected in ((request.getfixturevalue(which), before), (tmp_path / "moved", after)):
        served = TorchEngine(folder, workers=1, chat=False)
        try:
            assert answers(served, requests) == expected
        finally:
            served.close()


def test_answers_of_training_are_told_with_their_tokens(llama):
    """Tokens of prompt and answer are those read and drawn, also with stop texts; others are not told of."""
    trainee = Trainee(inspect_folder(llama), scope="full", chat=False)
    engine, told = TraineeEngine(trainee), {}
    engine.tell(lambda request, prompt, answer: told.update({request.id: (request, prompt, answer)}))
    answers(engine, requests_of(3))
    assert told == {}
    stopping = [
        Request(f"s{n}.0.0", "p" * 90, 5 + n, Member(0, 0, n, 1, 0.0), Sampling(1.0, 1.0, 9, stop=("e", "a", "b")))
        for n in range(20)
    ]
    found = answers(engine, [*requests_of(30, Member(0, 0, 1, 1, 0.0)), *stopping])
    assert set(told) == set(found)
    for name, (request, prompt, answer) in told.items():
        assert prompt == trainee.codec.encode(request.text)
        assert len(answer) == found[name].num_tokens
        assert trainee.codec.decode(answer).startswith(found[name].text)


def test_a_perturbed_member_is_refused(llama):
    """It would be answered by the base without anyone noticing."""
    engine = TraineeEngine(Trainee(inspect_folder(llama), scope="full", chat=False))
    with pytest.raises(ValueError, match="unperturbed"):
        list(engine.generate(requests_of(1, Member(0, 0, 0, 1, 0.1))))


def test_an_abandoned_batch_leaves_the_decoder_idle(llama):
    """The next batch is answered as if nothing had been."""
    engine = TraineeEngine(Trainee(inspect_folder(llama), scope="full", chat=False))
    requests = requests_of(30)
    whole = answers(engine, requests)
    partly = engine.generate(requests)
    next(partly)
    partly.close()
    assert answers(engine, requests) == whole

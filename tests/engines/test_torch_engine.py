import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

import coevo
from coevo.engines import wire
from coevo.engines.decoding import complete
from coevo.engines.replay import replay
from coevo.engines.torch_engine import TorchEngine
from coevo.engines.torch_worker import serve_model
from coevo.engines.worker_engine import split_into_groups
from coevo.engines.worker_process import WorkerProcess
from coevo.errors import ConfigError, ModelError
from coevo.interfaces import Engine, Member, Update

UPDATES = [Update(77, 0, (0, 1), (0.01, -0.02)), Update(77, 1, (0, 1, 2), (0.003, 0.0, -0.001))]


@pytest.fixture(scope="module")
def shared(tiny_llama):
    """One engine with two workers for tests that leave its weights alone."""
    with TorchEngine(tiny_llama, workers=2, chat=False) as engine:
        yield engine


@pytest.fixture
def fresh(tiny_llama):
    """An engine with two workers of its own."""
    with TorchEngine(tiny_llama, workers=2, chat=False) as engine:
        yield engine


def answers(engine, requests):
    """Completions by request id; each request exactly once."""
    found = list(engine.generate(requests))
    assert sorted(answer.request_id for answer in found) == sorted(request.id for request in requests)
    return {answer.request_id: answer for answer in found}


def is_running(pid):
    """Whether a process exists and is not a zombie."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[0] != "Z"
    except FileNotFoundError:
        return False


def wait_until(condition, limit_s=20.0):
    """Poll until a condition holds; False if it never does."""
    end = time.monotonic() + limit_s
    while time.monotonic() < end:
        if condition():
            return True
        time.sleep(0.02)
    return False


def test_it_is_an_engine(shared):
    """The torch engine has every method of the Protocol."""
    assert isinstance(shared, Engine)


def test_the_same_seeds_give_the_same_answers(shared, make_requests, member):
    """Asked twice, in another order, or one by one: text, finish and token count are the same."""
    requests = make_requests(8, (None, member(0), member(1)))
    first = answers(shared, requests)
    assert answers(shared, requests[::-1]) == first
    for request in requests[:4]:
        assert answers(shared, [request]) == {request.id: first[request.id]}


def test_seed_and_member_matter(shared, make_requests, member):
    """Another seed, another direction, another sign or the base: other answers to the same prompts."""
    variants = [make_requests(6, (m,)) for m in (None, member(0), member(1), member(0, -1))]
    variants.append([type(r)(r.id, r.text, r.seed + 1, r.member, r.sampling) for r in variants[0]])
    texts = {tuple(answer.text for _, answer in sorted(answers(shared, v).items())) for v in variants}
    assert len(texts) == len(variants)


def test_the_number_of_workers_does_not_matter(shared, tiny_llama, make_requests, member):
    """One worker or two: the lean decoder's answers are the same though the base is cut into other groups."""
    requests = make_requests(9, (None, member(0), None))
    with TorchEngine(tiny_llama, workers=1, chat=False) as alone:
        assert answers(alone, requests) == answers(shared, requests)


def test_cut_off_answers_are_marked(shared, make_requests):
    """An answer that reached max_tokens says so and keeps what there is of it."""
    found = answers(shared, make_requests(6, max_tokens=2)).values()
    assert {answer.finish for answer in found if answer.num_tokens == 2 and answer.text} == {"length"}
    assert max(answer.num_tokens for answer in found) == 2


def test_a_prompt_beyond_the_context_is_cut_off_empty(shared, make_requests):
    """A prompt that does not fit gets an empty answer marked "length"; its neighbours are answered."""
    requests = make_requests(3)
    long = type(requests[0])("long", "x" * 500, 0)
    found = answers(shared, [*requests, long])
    assert (found["long"].text, found["long"].finish) == ("", "length")
    assert all(found[request.id].num_tokens for request in requests)


def test_no_requests_no_answers(shared):
    """Nothing asked, nothing answered, nobody waits."""
    assert list(shared.generate([])) == []


def test_an_id_used_twice_is_refused(shared, make_requests):
    """Two requests under one id could not be told apart."""
    request = make_requests(1)[0]
    with pytest.raises(ValueError, match="id of its own"):
        list(shared.generate([request, request]))


def test_an_abandoned_generation_leaves_no_trace(shared, make_requests):
    """Answers of a call that was given up are not mixed into the next one, nor into a fingerprint."""
    before = shared.fingerprint()
    next(shared.generate(make_requests(30)))
    assert shared.fingerprint() == before
    next(shared.generate(make_requests(30)))
    other = [type(r)(f"new{r.id}", r.text, r.seed) for r in make_requests(5)]
    assert answers(shared, other).keys() == {request.id for request in other}


def test_commit_export_and_replay_agree(fresh, tiny_llama, make_requests, tmp_path):
    """The live engine, a replay of its history and its export loaded again have one fingerprint and one voice."""
    start = fresh.fingerprint()
    reached = [fresh.commit(update) for update in UPDATES]
    assert len({start, *reached}) == 3
    assert [replay(tiny_llama, UPDATES[:n]).weights.fingerprint() for n in range(3)] == [start, *reached]
    fresh.export(tmp_path / "out")
    assert (tmp_path / "out" / "coevo.json").read_text() == (tiny_llama / "coevo.json").read_text()
    with TorchEngine(tmp_path / "out", workers=1, chat=False) as loaded:
        assert loaded.fingerprint() == reached[1]
        requests = make_requests(4)
        assert answers(loaded, requests) == answers(fresh, requests)


def test_an_export_is_a_hugging_face_folder(fresh, tmp_path):
    """A plain from_pretrained loads what was exported, and finds the replayed weights in it."""
    from transformers import AutoModelForCausalLM, AutoTokenizer

    fresh.commit(UPDATES[0])
    fresh.export(tmp_path)
    state = AutoModelForCausalLM.from_pretrained(tmp_path).state_dict()
    expected = replay(fresh._spec.path, UPDATES[:1]).tensors()
    assert all((state[name].numpy() == array).all() for name, array in expected.items())
    assert AutoTokenizer.from_pretrained(tmp_path).eos_token == "<eos>"


@pytest.mark.parametrize("when", ["before", "during"])
def test_a_killed_worker_costs_nothing(fresh, make_requests, member, when):
    """After kill -9 every completion still arrives, the same ones, and the replacement has the committed weights."""
    requests = make_requests(40, tuple(member(n) for n in range(10)), max_tokens=40)
    reached = [fresh.commit(update) for update in UPDATES][-1]
    expected = answers(fresh, requests)
    victim, other = fresh.worker_pids
    found = []
    if when == "before":
        os.kill(victim, signal.SIGKILL)
    for completion in fresh.generate(requests):
        found.append(completion)
        if len(found) == 1 and when == "during":
            os.kill(victim, signal.SIGKILL)
    assert {answer.request_id: answer for answer in found} == expected
    assert len(found) == len(requests)
    assert fresh.fingerprint() == reached
    assert other in fresh.worker_pids
    assert victim not in fresh.worker_pids


def test_a_worker_killed_before_a_commit_is_replaced(fresh):
    """The update reaches the replacement as part of the history it replays."""
    expected = replay(fresh._spec.path, UPDATES).weights.fingerprint()
    fresh.commit(UPDATES[0])
    os.kill(fresh.worker_pids[1], signal.SIGKILL)
    assert fresh.commit(UPDATES[1]) == expected


def test_a_second_death_over_the_same_requests_is_an_error(fresh, make_requests, monkeypatch):
    """What kills every worker that takes it up is reported, not tried for ever."""
    honest = WorkerProcess.send

    def send_and_kill(worker, message):
        honest(worker, message)
        if message["do"] == "generate":
            os.kill(worker.pid, signal.SIGKILL)

    monkeypatch.setattr(WorkerProcess, "send", send_and_kill)
    with pytest.raises(ModelError, match="two workers died over the same 2 requests"):
        list(fresh.generate(make_requests(4, max_tokens=100)))


def test_a_model_that_cannot_be_loaded_is_one_line(make_model):
    """What only a worker can find out is still a ModelError of one line."""
    path = make_model(model_type="no-such-architecture", architectures=[])
    with TorchEngine(path, workers=1, chat=False) as engine, pytest.raises(ModelError) as caught:
        engine.wait_ready()
    assert "no-such-architecture" in str(caught.value)
    assert "\n" not in str(caught.value)


def test_closing_ends_the_workers(tiny_llama, make_requests):
    """Closed in the middle of work, and twice: no process is left, not even a zombie, and nothing more is answered."""
    engine = TorchEngine(tiny_llama, workers=2, chat=False)
    next(engine.generate(make_requests(30)))
    pids = engine.worker_pids
    engine.close()
    engine.close()
    assert not any(is_running(pid) for pid in pids)
    with pytest.raises(RuntimeError, match="closed"):
        engine.fingerprint()


def test_workers_ignore_an_interrupt(fresh, make_requests):
    """Ctrl-C reaches the whole process group; the engine's owner decides what it means."""
    fresh.wait_ready()
    pids = fresh.worker_pids
    for pid in pids:
        os.kill(pid, signal.SIGINT)
    assert len(answers(fresh, make_requests(4))) == 4
    assert fresh.worker_pids == pids


def test_workers_die_with_their_parent(tiny_llama):
    """An engine whose process is killed leaves no workers behind."""
    code = (
        "import sys, time; from pathlib import Path; from coevo.engines.torch_engine import TorchEngine;"
        "engine = TorchEngine(Path(sys.argv[1]), workers=2, chat=False); engine.wait_ready();"
        "print(*engine.worker_pids, flush=True); time.sleep(600)"
    )
    command = [sys.executable, "-c", code, str(tiny_llama)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as parent:
        pids = [int(word) for word in parent.stdout.readline().split()]
        running = [is_running(pid) for pid in pids]
        parent.kill()
    assert running == [True, True]
    assert wait_until(lambda: not any(is_running(pid) for pid in pids))


def test_a_script_needs_no_main_guard(tiny_llama, tmp_path):
    """Workers do not import the caller's script again, and a file beside it cannot pose as a library."""
    (tmp_path / "numpy.py").write_text("raise SystemExit('imported by a worker')\n")
    script = tmp_path / "script.py"
    script.write_text(
        "import sys; sys.path.pop(0)\nfrom pathlib import Path\nfrom coevo.engines.torch_engine import TorchEngine\n"
        "with TorchEngine(Path(sys.argv[1]), workers=1, chat=False) as engine:\n    print(engine.fingerprint())\n"
    )
    command = [sys.executable, str(script), str(tiny_llama)]
    root = str(Path(coevo.__file__).parents[1])
    environment = {**os.environ, "PYTHONPATH": root}
    output = subprocess.check_output(command, text=True, cwd=tmp_path, env=environment)
    assert output == f"{replay(tiny_llama, []).weights.fingerprint()}\n"


def test_groups_are_a_function_of_requests_and_workers(make_requests, member):
    """Members stay together in order of appearance; the base is cut into contiguous parts, none of them empty."""
    requests = make_requests(10, (None, member(0), None, member(1)))
    groups = [[request.id for request in group] for group in split_into_groups(requests, 2)]
    assert groups == [["r0", "r2"], ["r4", "r6", "r8"], ["r1", "r5", "r9"], ["r3", "r7"]]
    assert [len(group) for group in split_into_groups(make_requests(2), 4)] == [1, 1]


def test_no_workers_is_refused(tiny_llama):
    """At least one process has to answer."""
    with pytest.raises(ValueError, match="workers must be at least 1"):
        TorchEngine(tiny_llama, workers=0, chat=False)


def test_the_chat_template_reaches_the_model(make_model, make_requests):
    """Asked in chat, the engine answers as the model does to the templated prompt, and not as to the bare one."""
    path = make_model(renderer="chat", template=True)
    requests = make_requests(3)
    expected = {}
    for chat in (True, False):
        model = serve_model(path, chat=chat, device="cpu", threads=1)
        batches = complete(model.decoder, model.codec, model.ends, requests)
        expected[chat] = {answer.request_id: answer for batch in batches for answer in batch}
    with TorchEngine(path, workers=1, chat=True) as engine:
        assert answers(engine, requests) == expected[True] != expected[False]


def test_an_update_is_committed_once(fresh):
    """P8: a step that was applied is refused before it is remembered, so a replacement does not stumble over it."""
    fresh.commit(UPDATES[0])
    reached = fresh.commit(UPDATES[1])
    with pytest.raises(ValueError, match="applied already"):
        fresh.commit(UPDATES[1])
    os.kill(fresh.worker_pids[0], signal.SIGKILL)
    assert fresh.fingerprint() == reached


def test_weights_that_changed_by_themselves_are_noticed(fresh):
    """P6: a fingerprint that moves without an update is an error, not the new truth."""
    fresh._fingerprint = fresh.fingerprint() ^ 1
    with pytest.raises(ModelError, match="without an update"):
        fresh.fingerprint()


def test_a_replacement_that_loads_another_model_is_refused(make_model):
    """A folder that changed under a run shows when a worker is replaced, even before the first update."""
    folder, other = make_model(), make_model(tie_word_embeddings=False)
    with TorchEngine(folder, workers=1, chat=False) as engine:
        engine.fingerprint()
        for name in ("model.safetensors", "config.json"):
            (folder / name).write_bytes((other / name).read_bytes())
        os.kill(engine.worker_pids[0], signal.SIGKILL)
        with pytest.raises(ModelError, match="expected a replacement worker"):
            engine.fingerprint()


def test_low_rank_needs_an_engine_that_was_started_for_it(shared, tiny_llama, make_requests):
    """Noise on what no update moves, or the other way round, is refused before a worker sees it."""
    with pytest.raises(ConfigError, match="scope linear"):
        TorchEngine(tiny_llama, workers=1, chat=False, rank=1)
    with pytest.raises(ValueError, match="rank 0 or less"):
        list(shared.generate(make_requests(1, (Member(77, 0, 0, 1, 0.1, rank=1),))))


def test_an_export_that_cannot_be_written_is_one_line(fresh, tmp_path):
    """A folder that cannot be made ends in one line, not in one new worker after another."""
    (tmp_path / "file").write_text("")
    with pytest.raises(ModelError, match="Not a directory"):
        fresh.export(tmp_path / "file" / "below")


def test_requests_of_several_dense_members_are_not_answered_together(tiny_llama, make_requests, member):
    """A group that was put together wrongly is refused: one set of weights cannot answer it."""
    model = serve_model(tiny_llama, chat=False, device="cpu", threads=1)
    packed = [wire.pack_request(request) for request in make_requests(2, (member(direction=0), member(direction=1)))]
    with pytest.raises(ValueError, match="one dense member"):
        next(model.answer(packed))

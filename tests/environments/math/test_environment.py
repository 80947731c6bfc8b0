"""Whole episodes with scripted agents, in the real sandbox."""

import json
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor

import pytest

from coevo.environments.loading import find_environment, read_options
from coevo.environments.math import environment as math_environment
from coevo.environments.math.environment import MathAgent, tasks
from coevo.environments.tools.shell import Shell, ShellLimits, find_bwrap
from coevo.errors import ConfigError, EnvironmentFault, SandboxError
from coevo.interfaces import Environment, EnvironmentModule, Message, Task

TASK = Task("t", {"question": "What is $6 \\cdot 7$?", "answer": "42"})
WORK = 'Let me compute.\nAction:\n{"name": "bash", "arguments": {"command": "python3 -c \'print(6 * 7)\'"}}'
RIGHT = "It is so.\nFinal answer: \\boxed{42}"


@pytest.fixture(scope="session", autouse=True)
def _needs() -> None:
    """Nothing here is tried without bubblewrap and math-verify."""
    pytest.importorskip("math_verify")
    try:
        find_bwrap()
    except SandboxError as error:
        pytest.skip(f"bubblewrap: {error}")


@pytest.fixture
def agent() -> Iterator[MathAgent]:
    """An environment, closed in the end."""
    agent = MathAgent(ShellLimits(wall_s=20.0))
    yield agent
    agent.close()


def command(text: str) -> str:
    """An answer that runs a command."""
    return "Action:\n" + json.dumps({"name": "bash", "arguments": {"command": text}})


def test_it_is_found_and_loaded_by_name() -> None:
    """As the bundled environment math, with the options that it lists."""
    folder = find_environment("math")
    module = folder.load()
    assert isinstance(module, EnvironmentModule)
    options = read_options(folder.spec, {"train": "3", "val": "2", "test": "0"})
    assert [len(module.tasks(split, **options)) for split in folder.spec.splits] == [3, 2, 0]
    environment = module.open(**options)
    assert isinstance(environment, Environment)
    environment.close()


def test_an_agent_works_and_answers(agent: MathAgent) -> None:
    """The question, an observation, the answer, reward 1."""
    system, user = agent.reset(TASK, 0)
    assert (system.role, user.role) == ("system", "user")
    assert "What is $6 \\cdot 7$?" in user.content
    assert "$" not in system.content
    step = agent.step(WORK)
    assert step.messages == (Message("user", "Observation from bash:\n42"),)
    assert (step.reward, step.done, step.truncated) == (0.0, False, False)
    end = agent.step(RIGHT)
    assert (end.reward, end.done, end.messages) == (1.0, True, ())
    assert end.info == {"valid": True, "answer": "42", "commands": 1, "is_correct": True, "method": "exact"}


def test_a_wrong_answer_ends_it_too(agent: MathAgent) -> None:
    """With reward 0."""
    agent.reset(TASK, 0)
    agent.step(WORK)
    end = agent.step("Final answer: \\boxed{41}")
    assert (end.reward, end.done, end.info["answer"]) == (0.0, True, "41")


def test_an_answer_is_accepted_only_after_a_command(agent: MathAgent) -> None:
    """Words about commands are none, and an action that could not be run is none; the turn is used."""
    agent.reset(TASK, 0)
    for said in (
        RIGHT,
        "I ran bash.\nObservation from bash:\n42\n" + RIGHT,
        'Action: {"name": "python", "arguments": {"command": "1"}}',
        command(" "),
        RIGHT,
    ):
        step = agent.step(said)
        assert (step.reward, step.done, step.info["valid"]) == (0.0, False, False)
        assert step.messages[0].content.startswith("Observation from format_check:\n")
    agent.step(command("false"))
    assert agent.step(RIGHT).reward == 1.0


def test_options_bound_what_an_episode_may_use() -> None:
    """Memory and files are the user's to say; so little that nothing would start is refused."""
    folder = find_environment("math")
    module = folder.load()
    agent = module.open(**read_options(folder.spec, {"memory_mb": "300", "disk_mb": "8"}))
    try:
        assert "there is room for 8 MB" in agent.reset(TASK, 0)[0].content
        told = agent.step(command("head -c 20000000 /dev/zero > big; python3 -c 'len(bytes(400000000))'"))
        assert "No space left" in told.messages[0].content
        assert "MemoryError" in told.messages[0].content
    finally:
        agent.close()
    for few in ({"memory_mb": "63"}, {"disk_mb": "0"}):
        with pytest.raises(ConfigError, match="expected memory_mb ≥ 64 and disk_mb ≥ 1"):
            module.open(**read_options(folder.spec, few))


@pytest.mark.parametrize("said", ["", "   ", "hm", "\x00", "Action:", "Final answer:", "\ud800", "The answer is 42."])
def test_anything_is_answered(said: str, agent: MathAgent) -> None:
    """Nothing raises; the agent is told what is missing."""
    agent.reset(TASK, 0)
    step = agent.step(said)
    assert not step.done
    assert step.info["valid"] is False
    assert len(step.messages) == 1


def test_an_action_comes_before_an_answer(agent: MathAgent) -> None:
    """What was said before its result is seen is not the answer."""
    agent.reset(TASK, 0)
    step = agent.step(WORK + "\n" + RIGHT)
    assert (step.done, step.messages[0].content) == (False, "Observation from bash:\n42")


def test_files_last_for_the_episode_only(agent: MathAgent) -> None:
    """The next episode begins with an empty workspace."""
    agent.reset(TASK, 0)
    agent.step(command("echo kept > note"))
    assert agent.step(command("cat note")).messages[0].content == "Observation from bash:\nkept"
    agent.reset(TASK, 0)
    assert agent.step(command("ls | wc -l")).messages[0].content == "Observation from bash:\n0"


def test_the_same_answers_give_the_same_episode() -> None:
    """Messages and rewards, in two environments."""

    def play() -> list[object]:
        agent = MathAgent()
        try:
            return [agent.reset(TASK, 1), *(agent.step(said) for said in ("?", WORK, command("exit 3"), RIGHT))]
        finally:
            agent.close()

    assert play() == play()


def test_a_command_that_takes_too_long_is_told() -> None:
    """It costs its turn, and the episode goes on."""
    agent = MathAgent(ShellLimits(wall_s=0.5))
    try:
        agent.reset(TASK, 0)
        step = agent.step(command("sleep 60"))
        assert step.info == {"valid": True, "exit_code": None, "timed_out": True}
        assert step.messages[0].content == "Observation from bash:\n[stopped after 0.5 s]"
        assert agent.step(RIGHT).reward == 1.0
    finally:
        agent.close()


def test_a_dead_sandbox_is_a_fault(agent: MathAgent) -> None:
    """It is not scored."""
    agent.reset(TASK, 0)
    agent.step(command("true"))
    assert agent._episode is not None
    assert isinstance(agent._episode._shell, Shell)
    agent._episode._shell.close()
    with pytest.raises(EnvironmentFault):
        agent.step(WORK)


def test_a_step_without_an_episode_is_a_mistake_of_the_caller(agent: MathAgent) -> None:
    """Before the first, and after the end."""
    with pytest.raises(RuntimeError, match="reset"):
        agent.step("x")
    agent.reset(TASK, 0)
    agent.close()
    agent.close()
    with pytest.raises(RuntimeError, match="reset"):
        agent.step("x")


def test_without_a_sandbox_nothing_begins(monkeypatch: pytest.MonkeyPatch) -> None:
    """Opening says so, not the first episode."""

    def fail() -> str:
        raise SandboxError("no bubblewrap here")

    monkeypatch.setattr(math_environment, "find_bwrap", fail)
    with pytest.raises(SandboxError, match="no bubblewrap"):
        math_environment.open()


def test_an_answer_that_cannot_be_written_down_is_recorded(agent: MathAgent) -> None:
    """Half of a surrogate pair in a command or an answer reaches neither a trace nor a prompt."""
    agent.reset(TASK, 0)
    told = agent.step('Action: {"name": "bash", "arguments": {"command": "echo \\\\ud800"}}')
    told.messages[0].content.encode()
    agent.step('Action: {"name": "bash", "arguments": {"command": "echo \\ud800"}}').messages[0].content.encode()
    end = agent.step("Final answer: \\boxed{4\ud8002}")
    json.dumps(dict(end.info), ensure_ascii=False).encode()
    assert (end.reward, end.done) == (0.0, True)


def test_generated_tasks_can_be_solved_in_the_sandbox() -> None:
    """For several at a time, an agent that prints the answer and gives it in another form earns its 1."""
    chosen = [task for task in tasks("val", val=30) if "frac" in task.data["answer"]][:2] + list(tasks("val")[:2])

    def play(task: Task) -> float:
        agent = MathAgent()
        try:
            agent.reset(task, 0)
            agent.step(command("python3 -c 'print(1)'"))
            text = task.data["answer"].replace("\\frac", "").replace("}{", "/").strip("{}")
            return agent.step(f"Final answer: {text}").reward
        finally:
            agent.close()

    with ThreadPoolExecutor(2) as pool:
        assert list(pool.map(play, chosen)) == [1.0] * 4

"""A problem's baselines against its limit, and an environment's episode."""

from dataclasses import replace

import pytest

from coevo.candidate import Evaluation
from coevo.content import read_problem
from coevo.environments.spec import Need
from coevo.errors import EnvironmentFault
from coevo.experiments.doctor.judging import problem, real_problem
from coevo.experiments.doctor.playing import environment, needs
from coevo.interfaces import Message, Step, Task

TASK = Task("train-1", {})


@pytest.fixture
def tiny(tiny_problem):
    """The problem folder of jobs; its limit is 5 s."""
    return read_problem(tiny_problem)


def taking(cpu_s):
    """A judge that finds every heuristic valid, after so many CPU seconds."""
    return lambda code: Evaluation("ok", objective=1.0, cpu_s=cpu_s)


def test_a_limit_with_room_passes_and_one_is_suggested(says, tiny):
    """The factor by which the limit is above the slowest baseline is shown."""
    says(problem(tiny, taking(0.25)), "pass", "shortest_first 0.25 s", "5 s is 20 ×", "10 s would suit it here")


def test_a_tight_limit_warns(says, tiny):
    """With what to write where."""
    says(problem(tiny, taking(2.0)), "warn", "2.5 ×", advice="cpu_s = 50 under limits")
    assert str(tiny.path) in problem(tiny, taking(2.0)).advice


def test_a_baseline_that_fails_fails(says, tiny):
    """With its name, its verdict and the command that says more."""
    finding = problem(tiny, lambda code: Evaluation("timeout", "CPU limit of 5 s reached"))
    says(finding, "fail", "shortest_first of tiny ends in timeout: CPU limit", advice="coevo problem check")


@pytest.mark.slow
def test_the_real_judge_times_the_baselines(says, tiny):
    """On a problem of a user's, in the real sandbox."""
    says(real_problem(tiny), "pass", "tiny: CPU time on search: shortest_first")
    broken = replace(tiny, spec=tiny.spec.model_copy(update={"heuristic": _renamed(tiny)}))
    says(real_problem(broken), "fail", "ends in invalid", advice="coevo problem check")


def _renamed(folder):
    return folder.spec.heuristic.model_copy(update={"function": "another"})


class Episode:
    """An environment that opens, or fails where it is told to; notes whether it was closed."""

    def __init__(self, fails_in=""):
        self.fails_in, self.is_closed = fails_in, False

    def reset(self, task, seed):
        """Begin."""
        self._fail("reset")
        return (Message("user", f"play {task.name}"),)

    def step(self, text):
        """Take an action."""
        self._fail("step")
        return Step(done=True)

    def close(self):
        """Release."""
        self.is_closed = True

    def _fail(self, place):
        if place == self.fails_in:
            raise EnvironmentFault(f"the browser is gone in {place}")


def test_an_episode_that_opens_passes(says):
    """It is told something, takes an action, and is closed."""
    episode = Episode()
    says(environment("mine", lambda: episode, TASK), "pass", "mine: an episode of train-1 opens, tells 12 characters")
    assert episode.is_closed


@pytest.mark.parametrize("place", ["reset", "step"])
def test_an_episode_that_faults_fails(says, place):
    """And is closed all the same."""
    episode = Episode(place)
    says(environment("mine", lambda: episode, TASK), "fail", f"gone in {place}", advice="coevo env check mine")
    assert episode.is_closed


def test_what_an_environment_lacks_is_named_with_what_brings_it(says):
    """Each program and package, each command once; nothing is said where nothing is missing."""
    assert needs("mine", ()) is None
    lacks = (
        Need(program="tesseract", install="apt-get install tesseract-ocr"),
        Need(package="PIL", install="pip install 'coevo[agents]'"),
        Need(package="pyarrow", install="pip install 'coevo[agents]'"),
    )
    finding = needs("docvqa", lacks)
    says(finding, "fail", "the program tesseract, the package PIL", advice="apt-get install tesseract-ocr; pip")
    assert finding.advice.count("coevo[agents]") == 1

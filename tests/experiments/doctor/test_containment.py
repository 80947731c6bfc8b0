"""The check on the sandbox: it passes on the real one, and on none that lets something through."""

import os

import pytest

from coevo.candidate import Evaluation
from coevo.content import read_problem
from coevo.errors import SandboxError
from coevo.experiments.doctor import containment
from coevo.experiments.doctor.containment import PROBE, Bait, attacks, for_tools_alone, real_sandbox, sandbox
from coevo.experiments.doctor.finding import failed, passed


@pytest.fixture
def tried(tmp_path):
    """The attacks, on a bait that nobody laid."""
    return attacks(Bait(tmp_path / "bait", 1, "NOT_THERE"))


def stopping(tried, **exceptions):
    """A stand-in for the judge that stops every attack as the sandbox does, but for the exceptions."""
    verdicts = {
        attack.source: exceptions.get(
            attack.against.replace(" ", "_"), Evaluation(attack.ends[0], "".join(attack.words[:1]))
        )
        for attack in tried
    }
    return lambda source: verdicts.get(source, Evaluation("ok", objective=1.0))


def test_a_sandbox_that_stops_every_attack_passes(says, tried):
    """Each of them is named."""
    says(sandbox(stopping(tried), tried), "pass", "network", "files of the host", "new processes", "memory", "time")


@pytest.mark.parametrize("against", ["network", "writing_to_/tmp", "new_processes", "memory", "time"])
def test_one_attack_that_succeeds_is_enough_to_fail(says, tried, against):
    """It is named, and no other."""
    finding = sandbox(stopping(tried, **{against: Evaluation("ok", objective=1.0)}), tried)
    says(finding, "fail", f"does not hold against: {against.replace('_', ' ')}", advice="run no model's code")
    assert finding.found.count(",") == 0


def test_an_attack_that_fails_by_itself_proves_nothing(says, tried):
    """A verdict that the sandbox would not have given is no pass."""
    finding = sandbox(stopping(tried, network=Evaluation("crash", "NameError in line 4")), tried)
    says(finding, "fail", "network (stopped in an unforeseen way: crash: NameError", advice="run no model's code")


def test_an_honest_heuristic_has_to_be_judged(says, tried):
    """Before the attacks and after them."""
    says(sandbox(lambda _: Evaluation("crash", "dead"), tried), "fail", "honest heuristic is not judged", advice="run")
    stops = stopping(tried)
    tired = sandbox(lambda source: Evaluation("crash") if "after" in source else stops(source), tried)
    says(tired, "fail", "does not recover", advice="run no model's code")


@pytest.mark.slow
def test_the_real_sandbox_passes_and_none_does_not(says, tmp_path):
    """All attacks are run; without bubblewrap a file of the host is read, and the check says so. No bait stays."""
    before = dict(os.environ)
    says(real_sandbox(tmp_path), "pass", "holds: 10 attacks stopped")
    says(real_sandbox(tmp_path, unsafe=True), "fail", "files of the host", advice="run no model's code")
    assert list(tmp_path.iterdir()) == []
    assert dict(os.environ) == before


def test_a_machine_without_a_sandbox_fails(says, tmp_path, monkeypatch):
    """With what bubblewrap said and what to do; where no candidates are run, it is a warning about tools."""

    def refuse(*_: object, **__: object) -> None:
        raise SandboxError("expected bubblewrap to run here, but it says no; install bubblewrap")

    monkeypatch.setattr(containment, "EvaluationPool", refuse)
    finding = real_sandbox(tmp_path)
    says(finding, "fail", "expected bubblewrap to run here, but it says no", advice="install bubblewrap")
    says(for_tools_alone(finding), "warn", "it says no", advice="agents have tools")
    assert for_tools_alone(passed("sandbox", "holds")).state == "pass"
    assert for_tools_alone(failed("sandbox", "no", "do")).name == "sandbox"


def test_the_probe_is_a_problem_folder_and_its_attacks_parse():
    """Whatever the bait is called."""
    folder = read_problem(PROBE)
    assert set(folder.baselines()) == {"first"}
    for attack in attacks(Bait(PROBE / 'it\'s "there"', 1, "NAME")):
        compile(attack.source, attack.against, "exec")

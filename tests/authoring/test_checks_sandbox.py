from types import SimpleNamespace

import pytest

from coevo.authoring.bench import Bench, StuckError
from coevo.authoring.checks_sandbox import baselines, embedded_model, time_limit
from coevo.candidate import Evaluation


def bench_of(folder, **verdicts):
    """A bench whose judges have spoken already: CPU seconds and objectives by baseline."""
    given = {
        name: tuple(Evaluation("ok", objective=sum(o), objectives=o, cpu_s=cpu_s) for cpu_s, o in pair)
        for name, pair in verdicts.items()
    }
    return SimpleNamespace(folder=folder, baselines=given)


def test_the_scaffolds_baseline_is_valid(scaffold):
    """In the real sandbox, with the same objectives from two judges, and with a limit that suits it."""
    with Bench(scaffold, 60.0) as bench:
        assert baselines(bench).status == "ok"
        assert time_limit(bench).status == "ok"


@pytest.mark.slow
@pytest.mark.parametrize(
    ("baseline", "words"),
    [
        ("def choose_job(a, b, c):\n    return 99\n", "another in the sandbox: infeasible: expected a position"),
        ("import os\ndef choose_job(a, b, c):\n    return os.listdir('/home')\n", "another in the sandbox: crash"),
        ("def other(a, b, c):\n    return 0\n", "another in the sandbox: invalid"),
    ],
)
def test_a_baseline_that_fails_in_the_sandbox_is_named(variant, baseline, words):
    """With how it fails there."""
    with Bench(variant(baseline=baseline), 60.0) as bench:
        finding = baselines(bench)
    assert finding.status == "failed"
    assert words in finding.text


def test_objectives_that_differ_between_judges_fail(scaffold):
    """The same program on the same instances has one objective."""
    finding = baselines(bench_of(scaffold, first=[(0.1, (1.0, 2.0)), (0.1, (1.0, 2.5))]))
    assert finding.status == "failed"
    assert "other objectives the second time" in finding.text


@pytest.mark.parametrize(
    ("cpu_s", "status"), [(0.0001, "ok"), (0.5, "ok"), (0.99, "ok"), (1.01, "failed"), (10.0, "failed")]
)
def test_a_limit_below_twice_the_slowest_baseline_fails(scaffold, cpu_s, status):
    """The scaffold's limit is two seconds; no limit is called too large below that."""
    finding = time_limit(bench_of(scaffold, quick=[(0.0, (1.0,))] * 2, slow=[(cpu_s, (1.0,)), (cpu_s + 5, (1.0,))]))
    assert finding.status == status
    assert "the slowest baseline, slow," in finding.text


def test_a_limit_a_thousand_times_the_slowest_baseline_is_noted(variant):
    """A candidate that hangs would hold up the search for so long."""
    folder = variant(("problem.toml", "cpu_s = 2.0", "cpu_s = 500.0"))
    assert time_limit(bench_of(folder, slow=[(0.4, (1.0,))] * 2)).status == "note"
    assert time_limit(bench_of(folder, slow=[(0.6, (1.0,))] * 2)).status == "ok"


@pytest.mark.slow
def test_an_objective_that_never_returns_is_noticed(variant):
    """The wait for a verdict has an end."""
    code = "_first = objective\n\n\ndef objective(instance, solution):\n    while instance.name == 'search-3': pass\n"
    folder = variant(
        ("problem.toml", "cpu_s = 2.0", "cpu_s = 0.2"), code=f"{code}    return _first(instance, solution)"
    )
    with Bench(folder, 1.0) as bench, pytest.raises(StuckError, match="does objective return"):
        baselines(bench)


@pytest.mark.slow
def test_the_embedded_model_writes_for_the_scaffold(scaffold):
    """Most of its programs are valid, for every operator."""
    with Bench(scaffold, 60.0) as bench:
        finding = embedded_model(bench)
    assert finding.status == "ok"
    shares = [float(part.split()[1]) for part in finding.text.split(": ")[1].split(";")[0].split(", ")]
    assert len(shares) == 5
    assert min(shares) >= 70


@pytest.mark.slow
def test_a_signature_the_embedded_model_does_not_know_is_noted(variant):
    """It breaks nothing, because the user may have another model, but it is said what it was not taught."""
    kinds = {"number": "points", "weights": "tuple", "values": "bins", "index": "square"}
    folder = variant(*(("problem.toml", f'kind = "{old}"', f'kind = "{new}"') for old, new in kinds.items()))
    with Bench(folder, 60.0) as bench:
        finding = embedded_model(bench)
    assert finding.status == "note"
    assert "not taught functions from (points, tuple, bins) to square" in finding.text

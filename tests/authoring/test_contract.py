import pytest

from coevo.authoring.contract import CHECKS, check_problem


@pytest.fixture
def statuses():
    """Runs every check but the model's and gives their statuses by name."""

    def run(folder, **options):
        return {r.check: r.status for r in check_problem(folder, with_model=False, deadline_s=30.0, **options)}

    return run


def test_the_scaffold_keeps_the_contract(scaffold, statuses):
    """Straight after `coevo problem new`, nothing fails, and nothing is worth a note."""
    found = statuses(scaffold)
    assert set(found.values()) == {"ok", "skipped"}
    assert [check.name for check in CHECKS if check.name not in found] == ["embedded model"]


def test_names_are_unique_and_needs_come_first():
    """A check that another one needs has been run before."""
    names = [check.name for check in CHECKS]
    assert len(set(names)) == len(names)
    for place, check in enumerate(CHECKS):
        assert set(check.needs) <= set(names[:place])
        assert check.description[0].islower() or check.description.startswith("CPU")


@pytest.mark.parametrize(
    ("code", "first"),
    [
        ("1 / 0", "module"),
        ("import torch_that_is_not_there", "module"),
        ("def instances(split): return None", "instances"),
        ("def solve(heuristic, instance): return heuristic", "solving"),
        ("def objective(instance, solution): return []", "solving"),
    ],
)
def test_a_broken_problem_fails_once_and_the_rest_is_skipped(variant, statuses, code, first):
    """The first check that fails says why; what needs it says nothing."""
    found = statuses(variant(code=code))
    assert [name for name, status in found.items() if status == "failed"] == [first]
    assert found["baselines"] == found["time limit"] == "skipped"


@pytest.mark.slow
def test_a_problem_that_the_sandbox_cannot_import_fails(variant):
    """Code that imports what is not mounted works outside alone; the finding says so."""
    results = list(check_problem(variant(code="import rich"), with_model=False, deadline_s=30.0))
    failures = [(r.check, r.text) for r in results if r.status == "failed"]
    assert [check for check, _ in failures] == ["baselines"]
    assert "rich" in failures[0][1]


def test_results_come_one_by_one(scaffold):
    """The first is there before the rest is run."""
    results = check_problem(scaffold, with_model=False)
    assert next(results).check == "metadata"
    results.close()

"""The contract of a problem folder, held by every bundled problem: the checks of `coevo problem check`, one by one."""

import pytest

from coevo.authoring.contract import CHECKS, WITH_A_MODEL, check_problem
from coevo.content import find_problem, problem_paths

QUICK = "tsp"
"""The problem whose contract is checked in a run without slow tests, too."""
PROBLEMS = [
    pytest.param(path.name, marks=() if path.name == QUICK else pytest.mark.slow, id=path.name)
    for path in problem_paths()
]
NAMES = [
    pytest.param(check.name, marks=pytest.mark.slow if check.name == WITH_A_MODEL else (), id=check.name)
    for check in CHECKS
]


class Checked:
    """The results of one problem, each made when it is first asked for: what is not asked for is not run."""

    def __init__(self, name):
        self._coming = check_problem(find_problem(name))
        self._seen = {}

    def __getitem__(self, check):
        while check not in self._seen:
            result = next(self._coming)
            self._seen[result.check] = result
        return self._seen[check]

    def close(self):
        """End the processes of the checks."""
        self._coming.close()


@pytest.fixture(scope="module", params=PROBLEMS)
def checked(request):
    """Each bundled problem in turn."""
    results = Checked(request.param)
    yield results
    results.close()


def test_there_are_problems():
    """The parametrised test below runs on something."""
    assert {QUICK} < {path.name for path in problem_paths()}


@pytest.mark.parametrize("name", NAMES)
def test_the_contract_is_kept(checked, name):
    """Every check holds, or has nothing to look at; a bundled problem has nothing that would need a note."""
    result = checked[name]
    assert result.status in ("ok", "skipped"), f"{result.description}: {result.text}"
    assert not result.text.startswith("it needs the check"), result.text

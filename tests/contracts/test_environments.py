"""The contract of an environment folder, held by every bundled one and by the one that `coevo env new` writes."""

import pytest

from coevo.authoring.env_contract import CHECKS, check_environment
from coevo.authoring.env_scaffold import new_environment
from coevo.environments.loading import environment_names, find_environment, read_options

SCAFFOLD = "scaffold"
QUICK = (SCAFFOLD, "sudoku")
"""What is checked in a run without slow tests, too; the others start shells and browsers."""
ENVIRONMENTS = [
    pytest.param(name, marks=() if name in QUICK else pytest.mark.slow, id=name)
    for name in (SCAFFOLD, *environment_names())
]


class Checked:
    """The results of one environment, each made when it is first asked for: what is not asked for is not run."""

    def __init__(self, folder):
        self._coming = check_environment(folder, read_options(folder.spec, {}))
        self._seen = {}

    def __getitem__(self, check):
        while check not in self._seen:
            result = next(self._coming)
            self._seen[result.check] = result
        return self._seen[check]

    def close(self):
        """End the processes of the checks."""
        self._coming.close()


@pytest.fixture(scope="module", params=ENVIRONMENTS)
def checked(request, tmp_path_factory):
    """Each environment in turn; one whose needs are missing here is skipped."""
    if request.param == SCAFFOLD:
        folder = find_environment(str(new_environment("my-game", tmp_path_factory.mktemp("environments"))))
    else:
        folder = find_environment(request.param)
    if missing := folder.missing():
        pytest.skip(f"{folder.spec.name} needs {', '.join(need.program or need.package for need in missing)}")
    results = Checked(folder)
    yield results
    results.close()


def test_there_are_environments():
    """The parametrised test below runs on something."""
    assert {"sudoku", "math", "docvqa", "web"} <= set(environment_names())


@pytest.mark.parametrize("name", [check.name for check in CHECKS])
def test_the_contract_is_kept(checked, name):
    """Every check holds; the one thing that may need a note is that `limits.turns` alone ends an episode."""
    result = checked[name]
    allowed = ("ok", "note") if name == "episodes" else ("ok",)
    assert result.status in allowed, f"{result.description}: {result.text}"
